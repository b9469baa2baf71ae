//===- OnnxExport.cpp - The recipe for the trained ONNX file --------------===//
//
// First the model is edited as protobuf: parameters are taken out, and
// BatchNormalization and Dropout become layers of inference. Then the file is
// written in protobuf's wire format, in which the fields of a message may stand
// in any order: the rest of the graph, then one initializer for each parameter.
// The raw_data of an initializer is a piece that the trainer fills.
//
//===----------------------------------------------------------------------===//

#include "frontend/OnnxExport.h"
#include "frontend/GraphRepairs.h"
#include "frontend/Metadata.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSet.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <google/protobuf/wire_format_lite.h>

using namespace lwcc;
using namespace llvm;
using onnx::GraphProto;
using onnx::ModelProto;
using onnx::NodeProto;
using onnx::TensorProto;

//===----------------------------------------------------------------------===//
// Inference form
//===----------------------------------------------------------------------===//

static void eraseAttribute(NodeProto &node, StringRef name) {
  auto &attributes = *node.mutable_attribute();
  for (int i = attributes.size() - 1; i >= 0; --i)
    if (attributes[i].name() == name)
      attributes.DeleteSubrange(i, 1);
}

/// BatchNormalization uses its running statistics, Dropout passes its input.
static void inferNode(NodeProto &node) {
  auto keepFirst = [](auto &field, int count) {
    while (field.size() > count)
      field.RemoveLast();
  };
  if (node.op_type() == "BatchNormalization") {
    eraseAttribute(node, "training_mode");
    keepFirst(*node.mutable_output(), 1);
  } else if (node.op_type() == "Dropout") {
    keepFirst(*node.mutable_input(), 2); // the third is training_mode
    keepFirst(*node.mutable_output(), 1);
  }
}

/// Makes the file's float types float32, as the trained values are. A file of
/// mixed element types would not load.
static void useFloat32(OnnxFile &file, GraphProto &graph) {
  auto isOther = [](int32_t type) {
    return type != TensorProto::FLOAT &&
           elementKind(type) == HostTensor::Kind::real;
  };
  auto fixType = [&](auto &infos) {
    for (auto &info : infos)
      if (isOther(info.type().tensor_type().elem_type()))
        info.mutable_type()->mutable_tensor_type()->set_elem_type(
            TensorProto::FLOAT);
  };
  fixType(*graph.mutable_input());
  fixType(*graph.mutable_output());
  fixType(*graph.mutable_value_info());
  auto fixTensor = [&](TensorProto &tensor) {
    if (!isOther(tensor.data_type()))
      return;
    HostTensor values = decodeTensor(tensor, file.rawBytes(tensor));
    TensorProto plain;
    plain.set_name(tensor.name());
    plain.set_data_type(TensorProto::FLOAT);
    *plain.mutable_dims() = tensor.dims();
    plain.set_raw_data(values.reals.data(),
                       values.reals.size() * sizeof(float));
    tensor = std::move(plain);
  };
  for (TensorProto &tensor : *graph.mutable_initializer())
    fixTensor(tensor);
  for (NodeProto &node : *graph.mutable_node())
    for (auto &attribute : *node.mutable_attribute()) {
      if (attribute.has_t())
        fixTensor(*attribute.mutable_t());
      bool names = attribute.name() == "to" || attribute.name() == "dtype";
      if (names && isOther(int32_t(attribute.i())))
        attribute.set_i(TensorProto::FLOAT);
    }
}

/// Moves tensors of other files into this one.
static void inlineExternal(OnnxFile &file, TensorProto &tensor) {
  if (tensor.data_location() != TensorProto::EXTERNAL)
    return;
  StringRef bytes = *file.rawBytes(tensor);
  tensor.set_raw_data(bytes.data(), bytes.size());
  tensor.clear_data_location();
  tensor.clear_external_data();
}

/// Removes nodes and initializers that nothing reads any more.
static void eraseUnused(GraphProto &graph) {
  llvm::StringSet<> used;
  for (const auto &output : graph.output())
    used.insert(output.name());
  auto *nodes = graph.mutable_node();
  SmallVector<bool> dead(nodes->size());
  for (int i = nodes->size() - 1; i >= 0; --i) {
    const NodeProto &node = nodes->Get(i);
    dead[i] = none_of(node.output(), [&](const std::string &output) {
      return used.contains(output);
    });
    if (!dead[i])
      forEachRead(node, [&](const std::string &name) { used.insert(name); });
  }
  SmallPtrSet<const NodeProto *, 16> erased;
  for (auto [i, isDead] : enumerate(dead))
    if (isDead)
      erased.insert(&nodes->Get(int(i)));
  eraseFrom(*nodes,
            [&](const NodeProto &node) { return erased.contains(&node); });
  eraseFrom(*graph.mutable_initializer(), [&](const TensorProto &tensor) {
    return !used.contains(tensor.name());
  });
}

