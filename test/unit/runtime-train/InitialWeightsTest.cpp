//===- InitialWeightsTest.cpp - Weights from other files ------------------===//
//
// --init-from on the fake program, whose weights are fc.weight [4, 16], fc.bias
// [4] and norm.running_mean [1]: what fits is taken, in every type, all else is
// named. Files of PyTorch are tested in test/e2e/init-from.test.
//
//===----------------------------------------------------------------------===//

#include "runtime/train/state/InitialWeights.h"
#include "FakeMachine.h"
#include "RunTrainer.h"

#include <gmock/gmock.h>

#include <cmath>
#include <numeric>

using namespace lwcc::rt;
using namespace lwcc::rt::train;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

template <typename T>
static std::vector<float> floatsOf(FileType type, std::vector<T> elements) {
  std::string bytes = "x" + bytesOfValues(elements); // not aligned
  std::vector<float> floats(elements.size());
  copyAsFloats(type, bytes.data() + 1, int64_t(elements.size()), floats.data());
  return floats;
}

TEST(FileTypes, BecomeFloats) {
  EXPECT_THAT(floatsOf<uint16_t>(FileType::f16,
                                 {0x0000, 0x8000, 0x3C00, 0xC000, 0x7BFF,
                                  0x0001, 0x03FF, 0x0400, 0x7C00, 0xFC00}),
              ElementsAre(0.0f, -0.0f, 1.0f, -2.0f, 65504.0f, 0x1p-24f,
                          0x1.ff8p-15f, 0x1p-14f, HUGE_VALF, -HUGE_VALF));
  EXPECT_TRUE(std::isnan(floatsOf<uint16_t>(FileType::f16, {0x7E00})[0]));
  EXPECT_THAT(
      floatsOf<uint16_t>(FileType::bf16, {0x3F80, 0xC000, 0x0001, 0x7F80}),
      ElementsAre(1.0f, -2.0f, 0x1p-133f, HUGE_VALF));
  EXPECT_THAT(floatsOf<double>(FileType::f64, {0.1, -1e300}),
              ElementsAre(0.1f, -HUGE_VALF));
  EXPECT_THAT(floatsOf<float>(FileType::f32, {0.1f}), ElementsAre(0.1f));
}

TEST(FileTypes, HaveNames) {
  for (const char *name : {"F64", "F32", "F16", "BF16", "I64", "BOOL"}) {
    ASSERT_TRUE(fileTypeOf(name)) << name;
    EXPECT_STREQ(nameOf(*fileTypeOf(name)), name);
  }
  EXPECT_FALSE(fileTypeOf("C64"));
  EXPECT_FALSE(becomesFloat(FileType::i64));
}

//===----------------------------------------------------------------------===//
// ONNX
//===----------------------------------------------------------------------===//

namespace {
/// The bytes of a protobuf message, field by field; numbers below 128.
struct Message {
  std::string bytes;
  Message &number(int field, char value) {
    bytes += {char(field << 3), value};
    return *this;
  }
  Message &text(int field, const std::string &value) {
    bytes += char(field << 3 | 2);
    for (size_t rest = value.size(); true; rest >>= 7) {
      bytes += char((rest & 127) | (rest > 127 ? 128 : 0));
      if (rest <= 127)
        break;
    }
    bytes += value;
    return *this;
  }
  Message &fixed32(int field, float value) {
    bytes += char(field << 3 | 5);
    bytes += bytesOfValues<float>({value});
    return *this;
  }
};
} // namespace

static Message tensorMessage(const std::string &name, std::vector<char> dims,
                             char type = 1) {
  Message message;
  for (char dim : dims)
    message.number(1, dim);
  return message.number(2, type).text(8, name);
}

static std::string modelOf(const std::vector<Message> &initializers) {
  Message graph;
  for (const Message &tensor : initializers)
    graph.text(5, tensor.bytes);
  return Message().number(1, 8).text(7, graph.text(2, "g").bytes).bytes;
}

namespace {
class InitialWeightsTest : public testing::Test {
protected:
  std::string error(const std::string &bytes) {
    writeFile(folder / "m.onnx", bytes);
    return errorOf([&] { OnnxTensors file(folder / "m.onnx"); });
  }
  /// Writes tensors of zeros, but fc.bias, if it is there, of 7, 8, ...
  std::string safetensors(std::vector<TensorEntry> entries) {
    SafetensorsWriter writer(folder / "w.safetensors", entries, {});
    for (const TensorEntry &entry : entries) {
      int64_t count = std::accumulate(entry.dims.begin(), entry.dims.end(),
                                      int64_t(1), std::multiplies<>());
      std::vector<float> values(count);
      if (entry.name == "fc.bias")
        std::iota(values.begin(), values.end(), 7.0f);
      writer.append(values.data());
    }
    writer.finish();
    return folder / "w.safetensors";
  }
  TrainerRun train(const std::string &file,
                   std::vector<std::string> more = {"--epochs=0"}) {
    more.insert(more.begin(), {"--data=synthetic", "--init-from=" + file,
                               "--export-onnx=" + (folder / "out.onnx")});
    return runTrainer(more);
  }
  /// Of the exported file.
  std::string weight() { return readFile(folder / "out.onnx").substr(4, 256); }
  std::string bias() { return readFile(folder / "out.onnx").substr(260, 16); }

