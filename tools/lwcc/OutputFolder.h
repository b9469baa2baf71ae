//===- OutputFolder.h - A folder that lwcc writes ---------------*- C++ -*-===//
//
// Where -o names a folder: sources (SourceFolder.cpp), or a program with what
// it needs (Bundle.cpp). It may be one that lwcc or the user has put things
// into before. What lwcc wrote is replaced and removed; what others have put
// there, or have changed since, stays, and if it is in the way, nothing is
// written.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_TOOLS_LWCC_OUTPUTFOLDER_H
#define LWCC_TOOLS_LWCC_OUTPUTFOLDER_H

#include "tools/driver/Output.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/MemoryBuffer.h"

#include <deque>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace lwcc {

/// What is to be in a folder.
class FolderContents {
public:
  struct File {
    llvm::ArrayRef<char> bytes;
    FileKind kind = FileKind::data;
  };
  std::map<std::string, File> files; ///< by path below the folder

  void addText(llvm::StringRef path, std::string text);
  /// Bytes that the caller keeps.
  void addBytes(llvm::StringRef path, llvm::ArrayRef<char> bytes) {
    files[path.str()] = {bytes, FileKind::data};
  }
  llvm::Error addFile(llvm::StringRef path, llvm::StringRef from,
                      FileKind kind);
  /// Adds the files of the folder `from` below `to`, without its subfolders
  /// called `skip`.
  llvm::Error addFolder(llvm::StringRef to, llvm::StringRef from,
                        llvm::StringRef skip = "");

private:
  std::deque<std::string> texts;
  std::vector<std::unique_ptr<llvm::MemoryBuffer>> copies;
};

/// Whether the folder can be made or added to; asked before work is done for
/// it.
llvm::Error checkFolder(llvm::StringRef folder);

llvm::Error writeFolder(llvm::StringRef folder, const FolderContents &contents);

} // namespace lwcc

#endif // LWCC_TOOLS_LWCC_OUTPUTFOLDER_H
