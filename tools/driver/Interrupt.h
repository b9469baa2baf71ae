//===- Interrupt.h - What goes when lwcc is interrupted ---------*- C++ -*-===//
//
// Files and folders that are no result yet, and the program that is being run:
// when a signal ends lwcc (Ctrl-C, kill, a closed terminal or pipe), they end
// with it.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_TOOLS_DRIVER_INTERRUPT_H
#define LWCC_TOOLS_DRIVER_INTERRUPT_H

#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <sys/types.h>

namespace lwcc {

/// As long as it lives, a signal removes the file or folder, too. Whoever made
/// the file removes it, or moves it to its place.
class RemovedOnSignal {
public:
  explicit RemovedOnSignal(llvm::StringRef path);
  RemovedOnSignal(const RemovedOnSignal &) = delete;
  ~RemovedOnSignal();

private:
  int slot;
};

/// A child process that a signal ends, too, with its own children: it leads a
/// process group. 0 for none.
void setRunningChild(pid_t child);

/// A folder for files of no lasting use, which goes with its owner.
class TemporaryFolder {
public:
  /// Within `parent`, or where the system has its temporary files.
  static llvm::Expected<std::unique_ptr<TemporaryFolder>>
  make(llvm::StringRef parent = "");
  ~TemporaryFolder();

  std::string file(const llvm::Twine &name) const {
    return (path + "/" + name).str();
  }
  llvm::StringRef name() const { return path; }

private:
  explicit TemporaryFolder(llvm::StringRef path) : path(path), guard(path) {}

  llvm::SmallString<128> path;
  RemovedOnSignal guard;
};

} // namespace lwcc

#endif // LWCC_TOOLS_DRIVER_INTERRUPT_H
