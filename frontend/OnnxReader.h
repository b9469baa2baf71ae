//===- OnnxReader.h - An ONNX file in memory --------------------*- C++ -*-===//
//
// Opens a model and the files that hold its weights. A file whose name ends in
// .onnxtext is in ONNX's text format, any other is binary. Decides which files
// may be opened, and whether the stored tensors are complete. Knows nothing
// about operators.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_FRONTEND_ONNXREADER_H
#define LWCC_FRONTEND_ONNXREADER_H

#include "frontend/Reporter.h"

#include "llvm/ADT/StringMap.h"
#include "llvm/Support/MemoryBuffer.h"

#include <memory>
#include <optional>
#include <string>

#include <onnx/onnx_pb.h>

namespace lwcc {

class OnnxFile {
public:
  onnx::ModelProto model;
  std::string name;  ///< of the file, without folders
  std::string hash;  ///< of the model's bytes and its external weights
  int64_t opset = 0; ///< of the default domain

  /// The raw bytes of a tensor of this model; none if it has typed elements.
  std::optional<llvm::StringRef>
  rawBytes(const onnx::TensorProto &tensor) const;

  /// Opens `path`. Reports all that is wrong with the file; null on failure.
  static std::unique_ptr<OnnxFile> open(llvm::StringRef path,
                                        Reporter &reporter);

private:
  bool openWeights(llvm::StringRef folder, Reporter &reporter);
  /// Maps the weights of one tensor; returns what is wrong, or "".
  std::string openExternal(llvm::StringRef folder,
                           const onnx::TensorProto &tensor);

  llvm::StringMap<std::unique_ptr<llvm::MemoryBuffer>> files; // by location
};

} // namespace lwcc

#endif // LWCC_FRONTEND_ONNXREADER_H
