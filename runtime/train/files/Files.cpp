//===- Files.cpp - Files that are read as a whole -------------------------===//

#include "runtime/train/files/Files.h"

#include "runtime/train/files/Temporaries.h"

#include <atomic>
#include <csignal>
#include <cstring>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace lwcc::rt::train {

namespace {
/// What the handler of SIGBUS has to know of a mapping.
struct Mapping {
  std::atomic<const char *> begin = nullptr;
  const char *end = nullptr;
  const char *path = nullptr;
};
} // namespace

/// More files than are ever open; one beyond has no message.
static Mapping mappings[64];
/// Its address, which no mapping has, claims an entry that is being filled in.
static const char claimed = 0;
static struct sigaction oldBusAction;

static void writeError(const char *text) {
  // There is nobody to tell if this fails.
  [[maybe_unused]] ssize_t written =
      ::write(STDERR_FILENO, text, std::strlen(text));
}

/// Calls only what POSIX allows in a handler.
static void onBusError(int signal, siginfo_t *info, void *) {
  const char *address = static_cast<const char *>(info->si_addr);
  for (const Mapping &mapping : mappings) {
    const char *begin = mapping.begin;
    if (!begin || begin == &claimed || address < begin ||
        address >= mapping.end)
      continue;
    writeError("\nerror: ");
    writeError(mapping.path);
    writeError(": was cut short, or cannot be read any more, while it was in "
               "use\n");
    removeTemporaries();
    ::_exit(1);
  }
  // Not ours: happens again, as if we were not here.
  ::sigaction(signal, &oldBusAction, nullptr);
}

static void addMapping(const char *begin, int64_t length, const char *path) {
  static const bool installed = [] {
    struct sigaction action = {};
    action.sa_sigaction = onBusError;
    action.sa_flags = SA_SIGINFO;
    ::sigemptyset(&action.sa_mask);
    return ::sigaction(SIGBUS, &action, &oldBusAction) == 0;
  }();
  (void)installed;
  for (Mapping &mapping : mappings) {
    const char *none = nullptr;
    if (!mapping.begin.compare_exchange_strong(none, &claimed))
      continue;
    mapping.end = begin + length;
    mapping.path = path;
    mapping.begin = begin;
    return;
  }
}

static void removeMapping(const char *begin) {
  for (Mapping &mapping : mappings)
    if (mapping.begin == begin)
      mapping.begin = nullptr;
}

MappedFile::MappedFile(const std::string &path) : path(path) {
  // A pipe would be waited for, without O_NONBLOCK.
  int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file < 0)
    throwSystemError(path, "open");
  struct stat info;
  if (::fstat(file, &info) != 0) {
    ::close(file);
    throwSystemError(path, "read");
  }
  if (!S_ISREG(info.st_mode)) {
    ::close(file);
    throw Error(path + ": not a regular file");
  }
  length = info.st_size;
  if (length > 0) { // an empty mapping is an error of mmap
    void *mapping = ::mmap(nullptr, length, PROT_READ, MAP_PRIVATE, file, 0);
    if (mapping == MAP_FAILED) {
      ::close(file);
      throwSystemError(path, "map into memory");
    }
    bytes = static_cast<const char *>(mapping);
    addMapping(bytes, length, this->path.c_str());
  }
  ::close(file);
}

MappedFile::~MappedFile() {
  if (!bytes)
    return;
  removeMapping(bytes);
  ::munmap(const_cast<char *>(bytes), length);
}

} // namespace lwcc::rt::train
