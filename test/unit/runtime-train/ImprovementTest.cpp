//===- ImprovementTest.cpp - The best epoch, and the end without one ------===//

#include "runtime/train/loop/Improvement.h"
#include "RunTrainer.h"

#include <gmock/gmock.h>

#include <cmath>

using namespace lwcc::rt;
using namespace lwcc::rt::train;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

namespace {
/// Validations of 100 images, one after another.
struct Followed {
  Options options;
  TrainState state;

  explicit Followed(const std::string &metric, int64_t patience = -1) {
    options.best = metric;
    options.patience = patience;
  }
  /// Whether each is the best so far.
  std::vector<bool> after(const std::vector<Evaluation> &evaluations) {
    Improvement improvement(options, state);
    std::vector<bool> best;
    for (const Evaluation &evaluation : evaluations) {
      ++state.epoch;
      state.step += 10;
      EXPECT_FALSE(improvement.isCounted());
      best.push_back(improvement.add(evaluation));
      EXPECT_TRUE(improvement.isCounted());
    }
    return best;
  }
};

Evaluation loss(double value) {
  Evaluation evaluation;
  evaluation.images = evaluation.labels = 100;
  evaluation.loss = value;
  return evaluation;
}

Evaluation correct(int64_t top1, int64_t top5) {
  Evaluation evaluation = loss(1);
  evaluation.first = double(top1);
  evaluation.second = double(top5);
  return evaluation;
}
} // namespace

TEST(Improvement, LossesFallAndAccuraciesRise) {
  const double nan = std::nan("");
  Followed followed("val_loss");
  EXPECT_THAT(followed.after({loss(nan), loss(0.5), loss(0.5), loss(0.7),
                              loss(0.4), loss(nan), loss(-INFINITY)}),
              ElementsAre(false, true, false, false, true, false, false));
  EXPECT_EQ(followed.state.validations.bestEpoch, 5);
  EXPECT_EQ(followed.state.validations.waited, 2);
  EXPECT_EQ(Improvement(followed.options, followed.state).bestText(),
            "val_loss 0.4000, of epoch 5");
  EXPECT_THAT(Followed("val_top1")
                  .after({correct(10, 50), correct(9, 60), correct(11, 40)}),
              ElementsAre(true, false, true));
  EXPECT_THAT(Followed("val_top5")
                  .after({correct(10, 50), correct(9, 60), correct(11, 40)}),
              ElementsAre(true, true, false));
  // Not one image could be read.
  EXPECT_THAT(Followed("val_loss").after({Evaluation()}), ElementsAre(false));
}

TEST(Improvement, PatienceCountsValidationsInARow) {
  Followed followed("", 2); // by the loss
  Improvement improvement(followed.options, followed.state);
  std::vector<bool> ends;
  for (double value : {3.0, 4.0, 2.0, 2.0, 2.5}) {
    ++followed.state.epoch;
    improvement.add(loss(value));
    ends.push_back(improvement.isExhausted());
  }
  EXPECT_THAT(ends, ElementsAre(false, false, false, false, true));
  EXPECT_EQ(improvement.exhaustedText(),
            "val_loss has not improved in 2 epochs");
  // Another metric begins anew.
  followed.options.best = "val_top1";
  EXPECT_FALSE(Improvement(followed.options, followed.state).isExhausted());
}

TEST(Improvement, PlateausHaveAThreshold) {
  Followed followed("", -1);
  followed.options.sched = "plateau";
  followed.options.plateauPatience = 1;
  std::vector<int64_t> falls;
  Improvement improvement(followed.options, followed.state);
  for (double value : {1.0, 0.99995, 0.99994, 0.9998, 0.9998, 2.0, 2.0, 2.0}) {
    ++followed.state.epoch;
    improvement.add(loss(value));
    falls.push_back(followed.state.validations.falls);
  }
  EXPECT_THAT(falls, ElementsAre(0, 0, 1, 1, 1, 2, 2, 3));
}

namespace {
class BestTest : public testing::Test {
protected:
  BestTest() {
    data("train", 80, 0);
    data("wrong", 20, 1); // the better it learns, the worse they are
  }
  void data(const std::string &name, int count, int shift) {
    std::vector<float> pixels(count * 16);
    std::vector<uint8_t> labels(count);
    for (int i = 0; i < count; ++i) {
      labels[i] = (i + shift) % 4;
      for (int p = 0; p < 16; ++p)
        pixels[i * 16 + p] = (p / 4 == i % 4 ? 1.0f : 0.0f) + 0.01f * (i % 7);
    }
    std::string n = std::to_string(count);
    writeFile(folder / (name + "/images.npy"),
              npyBytes("<f4", "(" + n + ", 4, 4)", bytesOfValues(pixels)));
    writeFile(folder / (name + "/labels.npy"),
              npyBytes("|u1", "(" + n + ",)", bytesOfValues(labels)));
  }
  TrainerRun train(std::vector<std::string> flags) {
    flags.insert(flags.begin(), "--data=" + (folder / "train"));
    return runTrainer(flags);
  }
  std::string dir(const std::string &name = "ckpt") {
    return "--checkpoint-dir=" + (folder / name);
  }
  std::string file(const std::string &name) { return readFile(folder / name); }

