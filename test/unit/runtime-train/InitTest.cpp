//===- InitTest.cpp - Random numbers that never change --------------------===//

#include "runtime/train/state/Init.h"
#include "FakeMachine.h"
#include "FakeProgram.h"
#include "runtime/core/Philox.h"
#include "runtime/train/data/DataOrder.h"
#include "runtime/train/state/GlobalTensors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

using namespace lwcc::rt;
using namespace lwcc::rt::train;
using testing::ElementsAre;

// Random123's kat_vectors for philox4x32-10.
TEST(Philox, KnownAnswers) {
  EXPECT_THAT(philox(0, 0, 0, 0).v,
              ElementsAre(0x6627e8d5u, 0xe169c58du, 0xbc57ac4cu, 0x9b00dbd8u));
  uint64_t ones = ~uint64_t(0);
  EXPECT_THAT(philox(ones, ones, ~0u, ~0u).v,
              ElementsAre(0x408f276du, 0x41c83b0eu, 0xa20bc7c6u, 0x6d5451fdu));
  EXPECT_THAT(
      philox(0x299f31d0a4093822u, 0x85a308d3243f6a88u, 0x13198a2eu, 0x03707344u)
          .v,
      ElementsAre(0xd16cfe09u, 0x94fdccebu, 0x5001e420u, 0x24126ea1u));
}

TEST(Init, UniformIsTheGeneratorsOutput) {
  float values[6];
  drawRandom({Init::uniform, 0, -1, 3}, "w", 42, 0, 6, values);
  for (int i = 0; i < 6; ++i) {
    uint32_t bits = philox(42, i / 4, streamOf("w"), 0).v[i % 4];
    EXPECT_EQ(values[i], -1 + uniformOf(bits) * 4) << i;
  }
}

TEST(Init, NormalIsBoxMuller) {
  float values[4];
  drawRandom({Init::normal, 0, 10, 2}, "w", 42, 4, 4, values);
  Philox4 bits = philox(42, 1, streamOf("w"), 0);
  for (int pair = 0; pair < 2; ++pair) {
    double u1 = (double(bits.v[2 * pair]) + 1) / 4294967296.0;
    double u2 = double(bits.v[2 * pair + 1]) / 4294967296.0;
    double radius = std::sqrt(-2 * std::log(u1));
    EXPECT_FLOAT_EQ(values[2 * pair],
                    10 + 2 * radius * std::cos(2 * M_PI * u2));
    EXPECT_FLOAT_EQ(values[2 * pair + 1],
                    10 + 2 * radius * std::sin(2 * M_PI * u2));
  }
}

/// Noise of a step is drawn one by one and in float.
TEST(Init, NoiseHasTheNumbersOfInitialWeights) {
  constexpr int count = 1000;
  StepScalars s;
  s.seed = 42;
  float normal[count], uniform[count];
  drawRandom({Init::normal, 0, 0, 1}, "w", s.seed, 0, count, normal);
  drawRandom({Init::uniform, 0, 0, 1}, "w", s.seed, 0, count, uniform);
  for (int i = 0; i < count; ++i) {
    EXPECT_NEAR(random_normal(s, i, streamOf("w")), normal[i], 2e-6) << i;
    EXPECT_EQ(random_uniform(s, i, streamOf("w")), uniform[i]) << i;
  }
  StepScalars next = s;
  next.step = 1;
  EXPECT_NE(random_normal(next, 0, 7), random_normal(s, 0, 7));
  // The extremes of the generator's words.
  EXPECT_TRUE(std::isfinite(random_normal(s, ~uint64_t(0), ~0u)));
}

TEST(Init, NormalHasItsMoments) {
  std::vector<float> values(100000);
  drawRandom({Init::normal, 0, 0, 1}, "w", 7, 0, values.size(), values.data());
  double sum = 0, squares = 0;
  for (float value : values) {
    sum += value;
    squares += double(value) * value;
  }
  EXPECT_NEAR(sum / values.size(), 0, 0.01);
  EXPECT_NEAR(squares / values.size(), 1, 0.02);
}

TEST(Init, PiecesAreTheWhole) {
  Init init{Init::normal, 0, 0, 1};
  std::vector<float> whole(103), pieces(103);
  drawRandom(init, "w", 7, 0, 103, whole.data());
  drawRandom(init, "w", 7, 0, 40, pieces.data());
  drawRandom(init, "w", 7, 40, 63, pieces.data() + 40);
  EXPECT_EQ(whole, pieces);
}

TEST(Init, StateFromFileAndFresh) {
  Program program = makeFakeProgram();
  FakeMachine machine(program.machine, false);
  auto read = [&](int index) {
    const GlobalTensor &tensor = program.state[index].tensor;
    std::vector<float> values(elementsOf(tensor));
    readGlobal(machine, tensor, values.data());
    return values;
  };
  auto all = [](const StateTensor &) { return true; };
  initializeState(machine, program, 3, false, all);
  EXPECT_THAT(read(1), ElementsAre(0.0f, 0.25f, 0.5f, 0.75f));
  EXPECT_THAT(read(5), ElementsAre(2.5f, 2.5f, 2.5f));
  std::vector<float> expected(64);
  drawRandom(program.state[0].init, "fc.weight", 3, 0, 64, expected.data());
  EXPECT_EQ(read(0), expected);

  initializeState(machine, program, 3, true, all);
  EXPECT_THAT(read(1), ElementsAre(0, 0, 0, 0));
  EXPECT_THAT(read(5), ElementsAre(2.5f, 2.5f, 2.5f)); // no weight
  drawRandom(program.state[0].fresh, "fc.weight", 3, 0, 64, expected.data());
  EXPECT_EQ(read(0), expected);
}

TEST(DataOrder, IsAPermutationOfSeedAndEpoch) {
  auto order = dataOrder(1000, true, 5, 2);
  EXPECT_EQ(order, dataOrder(1000, true, 5, 2));
  EXPECT_NE(order, dataOrder(1000, true, 5, 3));
  EXPECT_NE(order, dataOrder(1000, true, 6, 2));
  std::sort(order.begin(), order.end());
  EXPECT_EQ(order, dataOrder(1000, false, 5, 2));
}

TEST(DataOrder, IsFisherYates) {
  Philox4 bits = philox(9, 0, streamOf("data order"), 1);
  std::vector<uint32_t> expected{0, 1, 2, 3};
  for (int i = 3, drawn = 0; i > 0; --i, ++drawn)
    std::swap(expected[i], expected[uint64_t(bits.v[drawn]) * (i + 1) >> 32]);
  EXPECT_EQ(dataOrder(4, true, 9, 1), expected);
}

TEST(DataOrder, EveryOrderIsAboutAsLikely) {
  std::vector<int> seen(27);
  for (int epoch = 0; epoch < 6000; ++epoch) {
    auto order = dataOrder(3, true, 1, epoch);
    ++seen[order[0] * 9 + order[1] * 3 + order[2]];
  }
  EXPECT_EQ(std::count_if(seen.begin(), seen.end(),
                          [](int n) { return n > 850 && n < 1150; }),
            6);
}
