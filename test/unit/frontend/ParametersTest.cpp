//===- ParametersTest.cpp - What an exporter says about tensors -----------===//

#include "TestModels.h"

#include "ir/train/Train.h"

#include <google/protobuf/unknown_field_set.h>

using namespace lwcc;
using namespace lwcc::test;

/// Adds metadata_props as newer ONNX has them: unknown fields to us.
static void addMetadata(google::protobuf::Message &message, int field,
                        const std::string &key, const std::string &value) {
  onnx::StringStringEntryProto entry;
  entry.set_key(key);
  entry.set_value(value);
  message.GetReflection()->MutableUnknownFields(&message)->AddLengthDelimited(
      field, entry.SerializeAsString());
}
static void setKind(onnx::ModelProto &model, const char *name,
                    const char *kind) {
  auto *info = model.mutable_graph()->add_value_info();
  info->set_name(name);
  addMetadata(*info, 4, "pkg.torch.export.graph_signature.InputSpec.kind",
              kind);
}

static const char *scaled = R"(
<ir_version: 8, opset_import: ["" : 13]>
net (float[2,3] x) => (float[2,3] y)
<float[3] weight = {1,2,3}, float[3] offset = {1,2,3}, float lifted = {0.5}> {
  a = Mul (x, weight)
  b = Add (a, offset)
  y = Mul (b, lifted)
})";

static train::ParameterOp find(ImportedModel &model, const char *name) {
  return mlir::SymbolTable(*model.module).lookup<train::ParameterOp>(name);
}

TEST(Parameters, withoutMetadataAllTensorsAreTrained) {
  onnx::ModelProto proto = parse(scaled);
  Importer importer;
  auto model = importer.import(proto);
  ASSERT_TRUE(mlir::succeeded(model)) << importer.said();
  for (const char *name : {"weight", "offset"})
    EXPECT_EQ(find(*model, name).getRole(), Role::trainable);
  // A number may be part of an expression; PyTorch's older exporter writes
  // those as Constant nodes.
  EXPECT_FALSE(find(*model, "lifted"));
  proto.set_producer_name("pytorch");
  model = importer.import(proto);
  ASSERT_TRUE(mlir::succeeded(model)) << importer.said();
  EXPECT_EQ(find(*model, "lifted").getRole(), Role::trainable);
}

TEST(Parameters, buffersAndLiftedScalarsAreConstant) {
  onnx::ModelProto proto = parse(scaled);
  setKind(proto, "weight", "PARAMETER");
  setKind(proto, "offset", "BUFFER");
  Importer importer;
  auto model = importer.import(proto);
  ASSERT_TRUE(mlir::succeeded(model)) << importer.said();
  EXPECT_EQ(find(*model, "weight").getRole(), Role::trainable);
  EXPECT_EQ(find(*model, "offset").getRole(), Role::constant);
  EXPECT_FALSE(find(*model, "lifted"));
}

TEST(Parameters, missingOnesAreNamed) {
  onnx::ModelProto proto = parse(scaled);
  addMetadata(*proto.mutable_graph(), 16,
              "pkg.torch.export.ExportedProgram.graph_signature",
              "\n# inputs\np_w: PARAMETER target='weight'\n"
              "p_bn: PARAMETER target='bn.weight'\n");
  Importer importer;
  ASSERT_TRUE(mlir::succeeded(importer.import(proto)));
  EXPECT_NE(importer.said().find("does not have 1 of the parameters of the "
                                 "PyTorch module that it was made from "
                                 "(bn.weight)"),
            std::string::npos)
      << importer.said();
}