  TempFolder folder;
  std::string wrong = "--val-data=" + (folder / "wrong");
};
} // namespace

TEST_F(BestTest, IsKeptBesideTheLatest) {
  TrainerRun run = train({"--epochs=6", dir(), wrong, "--best=val_loss",
                          "--checkpoint-keep=2", "--log=" + (folder / "log")});
  ASSERT_EQ(run.code, 0) << run.err;
  auto losses = column(readLog(folder / "log"), "val_loss");
  ASSERT_EQ(losses.size(), 6u);
  EXPECT_LT(std::stod(losses[0]), std::stod(losses[5]));
  EXPECT_THAT(run.out, HasSubstr("(20 images); the best so far\n"));
  EXPECT_THAT(run.out, HasSubstr(", of epoch 1; its checkpoint is " +
                                 (folder / "ckpt/best")));
  EXPECT_FALSE(std::filesystem::exists(folder / "ckpt/step-000010"));
  EXPECT_THAT(file("ckpt/best/state.json"), HasSubstr("\"step\": 10, "));
  // It can be evaluated, exported and continued.
  run = runTrainer({"evaluate", "--data=" + (folder / "wrong"),
                    "--resume=" + (folder / "ckpt/best"),
                    "--log=" + (folder / "log")});
  EXPECT_EQ(run.code, 0) << run.err;
  EXPECT_EQ(column(readLog(folder / "log"), "val_loss")[0], losses[0]);
  run = train({"--epochs=0", "--resume=" + (folder / "ckpt/best"),
               "--export-onnx=" + (folder / "best.onnx")});
  EXPECT_EQ(run.code, 0) << run.err;
  run = train({"--epochs=1", "--export-onnx=" + (folder / "first.onnx")});
  EXPECT_EQ(file("best.onnx"), file("first.onnx"));
  run = train({"--epochs=7", dir(), wrong, "--resume=auto"});
  EXPECT_THAT(run.out, HasSubstr("resumed     after step 60"));
  EXPECT_THAT(run.out, HasSubstr("of epoch 1; its checkpoint"));
}

TEST_F(BestTest, IsRememberedWhereverATrainingIsResumed) {
  std::vector<std::string> flags{wrong, "--best=val_loss", "--patience=9",
                                 "--lr=0.001", "--seed=3"};
  auto with = [&](std::vector<std::string> more) {
    more.insert(more.end(), flags.begin(), flags.end());
    return more;
  };
  ASSERT_EQ(train(with({dir("whole"), "--epochs=6"})).code, 0);
  // In an epoch, at its end, in the next one.
  ASSERT_EQ(train(with({dir("parts"), "--epochs=6", "--steps=5"})).code, 0);
  for (const char *steps : {"20", "20", "34", "60"}) {
    TrainerRun run = train({dir("parts"), "--resume=auto", "--epochs=6",
                            "--steps=" + std::string(steps), wrong});
    ASSERT_EQ(run.code, 0) << run.err;
  }
  for (const char *name :
       {"step-000060/model.safetensors", "best/model.safetensors"})
    EXPECT_EQ(file("whole/" + std::string(name)),
              file("parts/" + std::string(name)));
  for (const char *name : {"step-000060/state.json", "best/state.json"}) {
    std::string whole = file("whole/" + std::string(name));
    std::string parts = file("parts/" + std::string(name));
    auto history = [](const std::string &text) {
      size_t at = text.find("\"validations\"");
      return at == std::string::npos ? "none"
                                     : text.substr(at, text.find('}', at) - at);
    };
    EXPECT_THAT(history(whole), HasSubstr("\"metric\": \"val_loss\""));
    EXPECT_EQ(history(whole), history(parts)) << name;
  }
}

TEST_F(BestTest, PatienceEndsATraining) {
  std::string out = folder / "out.onnx";
  TrainerRun run = train(
      {"--epochs=9", dir(), wrong, "--patience=2", "--export-onnx=" + out});
  EXPECT_EQ(run.code, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr("ended early after epoch 3: val_loss has not "
                                 "improved in 2 epochs\n"));
  EXPECT_THAT(run.out, HasSubstr("exported " + out + "\n"));
  EXPECT_THAT(run.out, HasSubstr("best: val_loss "));
  EXPECT_FALSE(std::filesystem::exists(folder / "ckpt/best"));
  // Resumed it is as patient as before, unless it is told otherwise.
  for (int i = 0; i < 2; ++i) {
    run = train({dir(), wrong, "--resume=auto"});
    EXPECT_EQ(run.code, 0) << run.err;
    EXPECT_THAT(run.out, HasSubstr("ended early after epoch 3"));
    EXPECT_THAT(run.out, Not(HasSubstr("step 31")));
  }
  run = train({dir(), wrong, "--resume=auto", "--patience=4"});
  EXPECT_THAT(run.out, HasSubstr("ended early after epoch 5: val_loss has not "
                                 "improved in 4 epochs\n"));
}

