//===- Metadata.cpp - What an exporter noted beside the model -------------===//

#include "frontend/Metadata.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/ADT/Twine.h"

#include <google/protobuf/unknown_field_set.h>

using namespace lwcc;
using namespace llvm;

/// Which function of PyTorch became a node, and of what.
static constexpr char functionNote[] = "pkg.torch.onnx.fx_node";
/// The number of metadata_props in a node.
static constexpr int nodeNotes = 9;

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
  return read(node, nodeNotes);
}
StringMap<std::string> lwcc::metadataOf(const onnx::ValueInfoProto &value) {
  return read(value, 4);
}
StringMap<std::string> lwcc::metadataOf(const onnx::GraphProto &graph) {
  return read(graph, 16);
}

/// The arguments of the PyTorch function that became a node, if it is this one:
/// of "[target=torch.ops.aten.FUNCTION.default](args = (%a, [2, 2]), kwargs =
/// ". Those that have their defaults are missing at the end.
static std::vector<std::string> argumentsOf(const onnx::NodeProto &node,
                                            StringRef function) {
  std::string text = metadataOf(node)[functionNote];
  auto [target, arguments] = StringRef(text).split("](args = (");
  std::vector<std::string> result;
  if (!target.ends_with(("aten." + function + ".default").str()))
    return result;
  StringRef list = arguments.split(')').first;
  int depth = 0; // of brackets
  for (size_t i = 0, begin = 0; i <= list.size(); ++i) {
    if (i == list.size() || (list[i] == ',' && depth == 0)) {
      result.push_back(list.slice(begin, i).trim().str());
      begin = i + 1;
    } else {
      depth += (list[i] == '[') - (list[i] == ']');
    }
  }
  return result;
}

std::optional<int64_t> lwcc::exportedPadding(const onnx::NodeProto &node) {
  // weight, indices, padding_idx, which is -1 where there is none
  std::vector<std::string> each = argumentsOf(node, "embedding");
  int64_t row = -1;
  if (each.size() < 3 || StringRef(each[2]).getAsInteger(10, row) || row < 0)
    return std::nullopt;
  return row;
}

std::optional<int64_t> lwcc::exportedDivisor(const onnx::NodeProto &node) {
  // x, kernel, stride, padding, ceil_mode, count_include_pad, divisor_override
  for (StringRef function : {"avg_pool2d", "avg_pool3d"}) {
    std::vector<std::string> each = argumentsOf(node, function);
    int64_t divisor = 0;
    if (each.size() == 7 && !StringRef(each[6]).getAsInteger(10, divisor) &&
        divisor != 0)
      return divisor;
  }
  return std::nullopt;
}

double lwcc::exportedSmoothing(const onnx::NodeProto &node) {
  // scores, labels, weight, reduction, ignore_index, smoothing
  std::vector<std::string> each = argumentsOf(node, "cross_entropy_loss");
  double smoothing = 0;
  if (each.size() != 6 || StringRef(each[5]).getAsDouble(smoothing) ||
      !(smoothing > 0 && smoothing < 1))
    return 0;
  return smoothing;
}

bool lwcc::isExportedDetach(const onnx::NodeProto &node) {
  return StringRef(metadataOf(node)[functionNote])
      .contains("[target=torch.ops.aten.detach");
}

ExportedCode lwcc::exportedCode(const onnx::NodeProto &node) {
  std::string trace = metadataOf(node)["pkg.torch.onnx.stack_trace"];
  return trace.empty() ? ExportedCode::unknown
         : StringRef(trace).starts_with("File \"<eval_with_key>")
             ? ExportedCode::made
             : ExportedCode::ofFile;
}

void lwcc::keepTrainingNotes(onnx::NodeProto &node) {
  const bool isNeeded = isExportedDetach(node) || exportedPadding(node) ||
                        exportedDivisor(node) || exportedSmoothing(node) != 0;
  onnx::StringStringEntryProto note;
  note.set_key(functionNote);
  note.set_value(metadataOf(node)[functionNote]);
  auto *notes = node.GetReflection()->MutableUnknownFields(&node);
  notes->Clear();
  if (isNeeded)
    notes->AddLengthDelimited(nodeNotes, note.SerializeAsString());
}
