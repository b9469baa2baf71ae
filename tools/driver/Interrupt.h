//===- Interrupt.h - What goes when lwcc is interrupted ---------*- C++ -*-===//
//
// Cleans up when a signal ends lwcc (Ctrl-C, kill, a closed terminal or pipe):
// removes unfinished files and folders, and ends the program that lwcc is
// running. The runtime's Temporaries.h removes files; this header adds a folder
// that a compiler writes into, and a child process.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_TOOLS_DRIVER_INTERRUPT_H
#define LWCC_TOOLS_DRIVER_INTERRUPT_H

#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <sys/types.h>

namespace lwcc {

/// From now on a signal removes the runtime's temporary files.
void removeTemporariesOnSignal();

/// A child process that a signal ends, too, with its own children: it leads a
/// process group. 0 for none.
void setRunningChild(pid_t child);

/// A folder for files of no lasting use, which goes with its owner.
class TemporaryFolder {
public:
  /// Within `parent`, or where the system has its temporary files.
  static llvm::Expected<std::unique_ptr<TemporaryFolder>>
  make(llvm::StringRef parent = "");
  TemporaryFolder(const TemporaryFolder &) = delete;
  ~TemporaryFolder();

  std::string file(const llvm::Twine &name) const {
    return (path + "/" + name).str();
  }
  llvm::StringRef name() const { return path; }

private:
  explicit TemporaryFolder(llvm::StringRef path);

  llvm::SmallString<128> path;
  int slot = 0; ///< where a signal finds it
};

} // namespace lwcc

#endif // LWCC_TOOLS_DRIVER_INTERRUPT_H