TEST_F(BestTest, EarlierCheckpointsKnowOfNoBest) {
  ASSERT_EQ(train({"--epochs=2", dir(), wrong}).code, 0);
  EXPECT_THAT(file("ckpt/step-000020/state.json"),
              Not(HasSubstr("validations")));
  TrainerRun run = train({"--epochs=3", dir(), wrong, "--resume=auto",
                          "--best=val_top1", "--patience=5"});
  EXPECT_EQ(run.code, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr("best: val_top1 "));
  EXPECT_TRUE(std::filesystem::exists(folder / "ckpt/best/state.json"));
}

TEST_F(BestTest, WhatCouldNotBeSavedIsNotRemembered) {
  ASSERT_EQ(train({"--epochs=1", dir(), wrong}).code, 0);
  writeFile(folder / "ckpt/best", "no folder");
  TrainerRun run = train({"--epochs=3", dir(), wrong, "--resume=auto",
                          "--best=val_loss", "--checkpoint-every=7"});
  EXPECT_EQ(run.code, 1);
  EXPECT_THAT(run.err, HasSubstr("best: cannot write: Not a directory"));
  std::filesystem::remove(folder / "ckpt/best");
  run = train({"--epochs=3", dir(), wrong, "--resume=auto"});
  EXPECT_EQ(run.code, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr(", of epoch 1; its checkpoint is "));
  EXPECT_TRUE(std::filesystem::exists(folder / "ckpt/best/state.json"));
}

TEST_F(BestTest, Refusals) {
  auto errorFor = [&](const std::vector<std::string> &flags) {
    TrainerRun run = train(flags);
    EXPECT_EQ(run.code, 1);
    return run.err;
  };
  EXPECT_THAT(
      errorFor({"--best=val_loss", "--patience=3", "--checkpoint-every=4"}),
      HasSubstr("error: --checkpoint-every needs --checkpoint-dir\n"
                "--best needs validations: --val-data=DIR, or --val-split=0.1 "
                "for a part of the data\n"
                "--patience needs validations: --val-data=DIR"));
  EXPECT_THAT(errorFor({"--best=val_loss", wrong}),
              HasSubstr("--best needs --checkpoint-dir=DIR, where"));
  EXPECT_THAT(errorFor({"--best=val_top5", wrong, dir()}),
              HasSubstr("--best=val_top5: the model has 4 classes"));
  EXPECT_THAT(errorFor({"--sched=plateau", "--decay-rate=1"}),
              HasSubstr("--sched=plateau: the learning rate falls only with a "
                        "--decay-rate below 1\n"
                        "--sched=plateau needs validations"));
  EXPECT_THAT(
      errorFor({"--sched=multistep", "--warmup-epochs=1", "--warmup-steps=1"}),
      HasSubstr("error: --warmup-epochs and --warmup-steps: a warm-up "
                "rises with each epoch or with each step; give one of "
                "them\n--sched=multistep needs --decay-milestones"));
  EXPECT_THAT(errorFor({"--sched=onecycle", "--warmup-steps=1"}),
              HasSubstr("--sched=onecycle has a warm-up of its own"));
  EXPECT_THAT(errorFor({"--best=loss"}),
              HasSubstr("expected one of val_loss, val_top1, val_top5"));
  EXPECT_FALSE(std::filesystem::exists(folder / "ckpt"));
  writeFile(folder / "ckpt/best/state.json", "{}");
  EXPECT_THAT(errorFor({"--best=val_loss", wrong, dir()}),
              HasSubstr("best: is the best checkpoint of another training"));
}

TEST_F(BestTest, ADamagedHistoryIsNamed) {
  ASSERT_EQ(train({"--epochs=2", dir(), wrong, "--best=val_loss"}).code, 0);
  std::string path = folder / "ckpt/step-000020/state.json";
  std::string text = readFile(path);
  for (const char *key : {"\"metric\": ", "\"best\": ", "\"best_epoch\": ",
                          "\"level\": ", "\"falls\": "}) {
    size_t at = text.find(key) + std::string(key).size();
    std::string bad = text;
    writeFile(path, bad.replace(at, text.find_first_of(",}", at) - at, "[]"));
    TrainerRun run = train({dir(), wrong, "--resume=auto"});
    EXPECT_EQ(run.code, 1);
    EXPECT_THAT(run.err, HasSubstr("state.json: damaged: no ")) << key;
  }
}
