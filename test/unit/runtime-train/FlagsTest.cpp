//===- FlagsTest.cpp - The command line -----------------------------------===//

#include "runtime/train/cli/Flags.h"
#include "TestFiles.h"
#include "runtime/train/cli/FlagTable.h"
#include "runtime/train/files/Text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

using namespace lwcc::rt;
using namespace lwcc::rt::train;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

static std::string errorFor(const std::vector<std::string> &arguments) {
  return errorOf([&] { parseFlags(arguments); });
}

TEST(Flags, BothSpellings) {
  Flags flags = parseFlags({"--lr=0.5", "--epochs", "3", "--nesterov", "--mean",
                            "0.1,-2", "--no-shuffle=false", "--seed",
                            "18446744073709551615", "--data=a=b"});
  const Options &options = flags.options;
  EXPECT_EQ(options.lr, 0.5);
  EXPECT_EQ(options.epochs, 3);
  EXPECT_TRUE(options.nesterov);
  EXPECT_FALSE(options.noShuffle);
  EXPECT_THAT(options.mean, ElementsAre(0.1, -2));
  EXPECT_EQ(options.seed, ~uint64_t(0));
  EXPECT_EQ(options.data, "a=b");
  EXPECT_TRUE(flags.given.count("lr"));
  EXPECT_FALSE(flags.given.count("momentum"));
}

TEST(Flags, SpellingsOfTimmAreFlags) {
  Flags flags = parseFlags({"--data-dir=here", "--reprob", "0.25"});
  EXPECT_EQ(flags.options.data, "here");
  EXPECT_EQ(flags.options.erase, 0.25);
  EXPECT_TRUE(flags.given.count("erase"));
  EXPECT_THAT(errorFor({"--dr=slow"}),
              HasSubstr("--decay-rate=slow: expected"));
  for (const Spelling &spelling : spellingTable()) {
    int known = 0;
    for (const FlagSection &section : flagTable())
      for (const Flag &flag : section.flags) {
        known += flag.name == std::string(spelling.flag);
        EXPECT_STRNE(flag.name, spelling.name);
      }
    EXPECT_EQ(known, 1) << spelling.flag;
  }
}

TEST(Flags, NamesTheNearest) {
  EXPECT_THAT(errorFor({"--epoch=3"}), HasSubstr("did you mean --epochs?"));
  EXPECT_THAT(errorFor({"--wieght-decay", "3"}),
              HasSubstr("unknown flag --wieght-decay; did you mean "
                        "--weight-decay?"));
  EXPECT_THAT(errorFor({"--zzzzzz"}), Not(HasSubstr("did you mean")));
}

TEST(Flags, ListsAllMistakes) {
  std::string error =
      errorFor({"--lr=fast", "train", "--sched=cos", "--workers=-1", "--epochs",
                "--bogus", "--std=0", "--seed=-1", "--nesterov=1"});
  EXPECT_THAT(error, HasSubstr("--lr=fast: expected a number of at least 0"));
  EXPECT_THAT(error, HasSubstr("unexpected argument 'train'"));
  EXPECT_THAT(error, HasSubstr("--sched=cos: expected one of constant, step, "
                               "multistep, cosine, onecycle, plateau"));
  EXPECT_THAT(error, HasSubstr("--workers=-1: expected a whole number from 0"));
  EXPECT_THAT(error, HasSubstr("--epochs needs a value"));
  EXPECT_THAT(error, HasSubstr("unknown flag --bogus"));
  EXPECT_THAT(error, HasSubstr("--std=0: expected numbers above 0"));
  EXPECT_THAT(error, HasSubstr("--seed=-1: expected a whole number"));
  EXPECT_THAT(error, HasSubstr("--nesterov=1: expected true or false"));
}

TEST(Flags, RefusesOddNumbers) {
  for (const char *text : {"", "1e999", "nan", "inf", "1,2", " 1", "0x10"})
    EXPECT_NE(errorFor({std::string("--lr=") + text}), "") << text;
}

TEST(Flags, NumbersThatCannotBeCounted) {
  for (const char *flag : {"--epochs", "--steps", "--benchmark"})
    EXPECT_THAT(errorFor({std::string(flag) + "=9223372036854775807"}),
                HasSubstr("expected a whole number from 0 to "));
}

TEST(Flags, FlagsOfOthersAreAnswered) {
  EXPECT_EQ(errorOf([] {
              parseFlags({"--optimizer=adam", "--lr=x", "--batch", "64"},
                         optimizers().front(),
                         {{"optimizer", "was chosen"}, {"batch", "was fixed"}});
            }),
            "--optimizer: was chosen\n"
            "--lr=x: expected a number of at least 0\n"
            "--batch: was fixed\n"
            "(--help lists all flags)");
}

TEST(Flags, EachOptimizerHasItsOwn) {
  for (const Optimizer &optimizer : optimizers()) {
    std::string help = flagsHelp(optimizer);
    EXPECT_THAT(help, HasSubstr("Optimizer (" + optimizer.title + "):"));
    for (const char *flag : {"momentum", "nesterov", "betas", "eps"}) {
      bool has = std::find(optimizer.flags.begin(), optimizer.flags.end(),
                           flag) != optimizer.flags.end();
      std::string name = std::string("--") + flag;
      EXPECT_EQ(help.find("  " + name) != std::string::npos, has)
          << optimizer.name << name;
      std::string error =
          errorOf([&] { parseFlags({name + "=x"}, optimizer); });
      EXPECT_EQ(error.find(optimizer.title +
                           ", which this program was compiled "
                           "for, has no such flag; it has --" +
                           optimizer.flags.front()) == std::string::npos,
                has)
          << error;
    }
  }
}

