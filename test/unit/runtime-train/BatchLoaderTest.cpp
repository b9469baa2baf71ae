//===- BatchLoaderTest.cpp - Batches in order, by any number of workers ---===//

#include "runtime/train/data/BatchLoader.h"
#include "FakeMachine.h"
#include "FakeProgram.h"
#include "TestFiles.h"
#include "runtime/train/data/DataOrder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace lwcc::rt;
using namespace lwcc::rt::train;
using testing::Each;

namespace {
/// 2x2 images whose pixels are all their number.
class Numbered : public DataSource {
public:
  explicit Numbered(int64_t images, int64_t broken = -1)
      : images(images), broken(broken) {}
  int64_t size() const override { return images; }
  SampleFormat format() const override { return {1, 2, 2, true}; }
  int32_t label(int64_t index) const override {
    return static_cast<int32_t>(index % 4);
  }
  void read(int64_t index, Sample &sample) const override {
    if (index == broken)
      throw Error("image cannot be read");
    std::vector<float> pixels(4, static_cast<float>(index));
    const char *bytes = reinterpret_cast<const char *>(pixels.data());
    sample.format = format();
    sample.storage.assign(bytes, bytes + sample.format.bytes());
    sample.data = sample.storage.data();
  }
  std::string describe() const override { return "numbers"; }

private:
  int64_t images, broken;
};

class BatchLoaderTest : public testing::Test {
protected:
  BatchLoaderTest()
      : program(makeFakeProgram({4, 4, 2, 2})),
        machine(program.machine, false) {}
  DataSet data(int64_t images, int64_t broken = -1) {
    return {std::make_unique<Numbered>(images, broken),
            {Transform({1, 2, 2, true}, {1, 2, 2}, {}, {})}};
  }
  static std::vector<float> imageOf(const Batch &batch, int64_t number) {
    std::vector<float> image(4);
    batch.inputs[0].get(number, image.data());
    return image;
  }
  static int32_t labelOf(const Batch &batch, int64_t number) {
    int32_t label = 99;
    batch.labels.get(number, &label);
    return label;
  }
  Program program;
  FakeMachine machine;
};
} // namespace

TEST_F(BatchLoaderTest, FollowsTheOrderOfTheEpochs) {
  DataSet set = data(18);
  for (int workers : {1, 3}) {
    BatchLoader::Settings settings;
    settings.shuffle = true;
    settings.seed = 11;
    settings.workers = workers;
    settings.slots = 2 + workers;
    settings.firstEpoch = 1;
    settings.firstBatch = 2;
    BatchLoader loader(machine, program, set, settings);
    ASSERT_EQ(loader.batchesPerEpoch(), 4); // the last two images are left out
    for (int64_t number = 4 + 2; number < 20; ++number) {
      Batch &batch = loader.next();
      EXPECT_EQ(batch.epoch, number / 4);
      EXPECT_EQ(batch.index, number % 4);
      auto order = dataOrder(18, true, 11, number / 4);
      for (int i = 0; i < 4; ++i) {
        uint32_t image = order[number % 4 * 4 + i];
        EXPECT_EQ(batch.images[i], image);
        EXPECT_THAT(imageOf(batch, i), Each(float(image)));
        EXPECT_EQ(labelOf(batch, i), int32_t(image % 4));
      }
      loader.release(batch);
    }
  }
}

TEST_F(BatchLoaderTest, EvaluationFillsTheLastBatchUp) {
  DataSet set = data(6);
  BatchLoader::Settings settings;
  settings.evaluation = true;
  BatchLoader loader(machine, program, set, settings);
  ASSERT_EQ(loader.batchesPerEpoch(), 2);
  loader.release(loader.next());
  Batch &batch = loader.next();
  EXPECT_EQ(batch.images, (std::vector<uint32_t>{4, 5}));
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ(labelOf(batch, i), i < 2 ? i : -1);
    EXPECT_THAT(imageOf(batch, i), Each(i < 2 ? 4.0f + i : 0.0f));
  }
  loader.release(batch);
  EXPECT_EQ(loader.next().index, 0); // ready for the next evaluation
}

TEST_F(BatchLoaderTest, AReadersErrorReachesTheTrainer) {
  DataSet set = data(16, /*broken=*/9);
  BatchLoader loader(machine, program, set, {});
  loader.release(loader.next()); // what comes before it is delivered
  loader.release(loader.next());
  EXPECT_EQ(errorOf([&] { loader.next(); }), "image cannot be read");
}

namespace {
/// Of a program that learns soft labels.
class BatchLoaderMixing : public BatchLoaderTest {
protected:
  BatchLoaderMixing() {
    TensorRef ref = program.labels.shards.front().ref;
    ref.type = DType::f32;
    ref.dims = {4, 4};
    program.shares = {"shares", {4, 4}, {{ref, {0, 0}}}};
  }
  static std::vector<float> sharesOf(const Batch &batch, int64_t number) {
    std::vector<float> shares(4);
    batch.shares->get(number, shares.data());
    return shares;
  }
};
} // namespace

TEST_F(BatchLoaderMixing, EachSampleIsMixedWithTheOneAheadOfIt) {
  DataSet set = data(7);
  for (int workers : {1, 3}) {
    BatchLoader::Settings settings;
    settings.keepLast = true;
    settings.seed = 11;
    settings.workers = workers;
    settings.mixing = {0.6, 0};
    BatchLoader loader(machine, program, set, settings);
    for (int64_t number = 0; number < 12; ++number) {
      Batch &batch = loader.next();
      const Mixture mixture =
          settings.mixing.draw(11, number / 2, number % 2, {1, 2, 2});
      const int64_t count = number % 2 ? 3 : 4, first = number % 2 * 4;
      EXPECT_EQ(batch.labelCount, count);
      for (int64_t i = 0; i < count; ++i) {
        const int64_t own = first + i, other = first + (i + count - 1) % count;
        const auto share = static_cast<float>(mixture.share);
        EXPECT_NEAR(imageOf(batch, i)[3],
                    float(own) * share + float(other) * (1 - share), 1e-5);
        std::vector<float> wanted(4);
        wanted[own % 4] += share;
        wanted[other % 4] += static_cast<float>(1 - mixture.share);
        EXPECT_THAT(sharesOf(batch, i), testing::ElementsAreArray(wanted));
        EXPECT_EQ(labelOf(batch, i), (share > 0.5f ? own : other) % 4);
      }
      // What fills the batch up counts nowhere.
      if (count < 4) {
        EXPECT_EQ(labelOf(batch, 3), -1);
        EXPECT_THAT(sharesOf(batch, 3), Each(testing::IsNan()));
      }
      loader.release(batch);
    }
  }
}

TEST_F(BatchLoaderMixing, WithoutMixingASampleIsOfItsClass) {
  DataSet set = data(4);
  BatchLoader loader(machine, program, set, {});
  Batch &batch = loader.next();
  for (int64_t i = 0; i < 4; ++i) {
    std::vector<float> wanted(4);
    wanted[i] = 1;
    EXPECT_THAT(sharesOf(batch, i), testing::ElementsAreArray(wanted));
  }
  loader.release(batch);
}

TEST_F(BatchLoaderMixing, AReadersErrorReachesTheTrainer) {
  DataSet set = data(16, /*broken=*/9);
  BatchLoader::Settings settings;
  settings.mixing = {1, 0};
  BatchLoader loader(machine, program, set, settings);
  loader.release(loader.next());
  loader.release(loader.next());
  EXPECT_EQ(errorOf([&] { loader.next(); }), "image cannot be read");
}
