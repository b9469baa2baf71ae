//===- ExportTest.cpp - The recipe for the trained file -------------------===//

#include "TestModels.h"

#include "ir/train/Train.h"

using namespace lwcc;
using namespace lwcc::test;

/// The file that a trainer would write whose parameters are all 0.25.
static onnx::ModelProto apply(const ImportedModel &model) {
  std::string bytes;
  for (const ExportPiece &piece : model.onnxExport) {
    if (piece.state.empty()) {
      bytes.append(model.blob.data() + piece.offset, piece.bytes);
      continue;
    }
    float value = 0.25f;
    for (int64_t i = 0; i < piece.bytes; i += 4)
      bytes.append(reinterpret_cast<const char *>(&value), 4);
  }
  onnx::ModelProto result;
  EXPECT_TRUE(result.ParseFromString(bytes));
  return result;
}

static const onnx::TensorProto *find(const onnx::ModelProto &model,
                                     const char *name) {
  for (const auto &tensor : model.graph().initializer())
    if (tensor.name() == name)
      return &tensor;
  return nullptr;
}

TEST(Export, everyParameterIsAnInitializer) {
  Importer importer;
  auto model = importer.import(parse(R"(
    <ir_version: 3, opset_import: ["" : 9]>
    net (float[2,3] x, int64[2] shape, float[4] b) => (float[2,4] y)
    <int64[2] shape = {3,4}, float[4] b = {1,2,3,4}> {
      w = ConstantOfShape <value = float[1] {0.5}> (shape)
      y = Gemm (x, w, b)
    })"));
  ASSERT_TRUE(mlir::succeeded(model)) << importer.said();
  onnx::ModelProto result = apply(*model);
  // The node that made the weight is gone, and so is what only it read.
  ASSERT_EQ(result.graph().node_size(), 1);
  EXPECT_EQ(result.graph().input_size(), 1);
  EXPECT_GE(result.ir_version(), 4);
  EXPECT_EQ(find(result, "shape"), nullptr);
  const onnx::TensorProto *w = find(result, "w");
  ASSERT_TRUE(w);
  EXPECT_EQ(w->dims(0), 3);
  EXPECT_EQ(w->dims(1), 4);
  ASSERT_EQ(w->raw_data().size(), 48u);
  EXPECT_EQ(*reinterpret_cast<const float *>(w->raw_data().data()), 0.25f);
}

TEST(Export, layersInfer) {
  onnx::ModelProto proto = parse(R"(
    <ir_version: 8, opset_import: ["" : 15]>
    net (float[2,3] x) => (float[2,3] y)
    <float[3] s = {1,1,1}, float[3] b = {0,0,0}, float[3] m = {0,0,0},
     float[3] v = {1,1,1}, float r = {0.5}, bool t = {1}> {
      n, nm, nv = BatchNormalization <training_mode = 1> (x, s, b, m, v)
      d, mask = Dropout (n, r, t)
      u = RandomUniformLike (d)
      k = Constant <value_float = 0.5> ()
      l = Less (u, k)
      c = Cast <to = 1> (l)
      e = Div (c, k)
      y = Mul (d, e)
    })");
  proto.mutable_graph()->mutable_node(0)->set_doc_string(
      "/home/someone/model.py");
  proto.set_doc_string("/home/someone");
  Importer importer;
  auto model = importer.import(proto);
  ASSERT_TRUE(mlir::succeeded(model)) << importer.said();
  onnx::ModelProto result = apply(*model);
  const auto &nodes = result.graph().node();
  ASSERT_EQ(nodes.size(), 3);
  EXPECT_EQ(nodes[0].output_size(), 1);
  for (const auto &attribute : nodes[0].attribute())
    EXPECT_NE(attribute.name(), "training_mode");
  EXPECT_EQ(nodes[1].op_type(), "Dropout");
  EXPECT_EQ(nodes[1].input_size(), 2);
  EXPECT_EQ(nodes[1].output_size(), 1);
  EXPECT_EQ(nodes[2].op_type(), "Identity");
  EXPECT_EQ(nodes[2].input(0), "d");
  EXPECT_EQ(result.SerializeAsString().find("someone"), std::string::npos);
}

TEST(Export, everythingIsFloat32) {
  onnx::ModelProto proto = parse(R"(
    <ir_version: 8, opset_import: ["" : 13]>
    net (double[2,3] x) => (double[2,3] y) {
      a = Cast <to = 11> (x)
      y = Mul (a, w)
    })");
  auto *tensor = addWeight(proto, "w", onnx::TensorProto::DOUBLE, 3);
  for (int i = 0; i < 3; ++i)
    tensor->add_double_data(0.1);
  Importer importer;
  auto model = importer.import(proto);
  ASSERT_TRUE(mlir::succeeded(model)) << importer.said();
  onnx::ModelProto result = apply(*model);
  EXPECT_EQ(result.graph().input(0).type().tensor_type().elem_type(),
            onnx::TensorProto::FLOAT);
  EXPECT_EQ(result.graph().node(0).attribute(0).i(), onnx::TensorProto::FLOAT);
  EXPECT_EQ(find(result, "w")->data_type(), onnx::TensorProto::FLOAT);
}

/// What was exported is a model that can be trained again, with the same
/// parameters.
TEST(Export, theResultImportsAgain) {
  Importer importer;
  auto model = importer.import(parse(R"(
    <ir_version: 8, opset_import: ["" : 13]>
    net (float[2,3] x) => (float[2,4] y)
    <float[4] b = {1,2,3,4}> {
      w = RandomNormal <shape = [3, 4]> ()
      y = Gemm (x, w, b)
    })"));
  ASSERT_TRUE(mlir::succeeded(model)) << importer.said();
  auto again = importer.import(apply(*model));
  ASSERT_TRUE(mlir::succeeded(again)) << importer.said();
  std::vector<std::string> before, after;
  for (auto op : model->module->getOps<train::ParameterOp>())
    before.push_back(op.getSymName().str());
  for (auto op : again->module->getOps<train::ParameterOp>())
    after.push_back(op.getSymName().str());
  EXPECT_EQ(before, after);
}
