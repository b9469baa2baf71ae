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
