//===- Interrupt.cpp - What goes when lwcc is interrupted -----------------===//
//
// The handler may run between any two instructions: it only calls what POSIX
// allows there, and leaves folders to rm.
//
//===----------------------------------------------------------------------===//

#include "tools/driver/Interrupt.h"
#include "runtime/train/files/Temporaries.h"
#include "tools/driver/Output.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>

#include <sys/wait.h>
#include <unistd.h>

using namespace lwcc;
namespace fs = llvm::sys::fs;

static constexpr int signals[] = {SIGHUP, SIGINT, SIGQUIT, SIGPIPE, SIGTERM};
static constexpr int slots = 8; ///< more are not open at a time
static std::atomic<char *> folders[slots];
static std::atomic<pid_t> runningChild;

static void removeFolder(const char *path) {
  pid_t child = fork();
  if (child == 0) {
    execl("/bin/rm", "rm", "-rf", "--", path, static_cast<char *>(nullptr));
    _exit(1);
  }
  if (child > 0)
    waitpid(child, nullptr, 0);
}

static void onSignal(int signal) {
  // It may still write into what is removed.
  if (pid_t child = runningChild.exchange(0); child > 0) {
    kill(-child, SIGTERM);
    waitpid(child, nullptr, 0);
    kill(-child, SIGKILL);
  }
  rt::train::removeTemporaries();
  for (std::atomic<char *> &slot : folders)
    if (const char *path = slot.exchange(nullptr))
      removeFolder(path);
  // The system's answer to the signal: its sender sees what ended lwcc.
  struct sigaction action = {};
  action.sa_handler = SIG_DFL;
  sigaction(signal, &action, nullptr);
  sigset_t unblocked;
  sigemptyset(&unblocked);
  sigaddset(&unblocked, signal);
  raise(signal);
  sigprocmask(SIG_UNBLOCK, &unblocked, nullptr);
}

void lwcc::removeTemporariesOnSignal() {
  static bool installed = [] {
    struct sigaction action = {}, before;
    action.sa_handler = onSignal;
    for (int signal : signals)
      sigaddset(&action.sa_mask, signal);
    for (int signal : signals) // nohup and the like stay
      if (sigaction(signal, nullptr, &before) == 0 &&
          before.sa_handler != SIG_IGN)
        sigaction(signal, &action, nullptr);
    return true;
  }();
  (void)installed;
}

void lwcc::setRunningChild(pid_t child) { runningChild = child; }

llvm::Expected<std::unique_ptr<TemporaryFolder>>
TemporaryFolder::make(llvm::StringRef parent) {
  llvm::SmallString<128> path(parent);
  if (parent.empty())
    llvm::sys::path::system_temp_directory(/*ErasedOnReboot=*/true, path);
  llvm::sys::path::append(path, ".lwcc-XXXXXX");
  if (!mkdtemp(const_cast<char *>(path.c_str())))
    return makeError("cannot make a temporary folder " + path + ": " +
                     std::strerror(errno));
  return std::unique_ptr<TemporaryFolder>(new TemporaryFolder(path));
}

TemporaryFolder::TemporaryFolder(llvm::StringRef path) : path(path) {
  removeTemporariesOnSignal();
  char *copy = strdup(path.str().c_str());
  for (slot = 0; slot < slots; ++slot) {
    char *none = nullptr;
    if (folders[slot].compare_exchange_strong(none, copy))
      return;
  }
  llvm_unreachable("as many slots as there are folders at a time");
}

TemporaryFolder::~TemporaryFolder() {
  fs::remove_directories(path);
  std::free(folders[slot].exchange(nullptr));
}
