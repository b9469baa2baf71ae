//===- DataSourceTest.cpp - What a data folder means ----------------------===//

#include "runtime/train/data/DataSource.h"
#include "TestFiles.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace lwcc::rt;
using namespace lwcc::rt::train;
using testing::ElementsAre;
using testing::HasSubstr;

static std::vector<float> planesOf(const DataSource &source, int64_t index) {
  Sample sample;
  source.read(index, sample);
  EXPECT_EQ(sample.format, source.format());
  std::vector<float> planes(sample.format.elements());
  readPlanes(sample, planes.data());
  return planes;
}

namespace {
class DataSourceTest : public testing::Test {
protected:
  void images(const std::string &descr, const std::string &shape,
              const std::string &data) {
    writeFile(folder / "images.npy", npyBytes(descr, shape, data));
  }
  void labels(const std::vector<int64_t> &values) {
    writeFile(folder / "labels.npy",
              npyBytes("<i8", "(" + std::to_string(values.size()) + ",)",
                       bytesOfValues(values)));
  }
  std::unique_ptr<DataSource> open(DataRole role = DataRole::training) {
    return openData(folder.path(), role, {input}, 0);
  }
  std::vector<float> first() {
    auto source = open();
    return planesOf(*source, 0);
  }
  std::string error() {
    return errorOf([&] { open(); });
  }

  TempFolder folder;
  ModelInput input{{3, 2, 2}, 10};
};
} // namespace

TEST_F(DataSourceTest, PredictionNeedsNoLabels) {
  images("<f4", "(2, 3)", bytesOfValues<float>({1, 2, 3, 4, 5, 6}));
  EXPECT_THAT(error(), HasSubstr("holds images.npy but no labels.npy"));
  auto source = open(DataRole::prediction);
  EXPECT_EQ(source->size(), 2);
  EXPECT_EQ(source->label(1), -1);
  EXPECT_THAT(planesOf(*source, 1), ElementsAre(4, 5, 6));
  labels({-7}); // nobody reads them
  EXPECT_EQ(open(DataRole::prediction)->size(), 2);
  EXPECT_THAT(error(), HasSubstr("has 1 label, but"));
}