TEST(Parameters, buffersThatTheModuleChangesAreWritten) {
  onnx::ModelProto proto = parse(R"(
    <ir_version: 8, opset_import: ["" : 13]>
    net (float[4,2] x) => (float[4,2] y)
    <float[2] mean = {0, 0}, float[2] variance = {1, 1}, float[2] w = {1, 2},
     float[2] vector = {1, 0}, float[2] other = {1, 1}, float[2] calls = {0, 0}> {
      next = Mul (vector, w)
      scaled = Mul (x, next)
      moved = Add (scaled, other)
      y = BatchNormalization (moved, w, w, mean, variance)
    })");
  addMetadata(*proto.mutable_graph(), 16,
              "pkg.torch.export.ExportedProgram.graph_signature",
              "\n# inputs\np_w: PARAMETER target='w'\n# outputs\n"
              "a: BUFFER_MUTATION target='mean'\n"
              "b: BUFFER_MUTATION target='variance'\n"
              "next: BUFFER_MUTATION target='vector'\n"
              "gone: BUFFER_MUTATION target='other'\n"
              "d: BUFFER_MUTATION target='calls'\n");
  Importer importer;
  auto model = importer.import(proto);
  ASSERT_TRUE(mlir::succeeded(model)) << importer.said();
  EXPECT_EQ(find(*model, "vector").getRole(), Role::statistic);
  EXPECT_EQ(find(*model, "other").getRole(), Role::constant);
  int writes = 0;
  model->module->walk([&](train::WriteOp write) {
    ++writes;
    EXPECT_EQ(write.getParameter(), "vector");
    auto next = write.getValue().getDefiningOp<train::MapOp>();
    ASSERT_TRUE(next);
    EXPECT_EQ(next.getFn(), "detach"); // PyTorch computes it without gradients
    EXPECT_EQ(std::distance(next->user_begin(), next->user_end()), 2);
  });
  EXPECT_EQ(writes, 1);
  // Not statistics of normalizations, nor what nothing reads.
  EXPECT_NE(importer.said().find("does not say what 1 of its constants become"),
            std::string::npos)
      << importer.said();
  EXPECT_NE(importer.said().find("(other): here they stay as they are"),
            std::string::npos)
      << importer.said();
}

TEST(Parameters, whereNoneIsMissingNothingElseIsTrained) {
  onnx::ModelProto proto = parse(scaled);
  addMetadata(*proto.mutable_graph(), 16,
              "pkg.torch.export.ExportedProgram.graph_signature",
              "\n# inputs\np_w: PARAMETER target='weight'\n");
  Importer importer;
  auto model = importer.import(proto);
  ASSERT_TRUE(mlir::succeeded(model)) << importer.said();
  EXPECT_EQ(find(*model, "weight").getRole(), Role::trainable);
  EXPECT_EQ(find(*model, "offset").getRole(), Role::constant);
}

TEST(Parameters, onesOfANormalizationWithoutScaleAreNotTrained) {
  onnx::ModelProto proto = parse(R"(
    <ir_version: 8, opset_import: ["" : 13], producer_name: "pytorch">
    net (float[4,2] x) => (float[4,2] y)
    <float[2] mean = {0, 0}, float[2] variance = {1, 1}, float[2] w = {1, 2}> {
      scaled = Mul (x, w)
      ones = Constant <value = float[2] {1, 1}> ()
      zeros = Constant <value = float[2] {0, 0}> ()
      first = BatchNormalization (scaled, ones, zeros, mean, variance)
      scale = Constant <value = float[2] {1, 2}> ()
      y = BatchNormalization (first, scale, zeros, mean, variance)
    })");
  Importer importer;
  auto model = importer.import(proto);
  ASSERT_TRUE(mlir::succeeded(model)) << importer.said();
  EXPECT_FALSE(find(*model, "ones")); // a constant
  EXPECT_EQ(find(*model, "scale").getRole(), Role::trainable);
}

TEST(Parameters, namesOfFunctionsAreAvoided) {
  onnx::ModelProto proto = parse(R"(
    <ir_version: 8, opset_import: ["" : 13]>
    net (float[2,3] x) => (float[2,3] y)
    <float[3] model = {1,2,3}> { y = Mul (x, model) })");
  Importer importer;
  auto model = importer.import(proto);
  ASSERT_TRUE(mlir::succeeded(model)) << importer.said();
  EXPECT_TRUE(find(*model, "model.value"));
}

TEST(Parameters, reducedPrecisionBecomesFloat32) {
  onnx::ModelProto proto = parse(R"(
    <ir_version: 8, opset_import: ["" : 13]>
    net (float16[2,3] x) => (float16[2,3] y) { y = Mul (x, w) })");
  auto *tensor = addWeight(proto, "w", onnx::TensorProto::FLOAT16, 3);
  for (int i = 0; i < 3; ++i)
    tensor->add_int32_data(0x3C00);
  Importer importer;
  auto model = importer.import(proto);
  ASSERT_TRUE(mlir::succeeded(model)) << importer.said();
  EXPECT_EQ(reinterpret_cast<float *>(model->blob.data())[2], 1.0f);
}