  TempFolder folder;
};
} // namespace

TEST_F(InitialWeightsTest, OnnxKeepsElementsInSeveralPlaces) {
  writeFile(folder / "m.onnx.data", "12345678" + bytesOfValues<float>({5, 6}));
  auto entry = [](const std::string &key, const std::string &value) {
    return Message().text(1, key).text(2, value).bytes;
  };
  writeFile(
      folder / "m.onnx",
      modelOf({tensorMessage("raw", {2}).text(9, bytesOfValues<float>({1, 2})),
               tensorMessage("listed", {}).text(4, bytesOfValues<float>({3})),
               tensorMessage("parts", {2}).fixed32(4, 3).fixed32(4, 4),
               tensorMessage("far", {1, 2})
                   .number(14, 1)
                   .text(13, entry("location", "m.onnx.data"))
                   .text(13, entry("offset", "8"))
                   .text(13, entry("length", "8")),
               tensorMessage("shape", {3}, 7).text(7, "\1\2\3"),
               tensorMessage("half", {2}, 10).text(5, "\1\2"),
               tensorMessage("words", {1}, 8).text(6, "word"),
               tensorMessage("none", {0})}));
  OnnxTensors file(folder / "m.onnx");
  std::vector<std::vector<float>> values;
  for (const FileTensor &tensor : file.tensors()) {
    values.emplace_back();
    if (!tensor.data)
      continue;
    values.back().resize(tensor.dims.empty() ? 1 : tensor.dims.back());
    copyAsFloats(tensor.type, tensor.data, int64_t(values.back().size()),
                 values.back().data());
  }
  using List = std::vector<float>;
  EXPECT_THAT(values, ElementsAre(List{1, 2}, List{3}, List{3, 4}, List{5, 6},
                                  List{}, List{}, List{}));
  EXPECT_EQ(file.tensors()[3].dims, (std::vector<int64_t>{1, 2}));
  EXPECT_TRUE(file.tensors()[6].data);
}

TEST_F(InitialWeightsTest, DamagedOnnxIsRefused) {
  std::string four = bytesOfValues<float>({1});
  EXPECT_THAT(error(""), HasSubstr("m.onnx: not an ONNX model, or cut short"));
  EXPECT_THAT(error(std::string(30, '\xff')), HasSubstr("not an ONNX model"));
  std::string good = modelOf({tensorMessage("w", {1}).text(9, four)});
  EXPECT_EQ(error(good), "");
  for (size_t size = 2; size < good.size(); ++size)
    EXPECT_THAT(error(good.substr(0, size)), HasSubstr("not an ONNX model"));
  EXPECT_THAT(
      error(modelOf({tensorMessage("w", {2}).text(9, four)})),
      HasSubstr("initializer 'w' has 4 bytes of elements, its shape needs 8"));
  Message negative = Message().text(1, std::string(9, '\xff') + "\1");
  negative.number(2, 1).text(8, "w").text(9, four);
  EXPECT_THAT(error(modelOf({negative})), HasSubstr("an impossible shape"));
  EXPECT_THAT(
      error(modelOf({tensorMessage("w", {0}), tensorMessage("w", {0})})),
      HasSubstr("two initializers are called 'w'"));
  auto location = [](const std::string &value) {
    return tensorMessage("w", {1}).number(14, 1).text(
        13, Message().text(1, "location").text(2, value).bytes);
  };
  EXPECT_THAT(error(modelOf({location("../x")})),
              HasSubstr("'../x', which leaves the model's folder"));
  EXPECT_THAT(error(modelOf({location("/etc/x")})), HasSubstr("leaves the"));
  EXPECT_THAT(error(modelOf({location("gone")})), HasSubstr("gone: cannot"));
  writeFile(folder / "short", "12");
  EXPECT_THAT(error(modelOf({location("short").text(
                  13, Message().text(1, "offset").text(2, "3").bytes)})),
              HasSubstr("'short', which is too short: it has 2 bytes"));
}

//===----------------------------------------------------------------------===//
// What fits
//===----------------------------------------------------------------------===//

