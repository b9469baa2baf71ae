//===- Metadata.h - What an exporter noted beside the model -----*- C++ -*-===//
//
// Reads the metadata of PyTorch's exporter. It may be absent or of another
// exporter: nothing but remarks, the choice of what is trained (Parameters.h)
// and where gradients end (detach) goes by it.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_FRONTEND_METADATA_H
#define LWCC_FRONTEND_METADATA_H

#include "llvm/ADT/StringMap.h"

#include <onnx/onnx_pb.h>

#include <optional>
#include <string>

namespace lwcc {

llvm::StringMap<std::string> metadataOf(const onnx::NodeProto &node);
llvm::StringMap<std::string> metadataOf(const onnx::ValueInfoProto &value);
llvm::StringMap<std::string> metadataOf(const onnx::GraphProto &graph);

/// The label_smoothing of the PyTorch loss that became this node, which ONNX's
/// losses have not; 0 if none is noted.
double exportedSmoothing(const onnx::NodeProto &node);

/// The padding_idx of the PyTorch embedding that became this node, a row
/// without gradients, which ONNX's Gather has not; none if none is noted.
std::optional<int64_t> exportedPadding(const onnx::NodeProto &node);

/// The divisor_override of the PyTorch pool that became this node, which ONNX's
/// AveragePool has not; none if none is noted.
std::optional<int64_t> exportedDivisor(const onnx::NodeProto &node);

/// Whether the node stands for a detach() of PyTorch's: no gradient flows
/// through it. ONNX has nothing that says so.
bool isExportedDetach(const onnx::NodeProto &node);

/// Which code became a node: of a file, or some that PyTorch made. It makes a
/// function of each torch.no_grad() block; but of a module that was traced
/// before, all code is made.
enum class ExportedCode { unknown, ofFile, made };
ExportedCode exportedCode(const onnx::NodeProto &node);

/// Drops what is noted beside a node but for what training goes by. Stack
/// traces name the author's files.
void keepTrainingNotes(onnx::NodeProto &node);

} // namespace lwcc

#endif // LWCC_FRONTEND_METADATA_H
