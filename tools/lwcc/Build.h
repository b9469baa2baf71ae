//===- Build.h - From C++ text to a trainer ---------------------*- C++ -*-===//
//
// What happens to the emitted text: a folder of sources, or a binary made with
// the target's compiler. Output appears whole or not at all.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_TOOLS_LWCC_BUILD_H
#define LWCC_TOOLS_LWCC_BUILD_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <string>
#include <vector>

namespace lwcc {

enum class Target { cuda, cpu };

/// What a trainer is compiled for if nothing is said.
std::vector<std::string> defaultArchitectures(Target target);

struct TrainerSource {
  Target target = Target::cuda;
  std::string name; ///< file name without extension
  std::string text; ///< the translation unit
  llvm::ArrayRef<char> weights;
  /// Weights of more bytes lie in a file beside the trainer, NAME.weights.
  size_t embedLimit = size_t(1) << 30;
  std::vector<std::string> architectures; ///< sm_90, ...; CPU: one -march value

  bool embeds() const { return weights.size() <= embedLimit; }
};

/// Writes a folder that `cmake` builds without lwcc.
llvm::Error writeSourceFolder(const TrainerSource &source,
                              llvm::StringRef folder);

/// Compiles and links. The error of a compiler holds its messages.
llvm::Error buildBinary(const TrainerSource &source, llvm::StringRef output);

/// The compiler that the target needs, or an error with both ways out.
llvm::Expected<std::string> findCompiler(Target target);

/// Whether `output` can be written; asked before work is done for it.
llvm::Error checkOutput(llvm::StringRef output, bool folder);

/// Runs a program, whose output goes to the file `log`; if it fails, its output
/// becomes the error.
llvm::Error execute(llvm::ArrayRef<std::string> command, llvm::StringRef log);

/// Helpers shared by the two ways of output.
llvm::Error failed(const llvm::Twine &message);
llvm::Error writeFile(llvm::StringRef path, llvm::ArrayRef<char> bytes);
/// Assembler text of the weights: their size, and `file` with their bytes
/// between lwcc_blob and lwcc_blob_end, or nothing if they lie beside.
std::string blobAssembly(const TrainerSource &source, llvm::StringRef file);

} // namespace lwcc

#endif // LWCC_TOOLS_LWCC_BUILD_H