TEST_F(InitialWeightsTest, WhatFitsIsTakenAndTheRestIsNamed) {
  ASSERT_EQ(train(safetensors({{"fc.bias", FileType::f32, {4}}})).code, 0);
  std::string first = weight();
  TrainerRun run = train(safetensors({{"fc.weight", FileType::f32, {4, 8}},
                                      {"fc.bias", FileType::f32, {4}},
                                      {"norm.batches", FileType::i32, {}},
                                      {"head.bias", FileType::f32, {2}}}));
  EXPECT_EQ(run.code, 0) << run.err;
  EXPECT_EQ(bias(), bytesOfValues<float>({7, 8, 9, 10}));
  EXPECT_EQ(weight(), first); // as without the file
  EXPECT_THAT(
      run.out,
      HasSubstr("  weights     1 of 3 tensors from " +
                (folder / "w.safetensors") +
                "\n    with their first values, not in the file (1):"
                "\n      norm.running_mean 1"
                "\n    with their first values, of another shape or type "
                "there (1):"
                "\n      fc.weight 4x16, 4x8 F32 in the file"
                "\n    only in the file (1):"
                "\n      head.bias 2\n"));
  EXPECT_THAT(run.out, Not(HasSubstr("norm.batches"))); // a counter
}

TEST_F(InitialWeightsTest, AnOnnxModelIsTaken) {
  writeFile(folder / "body.onnx",
            modelOf({tensorMessage("fc.bias", {4})
                         .text(9, bytesOfValues<float>({7, 8, 9, 10}))}));
  TrainerRun run = train(folder / "body.onnx");
  EXPECT_EQ(run.code, 0) << run.err;
  EXPECT_EQ(bias(), bytesOfValues<float>({7, 8, 9, 10}));
}

TEST_F(InitialWeightsTest, WhatIsStoredInAnotherWayIsNamed) {
  writeFile(folder / "body.onnx",
            modelOf({tensorMessage("fc.bias", {4}, 10).text(5, "\1\2\3\4"),
                     tensorMessage("norm.running_mean", {1})
                         .text(9, bytesOfValues<float>({7}))}));
  TrainerRun run = train(folder / "body.onnx");
  EXPECT_EQ(run.code, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr("fc.bias 4, stored in another way than as "
                                 "raw_data\n"));
}

TEST_F(InitialWeightsTest, ACheckpointsWeightsBeginANewTraining) {
  std::string ckpt = folder / "ckpt";
  ASSERT_EQ(
      runTrainer({"--data=synthetic", "--steps=9", "--checkpoint-dir=" + ckpt,
                  "--export-onnx=" + (folder / "trained.onnx")})
          .code,
      0);
  TrainerRun run = train(ckpt + "/step-000009/model.safetensors");
  EXPECT_EQ(run.code, 0) << run.err;
  EXPECT_EQ(readFile(folder / "out.onnx"), readFile(folder / "trained.onnx"));
  EXPECT_THAT(run.out, HasSubstr("weights     3 of 3 tensors from"));
  // What was taken is trained, and resumed without the file.
  run = train(ckpt + "/step-000009/model.safetensors",
              {"--steps=3", "--checkpoint-dir=" + (folder / "new")});
  EXPECT_EQ(run.code, 0) << run.err;
  EXPECT_THAT(readFile(folder / "new/step-000003/state.json"),
              Not(HasSubstr("init-from")));
}

TEST_F(InitialWeightsTest, RefusesBeforeAnythingIsWritten) {
  auto errorFor = [&](const std::string &file,
                      std::vector<std::string> more = {}) {
    more.push_back("--checkpoint-dir=" + (folder / "ckpt"));
    TrainerRun run = train(file, more);
    EXPECT_EQ(run.code, 1);
    return run.err;
  };
  std::string other = safetensors({{"module.fc.bias", FileType::f32, {4}}});
  EXPECT_THAT(errorFor(other),
              HasSubstr("w.safetensors: no tensor of fake.onnx has its name "
                        "and shape in this file\n"
                        "  not in the file (3):\n    fc.weight 4x16"));
  EXPECT_THAT(errorFor(other), HasSubstr("only in the file (1):\n    module."));
  std::string good = safetensors({{"fc.bias", FileType::f32, {4}}});
  EXPECT_THAT(errorFor(good, {"--resume=auto"}),
              HasSubstr("--init-from is where a training begins"));
  EXPECT_THAT(errorFor(safetensors({{"fc.bias", FileType::i32, {4}}})),
              HasSubstr("fc.bias 4, 4 I32 in the file"));
  EXPECT_THAT(errorFor(folder / "none"), HasSubstr("none: cannot open: No"));
  EXPECT_THAT(errorFor(folder.path()), HasSubstr("is a folder; name a file"));
  writeFile(folder / "x.pth", "PK\x03\x04rest");
  EXPECT_THAT(errorFor(folder / "x.pth"), HasSubstr("is a file of torch.save"));
  EXPECT_FALSE(std::filesystem::exists(folder / "ckpt"));
  EXPECT_FALSE(std::filesystem::exists(folder / "out.onnx"));
}
