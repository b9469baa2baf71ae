//===- Output.cpp - What lwcc writes --------------------------------------===//

#include "tools/driver/Output.h"
#include "tools/driver/Interrupt.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/raw_ostream.h"

#include <cerrno>
#include <climits>
#include <csignal>
#include <cstdio>
#include <cstdlib>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace lwcc;
using llvm::Error;
using llvm::SmallString;
using llvm::StringRef;
namespace fs = llvm::sys::fs;
namespace path = llvm::sys::path;

Error lwcc::failed(const llvm::Twine &message) {
  return llvm::createStringError(llvm::inconvertibleErrorCode(), message);
}

int lwcc::complain(const llvm::Twine &message) {
  llvm::errs() << "lwcc: error: " << message << "\n";
  return 1;
}

int lwcc::complain(Error error) {
  return complain(llvm::toString(std::move(error)));
}

//===----------------------------------------------------------------------===//
// Standard output
//===----------------------------------------------------------------------===//

/// Before LLVM's streams end, which would abort where an error is left.
static void closeStandardOutput() {
  llvm::raw_fd_ostream &out = llvm::outs();
  out.flush();
  std::error_code code = out.error();
  out.clear_error();
  if (code)
    complain("cannot write to the standard output: " + code.message());
  llvm::errs().clear_error();
  if (!code)
    return;
  std::fflush(nullptr);
  _exit(1);
}

void lwcc::prepareOutput() {
  // A file that is opened must not take the place of a stream that is closed.
  (void)llvm::sys::Process::FixupStandardFileDescriptors();
  // Writing beyond a limit of the file size fails instead.
  std::signal(SIGXFSZ, SIG_IGN);
  // What is registered later is called earlier: the streams' ends, before.
  (void)llvm::outs();
  (void)llvm::errs();
  std::atexit(closeStandardOutput);
}

//===----------------------------------------------------------------------===//
// Files
//===----------------------------------------------------------------------===//

std::string lwcc::endOfLinks(StringRef path) {
  constexpr int most = 40; // as many as the system follows
  SmallString<128> current(path);
  for (int i = 0; i < most; ++i) {
    char target[PATH_MAX];
    ssize_t size = readlink(current.c_str(), target, sizeof target);
    if (size < 0)
      break;
    SmallString<128> next(path::parent_path(current));
    if (path::is_absolute(StringRef(target, size)))
      next.clear();
    path::append(next, StringRef(target, size));
    current = next;
  }
  return current.str().str();
}

bool lwcc::isSpecial(StringRef path) {
  struct stat found;
  return stat(path.str().c_str(), &found) == 0 && !S_ISREG(found.st_mode) &&
         !S_ISDIR(found.st_mode);
}

/// /dev/stdout and its like name an open file, whatever that is called.
static bool isDescriptor(StringRef path) {
  return path.starts_with("/dev/fd/") || path.starts_with("/dev/std") ||
         path.starts_with("/proc/");
}

/// All bytes, or the reason why not.
static std::error_code writeTo(int descriptor, llvm::ArrayRef<char> bytes) {
  llvm::raw_fd_ostream out(descriptor, /*shouldClose=*/true,
                           /*unbuffered=*/true);
  out.write(bytes.data(), bytes.size());
  out.close();
  std::error_code code = out.error();
  out.clear_error();
  return code;
}

static std::error_code lastError() {
  return std::error_code(errno, std::generic_category());
}

/// Into what is there.
static std::error_code writeThrough(const std::string &file,
                                    llvm::ArrayRef<char> bytes) {
  int descriptor = open(file.c_str(), O_WRONLY | O_TRUNC | O_CLOEXEC);
  return descriptor < 0 ? lastError() : writeTo(descriptor, bytes);
}

Error lwcc::writeFile(StringRef output, llvm::ArrayRef<char> bytes,
                      FileKind kind) {
  auto cannot = [&](std::error_code code) {
    return failed("cannot write " + output + ": " + code.message());
  };
  if (isSpecial(output) || isDescriptor(output)) {
    std::error_code code = writeThrough(output.str(), bytes);
    return code ? cannot(code) : Error::success();
  }
  // Beside it first, so that the last step is a rename.
  const std::string file = endOfLinks(output);
  SmallString<128> staged(path::parent_path(file));
  path::append(staged, ".lwcc-XXXXXX");
  int descriptor = mkostemp(const_cast<char *>(staged.c_str()), O_CLOEXEC);
  struct stat before;
  const bool exists = stat(file.c_str(), &before) == 0;
  if (descriptor < 0) {
    // A file may be writable where its folder is not.
    std::error_code code = lastError();
    if (exists && S_ISREG(before.st_mode))
      code = writeThrough(file, bytes);
    return code ? cannot(code) : Error::success();
  }
  RemovedOnSignal guard(staged);
  mode_t mask = umask(0);
  umask(mask);
  mode_t mode = (kind == FileKind::program ? 0777 : 0666) & ~mask;
  if (exists) {
    mode = before.st_mode & 0777;
    if (kind == FileKind::program) // for whom may read it
      mode |= (mode & 0444) >> 2;
    if (before.st_uid != geteuid() || before.st_gid != getegid())
      (void)!fchown(descriptor, before.st_uid, before.st_gid);
  }
  fchmod(descriptor, mode);
  std::error_code code = writeTo(descriptor, bytes);
  if (!code && std::rename(staged.c_str(), file.c_str()) != 0)
    code = lastError();
  if (!code)
    return Error::success();
  unlink(staged.c_str());
  return cannot(code);
}

Error lwcc::checkOutput(StringRef output) {
  auto cannot = [&](const llvm::Twine &why) {
    return failed("cannot write " + output + ": " + why);
  };
  if (isDescriptor(output))
    return Error::success();
  const std::string file = endOfLinks(output);
  if (fs::is_directory(file))
    return cannot("it is a folder");
  if (fs::exists(file))
    if (std::error_code code = fs::access(file, fs::AccessMode::Write))
      return cannot(code.message());
  StringRef parent = path::parent_path(file);
  if (parent.empty())
    parent = ".";
  if (!fs::is_directory(parent))
    return cannot(parent + " is not a folder");
  if (!fs::exists(file) && fs::access(parent, fs::AccessMode::Write))
    return cannot("no permission to write in " + parent);
  return Error::success();
}

bool lwcc::isSameFile(StringRef one, StringRef other) {
  bool same = false;
  return !fs::equivalent(one, other, same) && same;
}
