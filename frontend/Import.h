//===- Import.h - An ONNX file becomes a train module -----------*- C++ -*-===//
//
// The only header of frontend/ that others include. It reads an ONNX model and
// gives three things: a module of the form `imported` (ir/train/README.md), the
// bytes of its weights (the blob), and the pieces from which a trainer writes
// the trained model as ONNX again (OnnxExport.h).
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_FRONTEND_IMPORT_H
#define LWCC_FRONTEND_IMPORT_H

#include "runtime/core/ExportPiece.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

#include <string>
#include <vector>

namespace lwcc {

/// The batch of a file that leaves it open, unless --batch says another.
inline constexpr int64_t defaultBatch = 64;

/// An output that is trained beside the main one.
struct AuxiliaryOutput {
  std::string name;
  double weight = 1; ///< of its loss in the sum that is trained
  std::string loss;  ///< with labels of its own; "": the main one's, and its
};

/// The order of the dimensions of an input, where the user says it.
struct InputLayout {
  std::string name;
  bool channelsLast = false; ///< [n, h, w, c], else [n, c, h, w]
};

struct ImportOptions {
  int64_t batch = 0;         ///< 0: the file's, or defaultBatch
  std::string loss = "auto"; ///< the file's, else what its output is made
                             ///< for; or a name (ir/train/Losses.h)
  std::string output;        ///< the one of several that is trained; "": if
                             ///< there is only one
  std::vector<AuxiliaryOutput> auxiliary = {}; ///< of the others
  std::vector<InputLayout> layouts = {};       ///< of other inputs it is found
  /// Of the loss of labels that is added; empty: all classes count alike.
  std::vector<float> classWeights = {};
};

struct ImportedModel {
  mlir::OwningOpRef<mlir::ModuleOp> module;
  /// Initial values (at the offsets that #train.init<blob at N> names, aligned
  /// to 64 bytes), then the literal pieces of the exported file.
  std::vector<char> blob;
  std::vector<ExportPiece> onnxExport;
};

/// Imports a file. All mistakes found are reported as diagnostics on `context`
/// (one per offending node, with the fix), then failure is returned.
mlir::FailureOr<ImportedModel> importOnnx(llvm::StringRef path,
                                          const ImportOptions &options,
                                          mlir::MLIRContext *context);

} // namespace lwcc

#endif // LWCC_FRONTEND_IMPORT_H
