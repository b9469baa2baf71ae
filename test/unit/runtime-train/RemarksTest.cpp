//===- RemarksTest.cpp - Data that looks wrong ----------------------------===//

#include "runtime/train/report/Remarks.h"
#include "RunTrainer.h"

#include <gmock/gmock.h>

using namespace lwcc::rt;
using namespace lwcc::rt::train;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

namespace {
/// Images of two pixels.
class Source : public DataSource {
public:
  Source(std::vector<int32_t> labels, std::vector<float> pixels = {0, 1})
      : labels(std::move(labels)), pixels(std::move(pixels)) {}
  int64_t size() const override { return labels.size(); }
  SampleFormat format() const override { return {1, 1, 2, true}; }
  int32_t label(int64_t index) const override { return labels[index]; }
  void read(int64_t, Sample &sample) const override {
    sample.format = format();
    sample.data = reinterpret_cast<const char *>(pixels.data());
  }
  std::string describe() const override { return ""; }

private:
  std::vector<int32_t> labels;
  std::vector<float> pixels;
};
} // namespace

static ModelInput classes(int64_t count) { return {{1, 1, 2}, count}; }

TEST(Remarks, NothingToSay) {
  EXPECT_THAT(remarksOn(Source({0, 1, 2}), "dir", {classes(3)}, false),
              IsEmpty());
  EXPECT_THAT(remarksOn(Source({0, 7}), "dir", {classes(20)}, false),
              IsEmpty());
}

TEST(Remarks, OneClass) {
  EXPECT_THAT(remarksOn(Source({3, 3, 3}), "dir", {classes(1000)}, false),
              ElementsAre(HasSubstr("dir: all of 3 labels are 3: ")));
  EXPECT_THAT(remarksOn(Source({0}), "dir", {classes(1)}, false),
              ElementsAre(HasSubstr("all of 1 label are 0")));
}

TEST(Remarks, MoreColumnsThanClassesByFar) {
  EXPECT_THAT(remarksOn(Source({0, 9}), "dir", {classes(784)}, false),
              ElementsAre(HasSubstr("dir: the loss is over 784 columns, but "
                                    "the labels have only 2 classes (0..9)")));
}

TEST(Remarks, ValuesThatNobodyHasScaled) {
  EXPECT_THAT(remarksOn(Source({0, 1}, {0, 255}), "dir", {classes(2)}, false),
              ElementsAre(HasSubstr("--mean=128 --std=128")));
  EXPECT_THAT(remarksOn(Source({0, 1}, {0, 255}), "dir", {classes(2)}, true),
              IsEmpty());
  EXPECT_THAT(remarksOn(Source({0, 1}, {-3, 3}), "dir", {classes(2)}, false),
              IsEmpty());
  EXPECT_THAT(remarksOn(Source({0, 1}, {0, 1000}), "dir", {classes(2)}, false),
              IsEmpty());
}

TEST(Remarks, AreWarningsOfTheTrainer) {
  TempFolder folder;
  writeFile(folder / "images.npy",
            npyBytes("<f4", "(8, 4, 4)",
                     bytesOfValues(std::vector<float>(8 * 16, 7.0f))));
  writeFile(folder / "labels.npy", npyBytes("|u1", "(8,)", std::string(8, 1)));
  TrainerRun run = runTrainer({"--data=" + folder.path(), "--steps=1"});
  EXPECT_EQ(run.code, 0);
  EXPECT_THAT(run.err, HasSubstr("warning: " + folder.path() +
                                 ": all of 8 labels are 1"));
}