TEST(Flags, DefaultsAreTheOptimizers) {
  const Optimizer &adamw = optimizerOf("adamw");
  Flags flags = parseFlags({}, adamw);
  EXPECT_EQ(flags.options.lr, 1e-3);
  EXPECT_EQ(flags.options.weightDecay, 1e-2);
  EXPECT_THAT(rememberedFlags(flags.options, adamw),
              testing::Contains(testing::Pair("betas", "0.9,0.999")));
  EXPECT_THAT(errorOf([] { optimizerOf("newton"); }), HasSubstr("by newton"));
}

TEST(Flags, BetasAreTwoBelowOne) {
  const Optimizer &adam = optimizerOf("adam");
  for (const char *betas : {"0.9", "0.9,1", "0.1,0.2,0.3"})
    EXPECT_THAT(
        errorOf([&] {
          checkHyperParameters(
              adam,
              parseFlags({std::string("--betas=") + betas}, adam).options);
        }),
        HasSubstr("--betas: expected two numbers"))
        << betas;
  checkHyperParameters(optimizerOf("sgd"), Options());
}

// What PyTorch computes once per step, in double precision.
TEST(Flags, AdamsNumbersAreCorrectedByTheStep) {
  const Optimizer &adam = optimizerOf("adam");
  StepScalars s = scalarsOf(adam, adam.defaults, 0.5, 2);
  EXPECT_EQ(s.step, 2u);
  EXPECT_EQ(s.lr, 0.5f);
  EXPECT_EQ(s.one_minus_beta2, 0.001f);
  EXPECT_EQ(s.bias1, static_cast<float>(1 - 0.9 * 0.9));
  EXPECT_EQ(s.root_bias2, static_cast<float>(std::sqrt(1 - 0.999 * 0.999)));
  EXPECT_EQ(s.weight_decay, 0);
  StepScalars w =
      scalarsOf(optimizerOf("adamw"), optimizerOf("adamw").defaults, 0.5, 2);
  EXPECT_EQ(w.weight_decay, 0);
  EXPECT_EQ(w.decoupled_decay, 0.01f);
}

TEST(Flags, HelpNamesAllFlagsAndDefaults) {
  std::string help = flagsHelp();
  EXPECT_THAT(help, HasSubstr("--lr=X"));
  EXPECT_THAT(help, HasSubstr("(default: 0.01)"));
  EXPECT_THAT(help, HasSubstr("--export-onnx=FILE"));
  for (size_t at = 0, end = 0; end < help.size(); at = end + 1) {
    end = std::min(help.find('\n', at), help.size());
    EXPECT_LE(end - at, 80u) << help.substr(at, end - at);
  }
}

TEST(Flags, CheckpointsRememberTheTraining) {
  Flags before = parseFlags({"--lr=0.1", "--seed=7", "--mean=0.5,0.25",
                             "--epochs=9", "--data=x", "--threads=3"});
  auto remembered = rememberedFlags(before.options);
  Flags after = parseFlags({"--lr=0.2", "--data=y"});
  auto differences = recallFlags(after, remembered, "ckpt");
  EXPECT_THAT(differences, ElementsAre("--lr is 0.2, was 0.1"));
  EXPECT_EQ(after.options.lr, 0.2);
  EXPECT_EQ(after.options.seed, 7u);
  EXPECT_EQ(after.options.epochs, 9);
  EXPECT_THAT(after.options.mean, ElementsAre(0.5, 0.25));
  EXPECT_EQ(after.options.data, "y");
  EXPECT_EQ(after.options.threads, 0);
  EXPECT_THAT(errorOf([&] { recallFlags(after, {{"colour", "red"}}, "ckpt"); }),
              HasSubstr("ckpt: knows a flag --colour"));
  EXPECT_THAT(errorOf([&] { recallFlags(after, {{"seed", "x"}}, "ckpt"); }),
              HasSubstr("ckpt: --seed=x: expected a whole number"));
}

TEST(Flags, ThreadsAreRememberedForTheirBits) {
  auto recalled = [](const std::vector<std::string> &given) {
    Flags after = parseFlags({"--threads=2"});
    after.given.clear();
    recallFlags(after, rememberedFlags(parseFlags(given).options), "ckpt");
    return after.options.threads;
  };
  EXPECT_EQ(recalled({"--threads=5", "--deterministic"}), 5);
  EXPECT_EQ(recalled({"--threads=5"}), 2);
}

TEST(Flags, AnewGivenEndReplacesTheRememberedOne) {
  Flags before = parseFlags({"--steps=10"});
  Flags after = parseFlags({"--epochs=4"});
  recallFlags(after, rememberedFlags(before.options), "ckpt");
  EXPECT_EQ(after.options.epochs, 4);
  EXPECT_EQ(after.options.steps, -1);
}

TEST(Text, Spellings) {
  EXPECT_EQ(countText(61100840), "61,100,840");
  EXPECT_EQ(countText(-1000), "-1,000");
  EXPECT_EQ(countText(-100), "-100");
  EXPECT_EQ(bytesText(1023), "1023 bytes");
  EXPECT_EQ(bytesText(244403360), "233.1 MiB");
  EXPECT_EQ(durationText(65), "1:05");
  EXPECT_EQ(durationText(7384), "2:03:04");
  EXPECT_EQ(dimsText({}), "scalar");
  EXPECT_EQ(plural(1, "image"), "1 image");
}
