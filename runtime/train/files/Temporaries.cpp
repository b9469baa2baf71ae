//===- Temporaries.cpp - Files that must not be left behind ---------------===//

#include "runtime/train/files/Temporaries.h"

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include <unistd.h>

namespace lwcc::rt::train {

/// A signal handler can reach nothing but a static. Each name is a copy of its
/// own that belongs to whoever takes it out: a Temporary or the handler, which
/// may run on another thread.
static std::atomic<char *> names[32];
static_assert(std::atomic<char *>::is_always_lock_free);

static void removePath(const char *path) {
  // EISDIR by Linux, EPERM by POSIX: a folder, whose files went before it.
  if (::unlink(path) != 0 && (errno == EISDIR || errno == EPERM))
    ::rmdir(path);
}

Temporary::Temporary(std::string path) : name(std::move(path)), slot(-1) {
  char *copy = ::strdup(name.c_str());
  // The first free slot behind all that are taken, for the order of removal.
  int last = -1;
  for (int i = 0; i < int(std::size(names)); ++i)
    if (names[i])
      last = i;
  if (copy && last + 1 < int(std::size(names)))
    names[slot = last + 1] = copy;
  else
    std::free(copy);
}

void Temporary::keep() {
  if (slot >= 0)
    std::free(names[slot].exchange(nullptr));
  slot = -1;
  name.clear();
}

Temporary::~Temporary() {
  if (name.empty())
    return;
  int reason = errno; // of the failure that is under way
  removePath(name.c_str());
  errno = reason;
  keep();
}

void removeTemporaries() {
  for (int i = int(std::size(names)) - 1; i >= 0; --i)
    if (char *name = names[i].exchange(nullptr))
      removePath(name);
}

} // namespace lwcc::rt::train
