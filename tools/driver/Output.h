//===- Output.h - What lwcc writes ------------------------------*- C++ -*-===//
//
// Writes a file whole or not at all. The runtime's OutputFiles.h does the work;
// here its exceptions become LLVM's errors.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_TOOLS_DRIVER_OUTPUT_H
#define LWCC_TOOLS_DRIVER_OUTPUT_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/Error.h"

#include <string>

namespace lwcc {

/// An error that is a sentence.
llvm::Error makeError(const llvm::Twine &message);

/// Prints an error as lwcc does; the exit status.
int complain(const llvm::Twine &message);
int complain(llvm::Error error);

/// At the start of main. Standard output that cannot be written (a full disk)
/// becomes an error and the exit status 1, whoever ends the process; a file
/// that becomes too large an error of its writer.
void prepareOutput();

/// The file that stands at the end of links, which need not be there yet.
std::string endOfLinks(llvm::StringRef path);

/// Whether something is there that is neither a file nor a folder: a device, a
/// pipe.
bool isSpecial(llvm::StringRef path);

enum class FileKind { data, program };

llvm::Error writeFile(llvm::StringRef path, llvm::ArrayRef<char> bytes,
                      FileKind kind = FileKind::data);

/// Whether `output` can be written; asked before work is done for it.
llvm::Error checkOutput(llvm::StringRef output);

/// Whether two paths lead to the same file that is there.
bool isSameFile(llvm::StringRef one, llvm::StringRef other);

} // namespace lwcc

#endif // LWCC_TOOLS_DRIVER_OUTPUT_H
