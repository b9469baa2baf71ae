//===- Build.h - From C++ text to a trainer ---------------------*- C++ -*-===//
//
// What happens to the emitted text: a folder of sources, or a binary made with
// the target's compiler, alone or in a folder with what it needs elsewhere.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_TOOLS_LWCC_BUILD_H
#define LWCC_TOOLS_LWCC_BUILD_H

#include "tools/driver/Output.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <optional>
#include <string>
#include <vector>

namespace lwcc {

enum class Target { cuda, cpu };

/// As it stands behind --target.
llvm::StringRef nameOf(Target target);

/// What --target says. Without it CUDA, but where neither nvcc nor a GPU is
/// and g++ is: the CPU, with a note that says what is done then ("compiling for
/// the CPU"). Nothing after a message.
std::optional<Target> targetOf(llvm::StringRef flag, llvm::StringRef otherwise);

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

/// Writes a folder with the program `trainer` and the libraries that it needs
/// to run on a machine without lwcc. For the CPU.
llvm::Error writeBundle(const TrainerSource &source, llvm::StringRef folder);

/// Compiles and links. The error of a compiler holds its messages.
llvm::Error buildBinary(const TrainerSource &source, llvm::StringRef output);

/// The compiler that the target needs, or an error with both ways out.
llvm::Expected<std::string> findCompiler(Target target);

/// Runs a program, whose output goes to the file `log`; if it fails, its output
/// becomes the error.
llvm::Error execute(llvm::ArrayRef<std::string> command, llvm::StringRef log);

/// Assembler text of the weights: their size, and `file` with their bytes
/// between lwcc_blob and lwcc_blob_end, or nothing if they lie beside.
std::string blobAssembly(const TrainerSource &source, llvm::StringRef file);

} // namespace lwcc

#endif // LWCC_TOOLS_LWCC_BUILD_H
