//===- ProfileTest.cpp - Measured times of runtime calls ------------------===//

#include "passes/plan/machine/Machine.h"
#include "passes/plan/price/CostModel.h"

#include "gtest/gtest.h"

using namespace lwcc;
using namespace lwcc::plan;

namespace {

Profile sample() {
  Profile profile;
  profile.target = "cpu";
  profile.device = "two cores";
  profile.precision = "fp32";
  profile.add(2, "conv 8 < 8", {1e-3, 1e-4, 1000, 5});
  profile.add(2, "conv 80 < 80", {8e-3, 1e-3, 10000, 5});
  profile.add(1, "conv 8 < 8", {5e-4, 0, 1000, 7});
  return profile;
}

TEST(Profile, answersWhatWasMeasuredAndInProportionWhatWasNot) {
  Profile profile = sample();
  auto known = profile.find(2, "conv 8 < 8", 1000);
  ASSERT_TRUE(known);
  EXPECT_TRUE(known->measured);
  EXPECT_EQ(known->seconds, 1e-3);
  // By ratio, 2000 is nearer to 1000 and 5000 to 10000.
  auto small = profile.find(2, "conv 16 < 8", 2000);
  ASSERT_TRUE(small);
  EXPECT_FALSE(small->measured);
  EXPECT_DOUBLE_EQ(small->seconds, 2e-3);
  EXPECT_DOUBLE_EQ(small->deviation, 2e-4);
  EXPECT_DOUBLE_EQ(profile.find(2, "conv 40 < 40", 5000)->seconds, 4e-3);
  EXPECT_DOUBLE_EQ(profile.find(2, "conv", 1e5)->seconds, 8e-2);
  EXPECT_DOUBLE_EQ(profile.find(2, "conv", 10)->seconds, 1e-5);
  EXPECT_FALSE(profile.find(2, "matmul 8 < 8", 1000));
  EXPECT_FALSE(profile.find(3, "conv 8 < 8", 1000));
}

TEST(Profile, asksCallsThatReadElsewhereForThoseThatDo) {
  Profile profile;
  profile.add(2, "sum 8 < 8 8@", {1e-3, 0, 96, 5});
  EXPECT_EQ(profile.find(2, "sum 9 < 9 9", 96)->seconds, 1e-3); // none better
  profile.add(2, "sum 80 < 80 80", {1e-3, 0, 960, 5});
  EXPECT_DOUBLE_EQ(profile.find(2, "sum 9 < 9 9", 96)->seconds, 1e-4);
  EXPECT_DOUBLE_EQ(profile.find(2, "sum 70 < 70@ 70", 960)->seconds, 1e-2);
}

TEST(Profile, isReadAsItWasWritten) {
  Profile profile = sample(), read;
  EXPECT_EQ(profileFromJson(profile.toJson(), read),
            std::vector<std::string>());
  EXPECT_EQ(read.toJson(), profile.toJson());
  EXPECT_EQ(read.size(), 3u);
  EXPECT_EQ(read.target, "cpu");
  EXPECT_EQ(read.device, "two cores");
}

TEST(Profile, costsComeFromItForTheRightNumberOfDevices) {
  Profile profile = sample();
  Machine machine = *findMachine("cpu");
  Work work;
  work.flops = 1000;
  work.m = work.n = work.k = 8;
  work.key = "conv 8 < 8";
  machine.gpus = 2;
  EXPECT_EQ(CostModel(machine, "fp32", &profile).seconds(work), 1e-3);
  machine.gpus = 1;
  EXPECT_EQ(CostModel(machine, "fp32", &profile).seconds(work), 5e-4);
  machine.gpus = 3;
  CostModel other(machine, "fp32", &profile);
  EXPECT_TRUE(other.isUnmeasured());
  EXPECT_EQ(other.seconds(work), CostModel(machine, "fp32").seconds(work));
}

} // namespace
