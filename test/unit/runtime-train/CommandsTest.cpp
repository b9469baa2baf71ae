//===- CommandsTest.cpp - evaluate and predict on the fake machine --------===//
//
// Every sample counts once, whatever the batch; mistakes are listed at once.
// That scores are those of the model is tested with real ones (test/e2e).
//
//===----------------------------------------------------------------------===//

#include "FakeMachine.h"
#include "TrainerTest.h"
#include "runtime/train/files/Text.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <csignal>

using namespace lwcc::rt;
using namespace lwcc::rt::train;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::SizeIs;

namespace {
class CommandsTest : public TrainerTest {
protected:
  CommandsTest() {
    images("train", 32, true);
    TrainerRun run =
        runTrainer({"--data", folder / "train", "--epochs=5", "--lr=0.5",
                    "--checkpoint-dir", folder / "checkpoints"});
    EXPECT_EQ(run.code, 0) << run.err;
  }
  void images(const std::string &name, int count, bool labelled) {
    const std::string made = dataFolder(name, count);
    if (!labelled)
      std::filesystem::remove(made + "/labels.npy");
  }
  /// Runs a command with the trained weights, compiled for a batch.
  TrainerRun run(const std::string &command, const std::string &data,
                 std::vector<std::string> more = {}, int64_t batch = 8) {
    std::vector<std::string> arguments = {command, "--data", folder / data,
                                          "--resume", folder / "checkpoints"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return runTrainer(arguments, makeFakeProgram({batch}));
  }
  std::string predicted(const std::string &data, int64_t batch) {
    TrainerRun made =
        run("predict", data, {"--scores", "-o", folder / "out.csv"}, batch);
    EXPECT_EQ(made.code, 0) << made.err;
    return readFile(folder / "out.csv");
  }
  std::vector<std::string> filesNow() {
    std::vector<std::string> names;
    for (auto &entry : std::filesystem::directory_iterator(folder.path()))
      names.push_back(entry.path().filename().string());
    std::sort(names.begin(), names.end());
    return names;
  }
};
} // namespace

TEST_F(CommandsTest, EvaluationCountsEverySampleOnce) {
  // Less than a batch, one, one and a part, several.
  for (int count : {1, 3, 8, 9, 21, 32}) {
    images("val", count, true);
    std::vector<std::string> losses;
    for (int64_t batch : {1, 5, 8, 64}) {
      TrainerRun made =
          run("evaluate", "val", {"--log", folder / "log"}, batch);
      EXPECT_EQ(made.code, 0) << made.err;
      EXPECT_EQ(made.err, "");
      EXPECT_THAT(made.out, HasSubstr("top-1 100.00 %  (" +
                                      plural(count, "image") + ")"));
      auto records = readLog(folder / "log");
      ASSERT_THAT(records, SizeIs(1));
      EXPECT_EQ(column(records, "val_images")[0], std::to_string(count));
      losses.push_back(column(records, "val_loss")[0]);
    }
    for (const std::string &loss : losses)
      EXPECT_NEAR(std::stod(loss), std::stod(losses[0]), 1e-6);
  }
}

TEST_F(CommandsTest, PredictionsDoNotDependOnTheBatch) {
  images("new", 11, false);
  std::string one = predicted("new", 1);
  EXPECT_EQ(std::count(one.begin(), one.end(), '\n'), 12);
  EXPECT_THAT(one,
              testing::StartsWith("image,class,probability,0,1,2,3\n0,0,0."));
  EXPECT_THAT(one, HasSubstr("\n10,2,0."));
  for (int64_t batch : {2, 8, 64})
    EXPECT_EQ(predicted("new", batch), one) << batch;
}

TEST_F(CommandsTest, LabelsAreNotRead) {
  images("new", 5, false);
  images("labelled", 5, true);
  EXPECT_EQ(predicted("labelled", 8), predicted("new", 8));
}

TEST_F(CommandsTest, MetricsOfClasses) {
  images("val", 11, true);
  TrainerRun made = run("evaluate", "val",
                        {"--metrics", folder / "classes.csv", "--log",
                         folder / "log", "--mean=0"});
  EXPECT_EQ(made.code, 0) << made.err;
  EXPECT_THAT(made.out,
              HasSubstr("classes:    precision 100.00 %  recall 100.00 %  F1 "
                        "100.00 %  (means over the classes; " +
                        (folder / "classes.csv") + ")\nevaluation: loss "));
  EXPECT_EQ(readFile(folder / "classes.csv"),
            "class,images,precision,recall,f1,0,1,2,3\n"
            "0,3,1,1,1,3,0,0,0\n1,3,1,1,1,0,3,0,0\n2,3,1,1,1,0,0,3,0\n"
            "3,2,1,1,1,0,0,0,2\n");
  EXPECT_THAT(column(readLog(folder / "log"), "macro_f1"), ElementsAre("1"));
  made = run("evaluate", "val", {"--metrics", folder / "no/such.csv"});
  EXPECT_EQ(made.code, 1);
  EXPECT_THAT(made.err, HasSubstr("no/such.csv: cannot write"));
  EXPECT_THAT(runTrainer({"--data=synthetic", "--metrics=x"}).err,
              HasSubstr("--metrics is a flag of evaluate, which stands before "
                        "it: evaluate --metrics"));
  EXPECT_THAT(runTrainer({"predict", "--metrics=x"}).err,
              HasSubstr("--metrics is no flag of predict, but of evaluate"));
  Program none = makeFakeProgram();
  none.scores = {};
  EXPECT_THAT(runTrainer({"evaluate", "--data", folder / "val", "--metrics",
                          folder / "x.csv"},
                         none)
                  .err,
              HasSubstr("--metrics: this program was compiled without scores"));
}

TEST_F(CommandsTest, WhoseWeights) {
  images("val", 5, true);
  TrainerRun own = runTrainer({"evaluate", "--data", folder / "val"});
  EXPECT_EQ(own.code, 0) << own.err;
  EXPECT_THAT(own.out, HasSubstr("weights     drawn at random, as fake.onnx"));
  TrainerRun trained = run("evaluate", "val");
  EXPECT_THAT(trained.out, HasSubstr("step-000020, after step 20"));

  TrainerRun guess = runTrainer(
      {"predict", "--data", folder / "val", "-o", folder / "no/such/out.csv"});
  EXPECT_EQ(guess.code, 1);
  EXPECT_THAT(guess.err, HasSubstr("nothing was learned yet; --resume="));
  EXPECT_THAT(guess.err, HasSubstr("no/such/out.csv: cannot write"));
  guess =
      runTrainer({"predict", "--data", folder / "none", "-o",
                  folder / "no/such/out.csv", "--resume", folder / "neither"});
  EXPECT_THAT(guess.err, HasSubstr("neither: no such checkpoint\n"));
  EXPECT_THAT(guess.err, HasSubstr("no/such/out.csv: cannot write"));
  EXPECT_THAT(guess.err, HasSubstr("none: no such folder"));
}

TEST_F(CommandsTest, TheOptimizersStateIsNotNeeded) {
  images("val", 5, true);
  std::filesystem::remove(folder / "checkpoints/step-000020/optim.safetensors");
  EXPECT_EQ(run("evaluate", "val").code, 0);
  Program other = makeFakeProgram();
  other.optimizer = "adam";
  TrainerRun made = runTrainer({"evaluate", "--data", folder / "val",
                                "--resume", folder / "checkpoints"},
                               other);
  EXPECT_EQ(made.code, 0) << made.err;
}

TEST_F(CommandsTest, TheTrainingsTransformIsTaken) {
  images("val", 5, true);
  TrainerRun run =
      runTrainer({"--data", folder / "train", "--epochs=5", "--mean=0.5",
                  "--lr=0.5", "--checkpoint-dir", folder / "shifted"});
  EXPECT_EQ(run.code, 0) << run.err;
  auto lossWith = [&](std::vector<std::string> more) {
    more.insert(more.begin(), {"evaluate", "--data", folder / "val", "--resume",
                               folder / "shifted", "--log", folder / "log"});
    TrainerRun made = runTrainer(more);
    EXPECT_EQ(made.code, 0) << made.err;
    return std::pair(column(readLog(folder / "log"), "val_loss"), made.err);
  };
  EXPECT_EQ(lossWith({}).first, lossWith({"--mean=0.5"}).first);
  EXPECT_NE(lossWith({}).first, lossWith({"--mean=0"}).first);
  EXPECT_THAT(lossWith({"--mean=0"}).second, HasSubstr("--mean is 0, was 0.5"));
}

TEST_F(CommandsTest, AllMistakesAtOnce) {
  TrainerRun made = runTrainer({"predict", "--epochs=3", "--score", "--init",
                                "fresh", "--mean=x", "--batch=4", "--epoch"});
  EXPECT_EQ(made.code, 1);
  EXPECT_THAT(made.err,
              HasSubstr("--epochs is no flag of predict, but of a training\n"));
  EXPECT_THAT(made.err,
              HasSubstr("unknown flag --score; did you mean --scores?\n"));
  EXPECT_THAT(made.err,
              HasSubstr("--init is no flag of predict, but of a training\n"));
  EXPECT_THAT(made.err, HasSubstr("--mean=x: expected numbers, separated"));
  EXPECT_THAT(made.err, HasSubstr("--batch: was fixed when the program was"));
  EXPECT_THAT(
      made.err,
      HasSubstr("unknown flag --epoch; --epochs is no flag of predict"));
  EXPECT_THAT(made.err, HasSubstr("--data is missing: "));
  EXPECT_THAT(made.err, HasSubstr("no output given; add -o predictions.csv\n"));
  EXPECT_THAT(made.err, HasSubstr("(predict --help lists all flags)"));

  TrainerRun other = runTrainer({"evaluate", "-o", "x", "--scores"});
  EXPECT_THAT(other.err, HasSubstr("unexpected argument '-o'"));
  EXPECT_THAT(other.err,
              HasSubstr("--scores is no flag of evaluate, but of predict"));
  EXPECT_THAT(other.err, Not(HasSubstr("no output given")));
}

TEST_F(CommandsTest, CommandsThatAreNone) {
  EXPECT_THAT(runTrainer({"evalute", "--data=x"}).err,
              HasSubstr("unexpected argument 'evalute'; did you mean "
                        "evaluate?"));
  EXPECT_THAT(runTrainer({"--data=x", "predict"}).err,
              HasSubstr("unexpected argument 'predict'; it stands before all "
                        "flags"));
  EXPECT_THAT(runTrainer({"--scores"}).err,
              HasSubstr("--scores is a flag of predict"));
}

TEST_F(CommandsTest, HelpListsThem) {
  std::string all = runTrainer({"--help"}).out;
  EXPECT_THAT(all, HasSubstr("\n  evaluate "));
  EXPECT_THAT(all, HasSubstr("\n  predict "));
  EXPECT_THAT(all, Not(HasSubstr("--scores")));
  std::string own = runTrainer({"predict", "--help"}).out;
  EXPECT_THAT(own, HasSubstr("Usage: trainer predict --data=DIR "));
  EXPECT_THAT(own, HasSubstr("--output=FILE"));
  EXPECT_THAT(own, Not(HasSubstr("--epochs")));
}

TEST_F(CommandsTest, BadDataAndCheckpoints) {
  auto error = [&](std::vector<std::string> arguments) {
    TrainerRun made = runTrainer(arguments);
    EXPECT_EQ(made.code, 1);
    return made.err;
  };
  images("val", 5, true);
  std::string val = folder / "val";
  EXPECT_THAT(error({"evaluate", "--data", folder / "none"}),
              HasSubstr("none: no such folder"));
  EXPECT_THAT(error({"evaluate", "--data", val, "--resume=auto"}),
              HasSubstr("--resume=DIR takes the latest checkpoint"));
  EXPECT_THAT(error({"evaluate", "--data", val, "--resume", val}),
              HasSubstr("val: not a checkpoint"));
  writeFile(folder / "flat/images.npy",
            npyBytes("<f4", "(1, 5)", bytesOfValues<float>({1, 2, 3, 4, 5})));
  EXPECT_THAT(error({"predict", "--data", folder / "flat", "--resume",
                     folder / "checkpoints", "-o", folder / "out.csv"}),
              HasSubstr("does not fit the model's input"));
  Program none = makeFakeProgram();
  none.scores = {};
  EXPECT_THAT(runTrainer({"predict", "--data", val, "--resume",
                          folder / "checkpoints", "-o", folder / "out.csv"},
                         none)
                  .err,
              HasSubstr("was compiled without scores"));
  EXPECT_THAT(filesNow(), ElementsAre("checkpoints", "flat", "train", "val"));
}

TEST_F(CommandsTest, AStopLeavesNothing) {
  images("new", 30, false);
  ::signal(SIGTERM, SIG_DFL);
  Program program = makeFakeProgram(), stopping = program;
  stopping.evaluate = [=](Machine &machine) {
    program.evaluate(machine);
    static_cast<FakeMachine &>(machine).append(
        {"", "", "raise", {}, [] { std::raise(SIGTERM); }});
  };
  TrainerRun made =
      runTrainer({"predict", "--data", folder / "new", "--resume",
                  folder / "checkpoints", "-o", folder / "out.csv"},
                 stopping);
  EXPECT_EQ(made.code, 128 + SIGTERM);
  EXPECT_THAT(made.err, HasSubstr("stopped by SIGTERM: nothing was written"));
  EXPECT_THAT(filesNow(), ElementsAre("checkpoints", "new", "train"));
}

TEST_F(CommandsTest, CheckpointsKnowTheNamesOfClasses) {
  // The smallest bitmap: one pixel of 24 bits.
  std::string bitmap("BM\x3a\0\0\0\0\0\0\0\x36\0\0\0\x28\0\0\0\x01\0\0\0\x01\0"
                     "\0\0\x01\0\x18\0\0\0\0\0\x04\0\0\0\0\0\0\0\0\0\0\0\0\0\0"
                     "\0\0\0\0\0\x80\x80\x80\0",
                     58);
  for (const char *name : {"cat", "dog, or so", "fox"})
    for (int i = 0; i < 3; ++i)
      writeFile(folder / ("photos/" + std::string(name) + "/" +
                          std::to_string(i) + ".bmp"),
                bitmap);
  TrainerRun trained =
      runTrainer({"--data", folder / "photos", "--checkpoint-dir",
                  folder / "named", "--lr=0.5"});
  ASSERT_EQ(trained.code, 0) << trained.err;
  EXPECT_THAT(trained.out, Not(HasSubstr("the classes are not those")));
  // A validation set that lacks a class keeps the training's numbers.
  std::filesystem::remove_all(folder / "photos/cat");
  TrainerRun made = runTrainer(
      {"evaluate", "--data", folder / "photos", "--resume", folder / "named"});
  EXPECT_EQ(made.code, 0) << made.err;
  EXPECT_THAT(made.out, HasSubstr("6 pictures of 3 classes"));
  writeFile(folder / "photos/broken.png", "no picture");
  made = runTrainer({"predict", "--data", folder / "photos", "--resume",
                     folder / "named", "--scores", "-o", folder / "out.csv"});
  EXPECT_EQ(made.code, 0) << made.err;
  EXPECT_THAT(made.out, HasSubstr("skipped "));
  EXPECT_THAT(made.out, HasSubstr("predicted 6 images to "));
  std::string csv = readFile(folder / "out.csv");
  EXPECT_THAT(csv, testing::StartsWith("image,class,probability,cat,\"dog, or "
                                       "so\",fox,3\nbroken.png,,,,,,\n\"dog, "
                                       "or so/0.bmp\","));
  std::filesystem::remove(folder / "photos/broken.png");
  writeFile(folder / "photos/wolf/0.bmp", bitmap);
  made = runTrainer(
      {"evaluate", "--data", folder / "photos", "--resume", folder / "named"});
  EXPECT_EQ(made.code, 1);
  EXPECT_THAT(made.err, HasSubstr("1 class that the training lacks (wolf)"));
  made = runTrainer(
      {"--data", folder / "photos", "--resume", folder / "named", "--epochs=0"},
      makeFakeProgram({2}));
  EXPECT_EQ(made.code, 0) << made.err;
  EXPECT_THAT(made.out, HasSubstr("note: the classes are not those of the"));
}
