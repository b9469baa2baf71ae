//===- TokensTest.cpp - Data of models that take integers -----------------===//

#include "TestFiles.h"
#include "runtime/train/data/DataSource.h"
#include "runtime/train/data/Transform.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

using namespace lwcc::rt;
using namespace lwcc::rt::train;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;

namespace {
class TokensTest : public testing::Test {
protected:
  std::unique_ptr<DataSource> open(DataRole role = DataRole::training) {
    return openData(folder.path(), role, {input}, 0);
  }
  std::string error(DataRole role = DataRole::training) {
    return errorOf([&] { open(role); });
  }
  static std::vector<float> tokensOf(const DataSource &source, int64_t index) {
    Sample sample;
    source.read(index, sample);
    std::vector<float> values(sample.format.elements());
    readPlanes(sample, values.data());
    return values;
  }
  std::vector<int32_t> labelsOf(const DataSource &source, int64_t index) {
    std::vector<int32_t> labels(input.labelsPerSample());
    source.labels(index, labels);
    return labels;
  }
  template <typename T>
  void array(const char *name, const char *descr, const char *shape,
             const std::vector<T> &values) {
    writeFile(folder / name, npyBytes(descr, shape, bytesOfValues(values)));
  }

  TempFolder folder;
  ModelInput input{{3}, 100, 100, {3}};
};
} // namespace

TEST_F(TokensTest, ATextIsCutIntoSequencesWithTheNextBytesAsLabels) {
  writeFile(folder / "text.txt", "0123456789");
  auto source = open();
  ASSERT_EQ(source->size(), 3);
  EXPECT_THAT(tokensOf(*source, 1), ElementsAre('3', '4', '5'));
  EXPECT_THAT(labelsOf(*source, 1), ElementsAre('4', '5', '6'));
  EXPECT_THAT(labelsOf(*source, 2), ElementsAre('7', '8', '9'));
  EXPECT_THAT(source->describe(), HasSubstr("3 sequences, 3 tokens"));
  input.labels = {}; // a model of the next letter only
  EXPECT_THAT(labelsOf(*open(), 1), ElementsAre('6'));
  EXPECT_EQ(open()->label(1), '6');
}

TEST_F(TokensTest, AnIgnoredTokenIsNoLabelButIsRead) {
  writeFile(folder / "text.txt", "0123456789");
  input.ignoredLabel = '4';
  EXPECT_THAT(tokensOf(*open(), 1), ElementsAre('3', '4', '5'));
  EXPECT_THAT(labelsOf(*open(), 1), ElementsAre(-1, '5', '6'));
}

TEST_F(TokensTest, TheLastTokenOfAStreamIsALabelOnly) {
  for (auto [text, samples] : {std::pair("0123", 1), std::pair("012345", 1),
                               std::pair("0123456", 2)}) {
    writeFile(folder / "text.txt", text);
    EXPECT_EQ(open()->size(), samples) << text;
  }
  writeFile(folder / "text.txt", "012");
  EXPECT_THAT(error(), HasSubstr("has 3 tokens, fewer than a sequence and one "
                                 "more (4)"));
  writeFile(folder / "text.txt", "");
  EXPECT_THAT(error(), HasSubstr("has 0 tokens"));
}

TEST_F(TokensTest, StreamsOfTwoBytes) {
  std::string raw = bytesOfValues<uint16_t>({1, 2, 3, 4, 5, 6, 99});
  writeFile(folder / "train.bin", raw);
  auto source = open();
  ASSERT_EQ(source->size(), 2);
  EXPECT_THAT(tokensOf(*source, 1), ElementsAre(4, 5, 6));
  EXPECT_THAT(labelsOf(*source, 1), ElementsAre(5, 6, 99));

  std::vector<int32_t> header(256);
  header[0] = 20240520, header[1] = 1, header[2] = 7;
  writeFile(folder / "train.bin", bytesOfValues(header) + raw);
  EXPECT_THAT(tokensOf(*open(), 0), ElementsAre(1, 2, 3));
  header[2] = 8;
  writeFile(folder / "train.bin", bytesOfValues(header) + raw);
  EXPECT_THAT(error(), HasSubstr("version 1 for 8 tokens, and 14 bytes"));

  writeFile(folder / "train.bin", raw + "x");
  EXPECT_THAT(error(), HasSubstr("odd number of bytes"));
  writeFile(folder / "train.bin", bytesOfValues<uint16_t>({1, 2, 100, 4}));
  EXPECT_THAT(error(), HasSubstr("token 100, at place 2, is out of range; the "
                                 "model has tokens 0 to 99"));
}

