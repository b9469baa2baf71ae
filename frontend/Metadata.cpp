//===- Metadata.cpp - What an exporter noted beside the model -------------===//

#include "frontend/Metadata.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"

#include <google/protobuf/unknown_field_set.h>

using namespace lwcc;
using namespace llvm;

/// The metadata_props of a message. The protobuf definitions that lwcc is built
/// with are older than this field, so that it is among the unknown fields.
static StringMap<std::string> read(const google::protobuf::Message &message,
                                   int field) {
  StringMap<std::string> result;
  const auto &unknown = message.GetReflection()->GetUnknownFields(message);
  for (int i = 0; i < unknown.field_count(); ++i) {
    const auto &entry = unknown.field(i);
    onnx::StringStringEntryProto pair;
    if (entry.number() == field &&
        entry.type() == google::protobuf::UnknownField::TYPE_LENGTH_DELIMITED &&
        pair.ParseFromString(entry.length_delimited()))
      result[pair.key()] = pair.value();
  }
  return result;
}

StringMap<std::string> lwcc::metadataOf(const onnx::NodeProto &node) {
  return read(node, 9);
}
StringMap<std::string> lwcc::metadataOf(const onnx::ValueInfoProto &value) {
  return read(value, 4);
}
StringMap<std::string> lwcc::metadataOf(const onnx::GraphProto &graph) {
  return read(graph, 16);
}

double lwcc::exportedSmoothing(const onnx::NodeProto &node) {
  // "... [target=torch.ops.aten.cross_entropy_loss.default](args = (%scores,
  // %labels, weight, reduction, ignore_index, smoothing), kwargs = {})", where
  // arguments that have their defaults are missing at the end.
  std::string text = metadataOf(node)["pkg.torch.onnx.fx_node"];
  auto [target, arguments] = StringRef(text).split("](args = (");
  if (!target.contains("aten.cross_entropy_loss"))
    return 0;
  SmallVector<StringRef> each;
  arguments.split(')').first.split(each, ',');
  double smoothing = 0;
  if (each.size() != 6 || each[5].trim().getAsDouble(smoothing) ||
      !(smoothing > 0 && smoothing < 1))
    return 0;
  return smoothing;
}

bool lwcc::isExportedDetach(const onnx::NodeProto &node) {
  return StringRef(metadataOf(node)["pkg.torch.onnx.fx_node"])
      .contains("[target=torch.ops.aten.detach");
}

ExportedCode lwcc::exportedCode(const onnx::NodeProto &node) {
  std::string trace = metadataOf(node)["pkg.torch.onnx.stack_trace"];
  return trace.empty() ? ExportedCode::unknown
         : StringRef(trace).starts_with("File \"<eval_with_key>")
             ? ExportedCode::made
             : ExportedCode::ofFile;
}