static void makeInferenceForm(OnnxFile &file, const GraphImporter &imported) {
  ModelProto &model = file.model;
  GraphProto &graph = *model.mutable_graph();
  for (NodeProto &node : *graph.mutable_node()) {
    // A dropout that was spelled out: its data pass.
    if (auto found = imported.dropouts.find(&node);
        found != imported.dropouts.end()) {
      auto [data, factor] = found->second;
      std::string kept = node.input(int(data));
      node.clear_input();
      node.add_input(kept);
      if (factor == 1) {
        node.set_op_type("Identity");
      } else {
        TensorProto &number = *graph.add_initializer();
        number.set_name(node.output(0) + ".kept");
        number.set_data_type(TensorProto::FLOAT);
        number.add_float_data(factor);
        node.add_input(number.name());
      }
    }
    inferNode(node);
    node.clear_doc_string();
    keepTrainingNotes(node);
  }
  llvm::StringSet<> stored;
  for (const TensorProto &tensor : graph.initializer())
    stored.insert(tensor.name());
  // Parameters get their values back as holes.
  eraseFrom(*graph.mutable_initializer(), [&](const TensorProto &tensor) {
    return imported.parameters.contains(tensor.name());
  });
  eraseFrom(*graph.mutable_node(), [&](const NodeProto &node) {
    return makesParameters(node) &&
           imported.parameters.contains(node.output(0));
  });
  eraseUnused(graph);
  for (TensorProto &tensor : *graph.mutable_initializer())
    inlineExternal(file, tensor);
  for (NodeProto &node : *graph.mutable_node())
    for (auto &attribute : *node.mutable_attribute())
      if (attribute.has_t())
        inlineExternal(file, *attribute.mutable_t());
  useFloat32(file, graph);
  // Before IR 4 every initializer had to be an input as well.
  eraseFrom(*graph.mutable_input(), [&](const onnx::ValueInfoProto &info) {
    return stored.contains(info.name());
  });
  model.set_ir_version(std::max<int64_t>(4, model.ir_version()));
  graph.clear_doc_string();
  model.clear_doc_string();
  model.clear_training_info();
}

//===----------------------------------------------------------------------===//
// Wire format
//===----------------------------------------------------------------------===//

/// Tag and length of a field that holds bytes or a message.
static std::string fieldHead(int number, uint64_t length) {
  using google::protobuf::internal::WireFormatLite;
  std::string head;
  {
    google::protobuf::io::StringOutputStream stream(&head);
    google::protobuf::io::CodedOutputStream coded(&stream);
    coded.WriteTag(WireFormatLite::MakeTag(
        number, WireFormatLite::WIRETYPE_LENGTH_DELIMITED));
    coded.WriteVarint64(length);
  }
  return head;
}

static std::string serialize(const google::protobuf::Message &message) {
  std::string bytes;
  google::protobuf::io::StringOutputStream stream(&bytes);
  google::protobuf::io::CodedOutputStream coded(&stream);
  coded.SetSerializationDeterministic(true);
  message.SerializeToCodedStream(&coded);
  coded.Trim();
  return bytes;
}

std::vector<ExportPiece> lwcc::exportRecipe(OnnxFile &file,
                                            const Leaves &leaves,
                                            const GraphImporter &imported,
                                            std::vector<char> &blob,
                                            Reporter &reporter) {
  SmallVector<StringRef> names(imported.parameters.keys());
  llvm::sort(names);
  struct Hole {
    std::string before;
    const std::string *parameter;
    int64_t bytes;
  };
  std::vector<Hole> holes;
  uint64_t graphBytes = 0;
  for (StringRef name : names) {
    const Leaf &leaf = leaves.find(name)->second;
    TensorProto tensor;
    tensor.set_name(leaf.name);
    tensor.set_data_type(TensorProto::FLOAT);
    for (int64_t extent : leaf.shape)
      tensor.add_dims(extent);
    int64_t bytes =
        *elementCount(leaf.shape) * *elementBytes(tensor.data_type());
    std::string body =
        serialize(tensor) + fieldHead(TensorProto::kRawDataFieldNumber, bytes);
    Hole hole{
        fieldHead(GraphProto::kInitializerFieldNumber, body.size() + bytes) +
            body,
        &imported.parameters.find(name)->second, bytes};
    graphBytes =
        SaturatingAdd<uint64_t>(graphBytes, hole.before.size() + bytes);
    holes.push_back(std::move(hole));
  }
  makeInferenceForm(file, imported);
  std::string graphRest = serialize(file.model.graph());
  file.model.clear_graph();
  graphBytes = SaturatingAdd<uint64_t>(graphBytes, graphRest.size());
  std::string head = serialize(file.model) +
                     fieldHead(ModelProto::kGraphFieldNumber, graphBytes) +
                     graphRest;
  if (graphBytes > uint64_t(INT32_MAX) - (1 << 20)) {
    reporter.warning() << "is too large for one ONNX file (2 GiB); the trainer "
                          "will not write one";
    return {};
  }
  std::vector<ExportPiece> pieces;
  auto literal = [&](StringRef bytes) {
    pieces.push_back({"", int64_t(blob.size()), int64_t(bytes.size())});
    blob.insert(blob.end(), bytes.begin(), bytes.end());
  };
  literal(head);
  for (const Hole &hole : holes) {
    literal(hole.before);
    pieces.push_back({*hole.parameter, 0, hole.bytes});
  }
  return pieces;
}