TEST_F(TokensTest, OfSeveralStreamsTheRoleDecides) {
  writeFile(folder / "train.txt", "aaaa");
  writeFile(folder / "val.txt", "bbbb");
  EXPECT_THAT(tokensOf(*open(), 0), Each('a'));
  EXPECT_THAT(tokensOf(*open(DataRole::validation), 0), Each('b'));
  writeFile(folder / "mytrain.txt", "cccc");
  EXPECT_THAT(error(), HasSubstr("several streams of tokens"));
}

TEST_F(TokensTest, ArraysOfAnyIntegers) {
  array<int16_t>("tokens.npy", "<i2", "(2, 3)", {1, 2, 3, 4, 5, 99});
  array<int64_t>("labels.npy", "<i8", "(2, 3)", {0, 1, 2, -100, 4, 5});
  auto source = open();
  EXPECT_THAT(tokensOf(*source, 1), ElementsAre(4, 5, 99));
  EXPECT_THAT(labelsOf(*source, 1), ElementsAre(-1, 4, 5));
  EXPECT_THAT(labelsOf(*open(DataRole::prediction), 1), Each(-1));

  array<uint8_t>("tokens.npy", "|u1", "(2, 3)", {1, 2, 3, 4, 100, 200});
  EXPECT_THAT(error(), HasSubstr("2 tokens out of range; the first is 100, of "
                                 "sample 1; the model takes 0 to 99"));
  array<uint8_t>("tokens.npy", "|u1", "(3, 2)", {1, 2, 3, 4, 5, 6});
  EXPECT_THAT(error(), HasSubstr("has shape 3x2; expected 3 tokens"));
  array<float>("tokens.npy", "<f4", "(2, 3)", {1, 2, 3, 4, 5, 6});
  EXPECT_THAT(error(), HasSubstr("holds float32; the model takes integers"));
}

TEST_F(TokensTest, LabelsHaveTheShapeOfTheScores) {
  array<uint8_t>("tokens.npy", "|u1", "(2, 3)", {1, 2, 3, 4, 5, 6});
  array<uint8_t>("labels.npy", "|u1", "(2,)", {1, 2});
  EXPECT_THAT(error(), HasSubstr("has shape 2; expected 3 class numbers per "
                                 "sample"));
  array<int64_t>("labels.npy", "<i8", "(2, 3)", {0, 1, 2, -1, 4, 5});
  EXPECT_THAT(error(), HasSubstr("1 label out of range; the first is -1, of "
                                 "image 1"));
  input.labels = {};
  EXPECT_THAT(error(), HasSubstr("expected one class number"));
  array<int64_t>("labels.npy", "<i8", "(2,)", {0, -100}); // it has no other
  EXPECT_THAT(error(), HasSubstr("the first is -100"));
}

TEST_F(TokensTest, ASampleMayBeOneInteger) {
  input = {{}, 100, 100, {}};
  array<uint8_t>("tokens.npy", "|u1", "(2,)", {7, 9});
  array<uint8_t>("labels.npy", "|u1", "(2,)", {1, 2});
  EXPECT_THAT(tokensOf(*open(), 1), ElementsAre(9));
}

TEST_F(TokensTest, OtherDataIsRefused) {
  EXPECT_THAT(error(), HasSubstr("tokens.npy and labels.npy"));
  writeFile(folder / "text.txt", "0123");
  input.dims = {2, 3};
  EXPECT_THAT(error(), HasSubstr("for a model of sequences"));
  EXPECT_THAT(errorOf([&] {
                Transform({3, 1, 1, false, {'u', 1}, {}, true}, {3}, {0.5}, {});
              }),
              HasSubstr("integers, which are no amounts"));
}

TEST_F(TokensTest, SyntheticOnesCanBeLearned) {
  auto source = openData("synthetic", DataRole::training, {input}, 50);
  for (int64_t i = 0; i < source->size(); ++i) {
    std::vector<float> tokens = tokensOf(*source, i);
    std::vector<int32_t> labels = labelsOf(*source, i);
    for (size_t k = 0; k < tokens.size(); ++k) {
      EXPECT_TRUE(tokens[k] >= 0 && tokens[k] < 100);
      EXPECT_EQ(labels[k], int32_t(tokens[k] + 1) % 100);
    }
  }
  input.labels = {};
  EXPECT_THAT(
      labelsOf(*openData("synthetic", DataRole::training, {input}, 50), 3),
      ElementsAre(tokensOf(*source, 3)[1]));
}