TEST_F(DataSourceTest, ALossOfTheModelsOwnNeedsNoLabels) {
  input.loss = "output";
  images("<f4", "(2, 3)", bytesOfValues<float>({1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(open()->size(), 2);
  labels({-7}); // nobody reads them
  EXPECT_EQ(open()->size(), 2);
  EXPECT_EQ(open(DataRole::validation)->size(), 2);
}

TEST_F(DataSourceTest, AFolderOfPicturesMayNotCount) {
  std::filesystem::create_directories(folder / "cat");
  std::filesystem::create_directories(folder / "void");
  writeFile(folder / "cat/1.png", "");
  writeFile(folder / "void/1.png", "");
  input.ignoredLabel = 1;
  auto source = open();
  ASSERT_EQ(source->size(), 2);
  EXPECT_EQ(source->label(0), 0);
  EXPECT_EQ(source->label(1), -1);
}

TEST_F(DataSourceTest, PicturesToPredictMayLieAnywhere) {
  for (const char *name : {"b.png", "cat/2.jpg", "cat/more/1.bmp", "a.jpg"})
    writeFile(folder / name, "any bytes");
  writeFile(folder / "cat/notes.txt", "");
  auto source = open(DataRole::prediction);
  std::vector<std::string> names;
  for (int64_t i = 0; i < source->size(); ++i)
    names.push_back(source->nameOf(i));
  EXPECT_THAT(names,
              ElementsAre("a.jpg", "b.png", "cat/2.jpg", "cat/more/1.bmp"));
  EXPECT_EQ(source->label(2), -1);
  EXPECT_THAT(source->classNames(), ElementsAre());
  EXPECT_THAT(source->describe(), HasSubstr("4 pictures, RGB"));
  EXPECT_THAT(source->remark, HasSubstr("1 file passed over"));
  EXPECT_THAT(source->remark, HasSubstr("(cat/notes.txt)"));
}

TEST_F(DataSourceTest, NothingToPredict) {
  writeFile(folder / "notes.txt", "");
  EXPECT_THAT(errorOf([&] { open(DataRole::prediction); }),
              HasSubstr("a folder to predict holds either"));
}

TEST_F(DataSourceTest, BytesBecomeFractions) {
  images("|u1", "(1, 1, 2)", std::string("\x00\xff", 2));
  labels({7});
  EXPECT_THAT(first(), ElementsAre(0.0f, 1.0f));
  EXPECT_EQ(open()->label(0), 7);
}

TEST_F(DataSourceTest, FloatsAreTakenAsTheyAre) {
  images("<f4", "(1, 3)", bytesOfValues<float>({-1, 300, 0.5}));
  labels({0});
  EXPECT_THAT(first(), ElementsAre(-1.0f, 300.0f, 0.5f));
  EXPECT_FALSE(open()->format().image);
  images("<f8", "(1, 2)", bytesOfValues<double>({0.1, 2}));
  EXPECT_THAT(first(), ElementsAre(0.1f, 2.0f));
}

TEST_F(DataSourceTest, PixelsAndPlanes) {
  // Two pixels of three channels, then the same by planes.
  images("<f4", "(1, 1, 2, 3)", bytesOfValues<float>({1, 2, 3, 4, 5, 6}));
  labels({0});
  EXPECT_THAT(first(), ElementsAre(1, 4, 2, 5, 3, 6));
  EXPECT_EQ(open()->format().width, 2);
  EXPECT_EQ(open()->format().layout, SampleLayout::pixels);
  images("<f4", "(1, 3, 1, 2)", bytesOfValues<float>({1, 4, 2, 5, 3, 6}));
  EXPECT_THAT(first(), ElementsAre(1, 4, 2, 5, 3, 6));
}

TEST_F(DataSourceTest, ASampleIsAsItsFileHasIt) {
  images("|u1", "(2, 1, 2, 3)", "abcdefghijkl");
  labels({0, 1});
  auto source = open();
  Sample sample;
  source->read(1, sample);
  EXPECT_EQ(sample.format,
            (SampleFormat{3, 1, 2, true, {'u', 1}, SampleLayout::pixels}));
  EXPECT_EQ(std::string(sample.data, sample.format.bytes()), "ghijkl");
  EXPECT_TRUE(sample.storage.empty()); // no copy of a mapped file
}

TEST_F(DataSourceTest, AmbiguousOrderFollowsTheModel) {
  std::string data(3 * 5 * 3, 'x');
  labels({0});
  images("|u1", "(1, 3, 5, 3)", data);
  EXPECT_EQ(open()->format().height, 3); // pixels, as image libraries write
  input.dims = {3, 5, 3};
  EXPECT_EQ(open()->format().height, 5); // the model's very shape
}

TEST_F(DataSourceTest, ChannelsThatDoNotFit) {
  images("|u1", "(1, 4, 4, 2)", std::string(32, 'x'));
  labels({0});
  EXPECT_THAT(error(), HasSubstr("images.npy: has shape 1x4x4x2; expected"));
}

TEST_F(DataSourceTest, LabelsOutOfRangeAreCounted) {
  images("|u1", "(4, 1, 1)", "abcd");
  labels({3, 10, -1, 9});
  EXPECT_THAT(error(), HasSubstr("labels.npy: 2 labels out of range; the first "
                                 "is 10, of image 1; the model has classes 0 "
                                 "to 9"));
}

TEST_F(DataSourceTest, LabelsThatDoNotFit) {
  images("|u1", "(2, 1, 1)", "ab");
  labels({1});
  EXPECT_THAT(error(), HasSubstr("has 1 label, but"));
  writeFile(folder / "labels.npy",
            npyBytes("<f4", "(2,)", bytesOfValues<float>({0, 1})));
  EXPECT_THAT(error(), HasSubstr("labels.npy: holds float32"));
  writeFile(folder / "labels.npy",
            npyBytes("|u1", "(2, 10)", std::string(20, '\0')));
  EXPECT_THAT(error(), HasSubstr("has shape 2x10; expected one class number"));
}

TEST_F(DataSourceTest, ImagesOfAnotherType) {
  images("<i4", "(1, 1, 1)", "abcd");
  labels({0});
  EXPECT_THAT(error(), HasSubstr("images.npy: holds int32; expected uint8"));
}

TEST_F(DataSourceTest, FoldersWithNothingToRead) {
  EXPECT_THAT(error(), HasSubstr("nothing readable here"));
  EXPECT_THAT(error(), HasSubstr("images.npy and labels.npy"));
  EXPECT_THAT(error(), HasSubstr("train-images-idx3-ubyte(.gz)"));
  labels({0});
  EXPECT_THAT(error(), HasSubstr("labels.npy but no images.npy"));
  EXPECT_THAT(errorOf([&] {
                openData(folder / "none", DataRole::training, {input}, 0);
              }),
              HasSubstr("none: no such folder"));
}

TEST_F(DataSourceTest, MnistSetsByRole) {
  for (auto [set, label] : {std::pair("train", '\1'), {"t10k", '\2'}}) {
    writeFile(folder / (std::string(set) + "-images-idx3-ubyte"),
              idxBytes({1, 2, 2}, "abcd"));
    writeFile(folder / (std::string(set) + "-labels-idx1-ubyte"),
              idxBytes({1}, std::string(1, label)));
  }
  EXPECT_EQ(open(DataRole::training)->label(0), 1);
  EXPECT_EQ(open(DataRole::validation)->label(0), 2);
  std::filesystem::remove(folder / "t10k-images-idx3-ubyte");
  EXPECT_EQ(open(DataRole::validation)->label(0), 1);
  std::filesystem::remove(folder / "train-labels-idx1-ubyte");
  EXPECT_THAT(error(), HasSubstr("there is no train-labels-idx1-ubyte"));
  input.loss = "output";
  EXPECT_EQ(open()->size(), 1);
}

TEST_F(DataSourceTest, SyntheticIsTheSameEveryTime) {
  input.dims = {3, 8, 8};
  auto a = makeSynthetic(100, input), b = makeSynthetic(50, input);
  std::vector<float> x = planesOf(*a, 17), y = planesOf(*b, 17);
  EXPECT_EQ(x, y);
  EXPECT_EQ(a->label(17), b->label(17));
  std::vector<int> seen(10);
  for (int i = 0; i < 100; ++i)
    ++seen[a->label(i)];
  EXPECT_THAT(seen, testing::Each(testing::Gt(0)));
  EXPECT_THAT(
      x, testing::Each(testing::AllOf(testing::Ge(0.0f), testing::Le(1.0f))));
}

//===----------------------------------------------------------------------===//
// CIFAR
//===----------------------------------------------------------------------===//

namespace {
class CifarTest : public testing::Test {
protected:
  /// Images whose pixels are all equal; `labels` stand before each.
  void file(const char *name, const std::vector<std::string> &labels,
            char pixel) {
    std::string bytes;
    for (const std::string &label : labels) {
      bytes += label + std::string(1023, pixel) + '\x01';
      bytes += std::string(2047, pixel) + '\x02';
    }
    writeFile(folder / name, bytes);
  }
  std::unique_ptr<DataSource> open(DataRole role = DataRole::training) {
    return openData(folder.path(), role, {input}, 0);
  }

  TempFolder folder;
  ModelInput input{{3, 32, 32}, 10};
};
} // namespace

TEST_F(CifarTest, BatchesOfTrainingAreOneSet) {
  file("data_batch_1.bin", {"\x03", "\x09"}, 'a');
  file("data_batch_2.bin", {"\x05"}, 'b');
  file("test_batch.bin", {"\x07"}, 'c');
  auto source = open();
  ASSERT_EQ(source->size(), 3);
  EXPECT_EQ(source->label(0), 3);
  EXPECT_EQ(source->label(1), 9);
  EXPECT_EQ(source->label(2), 5);
  std::vector<float> planes = planesOf(*source, 2);
  ASSERT_EQ(planes.size(), 3072u);
  EXPECT_FLOAT_EQ(planes[0], 'b' / 255.0f);
  EXPECT_FLOAT_EQ(planes[1023], 1 / 255.0f); // the end of the first plane
  EXPECT_FLOAT_EQ(planes[3071], 2 / 255.0f);
  EXPECT_THAT(source->describe(), HasSubstr("3 images"));
  EXPECT_THAT(source->describe(),
              HasSubstr("data_batch_1.bin..data_batch_2.bin"));
  EXPECT_THAT(source->classNames(), testing::IsEmpty());

  auto validation = open(DataRole::validation);
  ASSERT_EQ(validation->size(), 1);
  EXPECT_EQ(validation->label(0), 7);
  EXPECT_EQ(open(DataRole::prediction)->label(0), -1);
}

TEST_F(CifarTest, ALossOfTheModelsOwnNeedsNoLabels) {
  file("data_batch_1.bin", {"\x63"}, 'a'); // no class of ten
  input.classes = 0;
  input.loss = "output";
  EXPECT_EQ(open()->size(), 1);
}

TEST_F(CifarTest, TheOnlyFilesServeAnyRole) {
  file("data_batch_1.bin", {"\x03", "\x09"}, 'a');
  EXPECT_EQ(open(DataRole::validation)->size(), 2);
}

TEST_F(CifarTest, ClassesHaveTheNamesOfTheList) {
  file("data_batch_1.bin", {"\x03"}, 'a');
  writeFile(folder / "batches.meta.txt", "a\nb\nc\nd\ne\nf\ng\nh\ni\nj\n\n");
  EXPECT_THAT(open()->classNames(), testing::SizeIs(10));
  EXPECT_EQ(open()->classNames()[9], "j");
  input.classes = 12; // a model of other classes
  EXPECT_THAT(open()->classNames(), testing::IsEmpty());
}

TEST_F(CifarTest, TheModelsClassesSayWhichLabelOfAHundred) {
  file("train.bin", {"\x13\x63"}, 'a');
  writeFile(folder / "coarse_label_names.txt", "fish\n");
  input.classes = 100;
  EXPECT_EQ(open()->label(0), 99);
  input.classes = 20;
  EXPECT_EQ(open()->label(0), 19);
}

TEST_F(CifarTest, PartsOfImagesAreNamed) {
  writeFile(folder / "data_batch_1.bin", std::string(5000, 'x'));
  EXPECT_THAT(errorOf([&] { open(); }),
              HasSubstr("data_batch_1.bin: holds 5,000 bytes, which are no "
                        "whole images of CIFAR-10, 3,073 bytes each"));
  file("data_batch_1.bin", {"\x0a"}, 'a');
  EXPECT_THAT(errorOf([&] { open(); }),
              HasSubstr("1 label out of range; the first is 10, of image 0"));
}
