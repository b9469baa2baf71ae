//===- SplitTest.cpp - A part of the data that is held back ---------------===//

#include "runtime/train/data/Split.h"
#include "RunTrainer.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <set>

using namespace lwcc::rt;
using namespace lwcc::rt::train;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

static DataSplit split(int64_t images, double part, uint64_t seed) {
  return splitData(makeSynthetic(images, {{1, 4, 4}, 4, {}}), part, seed);
}

static std::vector<std::string> namesOf(const DataSource &source) {
  std::vector<std::string> names;
  for (int64_t i = 0; i < source.size(); ++i)
    names.push_back(source.nameOf(i));
  return names;
}

TEST(Split, EveryImageIsInOnePart) {
  DataSplit parts = split(100, 0.13, 7);
  EXPECT_EQ(parts.validation->size(), 13);
  EXPECT_EQ(parts.training->size(), 87);
  auto whole = makeSynthetic(100, {{1, 4, 4}, 4, {}});
  std::set<int64_t> seen;
  for (const DataSource *part : {&*parts.training, &*parts.validation}) {
    int64_t before = -1;
    for (int64_t i = 0; i < part->size(); ++i) {
      const int64_t image = std::stoll(part->nameOf(i));
      EXPECT_GT(image, before); // in the source's order
      before = image;
      EXPECT_TRUE(seen.insert(image).second);
      EXPECT_EQ(part->label(i), whole->label(image));
      Sample mine, other;
      part->read(i, mine);
      whole->read(image, other);
      EXPECT_EQ(mine.storage, other.storage);
    }
  }
  EXPECT_EQ(seen.size(), 100u);
  EXPECT_THAT(parts.validation->describe(),
              HasSubstr("13 of 100 synthetic images"));
}

TEST(Split, IsDrawnByTheSeed) {
  auto held = [](uint64_t seed) {
    return namesOf(*split(1000, 0.1, seed).validation);
  };
  EXPECT_EQ(held(3), held(3));
  EXPECT_NE(held(3), held(4));
  // The numbers are promised: a resumed training must not learn what an earlier
  // version of the program held back.
  EXPECT_THAT(namesOf(*split(10, 0.3, 0).validation),
              ElementsAre("4", "6", "7"));
}

TEST(Split, Sizes) {
  EXPECT_EQ(heldBack(1000, 0.1), 100);
  EXPECT_EQ(heldBack(15, 0.1), 2);
  EXPECT_EQ(heldBack(14, 0.1), 1);
  EXPECT_EQ(heldBack(3, 0.01), 1);
}

TEST(Split, TrainingsDoNotSeeWhatIsHeldBack) {
  TempFolder folder;
  std::string ckpt = "--checkpoint-dir=" + (folder / "ckpt");
  TrainerRun run = runTrainer({"--data=synthetic", "--val-split=0.1",
                               "--epochs=2", ckpt, "--workers=3"});
  ASSERT_EQ(run.code, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr("  data        922 of 1,024 synthetic"));
  EXPECT_THAT(run.out, HasSubstr("  validation  102 of 1,024 synthetic"));
  EXPECT_THAT(run.out, HasSubstr("2 epochs of 115 steps"));
  EXPECT_THAT(run.out, HasSubstr("%  (102 images)"));
  // The part is the checkpoint's, unless another is given.
  run = runTrainer({"--data=synthetic", "--resume=auto", "--epochs=3", ckpt});
  EXPECT_THAT(run.out, HasSubstr("922 of 1,024"));
  EXPECT_THAT(run.out, Not(HasSubstr("their order differs")));
  run = runTrainer({"--data=synthetic", "--resume=auto", "--epochs=3", ckpt,
                    "--val-data=synthetic"});
  EXPECT_EQ(run.code, 1);
  EXPECT_THAT(run.err, HasSubstr("add --val-split=0 to train on it, too"));
  run = runTrainer({"--data=synthetic", "--resume=auto", "--epochs=4", ckpt,
                    "--val-data=synthetic", "--val-split=0"});
  EXPECT_EQ(run.code, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr("--val-split is 0, was 0.1"));
  EXPECT_THAT(run.out, HasSubstr("their order differs"));
  EXPECT_THAT(run.out, HasSubstr("  data        1,024 synthetic"));
}

TEST(Split, Refusals) {
  auto errorFor = [](std::vector<std::string> flags) {
    flags.insert(flags.begin(), "--data=synthetic");
    TrainerRun run = runTrainer(flags, makeFakeProgram({1000}));
    EXPECT_EQ(run.code, 1);
    return run.err;
  };
  EXPECT_THAT(errorFor({"--val-split=0.1", "--val-data=synthetic"}),
              HasSubstr("--val-split and --val-data: a training validates on"));
  EXPECT_THAT(errorFor({"--val-split=1"}),
              HasSubstr("--val-split=1: expected a number from 0 to 0.9"));
  EXPECT_THAT(errorFor({"--val-split=0.9"}),
              HasSubstr("synthetic: holds 8,000 images; without the 7,200 of "
                        "--val-split they are fewer than a batch of 1,000"));
}
