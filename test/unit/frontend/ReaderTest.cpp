//===- ReaderTest.cpp - Files that are damaged or hostile -----------------===//

#include "TestModels.h"

#include <random>

using namespace lwcc;
using namespace lwcc::test;

static const char *linear = R"(
<ir_version: 8, opset_import: ["" : 13]>
net (float[2,4] x) => (float[2,3] y)
<float[4,3] w = {1,2,3,4,5,6,7,8,9,10,11,12}> { y = MatMul (x, w) })";

/// The weights of `linear` in another file.
static onnx::ModelProto withExternal(const std::string &location,
                                     const char *offset, const char *length) {
  onnx::ModelProto model = parse(linear);
  auto &tensor = *model.mutable_graph()->mutable_initializer(0);
  tensor.clear_float_data();
  tensor.set_data_location(onnx::TensorProto::EXTERNAL);
  auto add = [&](const char *key, const std::string &value) {
    auto *entry = tensor.add_external_data();
    entry->set_key(key);
    entry->set_value(value);
  };
  add("location", location);
  add("offset", offset);
  add("length", length);
  return model;
}

TEST(Reader, readsExternalWeights) {
  Importer importer;
  std::vector<float> weights(13);
  for (int i = 0; i < 13; ++i)
    weights[i] = float(i);
  writeFile(importer.folder / "w.bin",
            std::string(reinterpret_cast<char *>(weights.data()), 52));
  auto model = importer.import(withExternal("w.bin", "4", "48"));
  ASSERT_TRUE(mlir::succeeded(model)) << importer.said();
  EXPECT_EQ(*reinterpret_cast<float *>(model->blob.data()), 1.0f);
}

TEST(Reader, refusesExternalWeightsOutsideTheFolder) {
  TemporaryFolder outside;
  writeFile(outside / "w.bin", std::string(64, '\0'));
  auto refused = [&](const std::string &location, const char *why) {
    Importer importer;
    std::filesystem::create_symlink(outside / "w.bin",
                                    importer.folder / "link");
    std::filesystem::create_directory(importer.folder / "sub");
    std::filesystem::create_directory_symlink(outside / "",
                                              importer.folder / "dir");
    EXPECT_TRUE(
        mlir::failed(importer.import(withExternal(location, "0", "48"))));
    EXPECT_NE(importer.said().find(why), std::string::npos) << importer.said();
  };
  refused("../" + std::filesystem::path(outside / "w.bin").string(),
          "leaves the model's folder");
  refused("sub/../../w.bin", "leaves the model's folder");
  refused(outside / "w.bin", "leaves the model's folder");
  refused("link", "links to a place outside");
  refused("dir/w.bin", "links to a place outside");
  refused("sub", "is not a regular file");
  refused("none.bin", "cannot be read: No such file");
  refused("", "damaged description");
}

TEST(Reader, refusesShortExternalWeights) {
  auto refused = [&](const char *offset, const char *length, const char *why) {
    Importer importer;
    writeFile(importer.folder / "w.bin", std::string(50, '\0'));
    EXPECT_TRUE(
        mlir::failed(importer.import(withExternal("w.bin", offset, length))));
    EXPECT_NE(importer.said().find(why), std::string::npos) << importer.said();
  };
  refused("4", "48", "is too short: it has 50 bytes, and 48 at offset 4");
  refused("18446744073709551615", "48", "is too short");
  refused("0", "44", "holds 44 bytes; its shape [4, 3] needs 48");
  refused("-1", "48", "damaged description");
}

TEST(Reader, reportsAllDamagedTensors) {
  onnx::ModelProto model = parse(R"(
    <ir_version: 8, opset_import: ["" : 13]>
    net (float[2,2] x) => (float[2,2] y)
    <float[2,2] a = {1,2,3,4}, float[2,2] b = {1,2,3,4}> {
      c = MatMul (x, a)
      y = MatMul (c, b)
    })");
  for (auto &tensor : *model.mutable_graph()->mutable_initializer())
    tensor.mutable_float_data()->RemoveLast();
  Importer importer;
  EXPECT_TRUE(mlir::failed(importer.import(model)));
  EXPECT_EQ(importer.messages.size(), 2u);
}

TEST(Reader, refusesUnsupportedTypesWhereTheyAreRead) {
  onnx::ModelProto model = parse(linear);
  auto *unused = model.mutable_graph()->add_initializer();
  unused->set_name("text");
  unused->set_data_type(onnx::TensorProto::STRING);
  Importer importer;
  EXPECT_TRUE(mlir::succeeded(importer.import(model))) << importer.said();
  model.mutable_graph()->mutable_node(0)->set_input(1, "text");
  EXPECT_TRUE(mlir::failed(importer.import(model)));
  EXPECT_NE(importer.said().find("unsupported element type STRING"),
            std::string::npos)
      << importer.said();
}

/// Random damage must end in a diagnostic or in a model, never in a crash.
TEST(Reader, survivesDamage) {
  onnx::ModelProto model = parse(R"(
    <ir_version: 8, opset_import: ["" : 13]>
    net (float[N,2,6,6] x) => (float[N,3] y)
    <float[3,2,3,3] w, float[3] s = {1,2,3}, int64[2] t = {0,-1},
     float[27,3] v, float[3] m = {0,0,0}, float[3] u = {1,1,1}> {
      c = Conv <pads=[1,1,1,1], strides=[2,2]> (x, w, s)
      b = BatchNormalization <epsilon=0.00001> (c, s, s, m, u)
      p = MaxPool <kernel_shape=[2,2], pads=[1,1,0,0], ceil_mode=1> (b)
      n = Shape (p)
      q = Slice (n, t, n)
      r = Clip (p)
      f = Reshape (r, t)
      k = Transpose <perm=[1,0]> (f)
      l = Transpose <perm=[1,0]> (k)
      z = Gemm <alpha=0.5> (l, v, s)
      a = Split <axis=1> (z)
      g = Concat <axis=1> (a)
      d = Dropout (g)
      y = Softmax <axis=1> (d)
    })");
  auto *graph = model.mutable_graph();
  auto addZeros = [&](const char *name, std::vector<int64_t> dims) {
    auto *tensor = graph->add_initializer();
    tensor->set_name(name);
    tensor->set_data_type(onnx::TensorProto::FLOAT);
    int64_t count = 1;
    for (int64_t extent : dims) {
      tensor->add_dims(extent);
      count *= extent;
    }
    tensor->set_raw_data(std::string(count * 4, '\0'));
  };
  addZeros("w", {3, 2, 3, 3});
  addZeros("v", {27, 3});
  const std::string whole = model.SerializeAsString();
  {
    Importer importer;
    ASSERT_TRUE(mlir::succeeded(importer.import(model, 2))) << importer.said();
  }
  std::mt19937 random(1);
  for (int round = 0; round < 3000; ++round) {
    std::string bytes = whole;
    int edits = 1 + int(random() % 3);
    for (int i = 0; i < edits; ++i)
      bytes[random() % bytes.size()] = char(random());
    if (round % 10 == 0)
      bytes.resize(random() % bytes.size());
    Importer importer;
    std::string path = importer.folder / "model.onnx";
    writeFile(path, bytes);
    auto result = importer.import(path, 2);
    EXPECT_TRUE(mlir::succeeded(result) || !importer.messages.empty());
  }
}
