//===- TrainerTest.cpp - Whole trainings on the fake machine --------------===//
//
// Those that come to their end, or are refused; those that are stopped are in
// StoppedTrainerTest.cpp.
//
//===----------------------------------------------------------------------===//

#include "TrainerTest.h"
#include "runtime/core/Scalars.h"

#include <gmock/gmock.h>

#include <cstring>

using namespace lwcc::rt;
using namespace lwcc::rt::train;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::SizeIs;

TEST_F(TrainerTest, LearnsValidatesAndLogs) {
  TrainerRun run =
      runTrainer({"--data", dataFolder("train", 83), "--val-data",
                  dataFolder("val", 13), "--epochs=4", "--lr=0.5", logFlag()});
  EXPECT_EQ(run.code, 0) << run.err;
  EXPECT_EQ(run.err, "");
  EXPECT_THAT(run.out, HasSubstr("83 images, 4x4 grey, float32"));
  EXPECT_THAT(run.out, HasSubstr("validation: loss "));
  EXPECT_THAT(run.out, HasSubstr("top-1 100.00 %  (13 images)"));
  EXPECT_THAT(run.out, Not(HasSubstr("top-5"))); // four classes
  auto records = log();
  ASSERT_THAT(records, SizeIs(40 + 4));
  auto losses = column(records, "loss");
  ASSERT_THAT(losses, SizeIs(40));
  EXPECT_LT(std::stod(losses.back()), 0.1 * std::stod(losses.front()));
  EXPECT_EQ(column(records, "val_images"), std::vector<std::string>(4, "13"));
  EXPECT_EQ(column(records, "step")[0], "1");
  EXPECT_EQ(column(records, "epoch")[0], "1");
  EXPECT_EQ(column(records, "epoch").back(), "4");
}

TEST_F(TrainerTest, EveryEpochIsALineOfCsv) {
  std::vector<std::string> flags{"--data",
                                 dataFolder("train", 16),
                                 "--sched=step",
                                 "--decay-epochs=1",
                                 "--log-csv=" + (folder / "epochs.csv"),
                                 "--checkpoint-dir=" + (folder / "ckpt")};
  auto with = [&](std::vector<std::string> more) {
    more.insert(more.end(), flags.begin(), flags.end());
    return runTrainer(more);
  };
  ASSERT_EQ(with({"--epochs=2", logFlag()}).code, 0);
  ASSERT_EQ(with({"--epochs=3", "--resume=auto", logFlag(), "--val-data",
                  dataFolder("val", 5)})
                .code,
            0);
  std::istringstream lines(readFile(folder / "epochs.csv"));
  std::vector<std::string> rows;
  for (std::string line; std::getline(lines, line);)
    rows.push_back(line);
  ASSERT_THAT(rows, SizeIs(4));
  EXPECT_EQ(rows[0], "epoch,step,lr,loss,top1,val_loss,val_top1,val_top5");
  EXPECT_THAT(rows[1], testing::StartsWith("1,2,0.01,"));
  EXPECT_THAT(rows[2], testing::StartsWith("2,4,0.001,"));
  EXPECT_THAT(rows[2], testing::EndsWith(",,,"));
  EXPECT_THAT(rows[3], testing::StartsWith("3,6,0.0001,"));
  auto field = [&](const std::string &row, int number) {
    std::istringstream fields(row);
    std::string text;
    for (int i = 0; i <= number; ++i)
      std::getline(fields, text, ',');
    return std::stod(text);
  };
  auto records = log();
  auto losses = column(records, "loss");
  EXPECT_NEAR(field(rows[1], 3),
              (std::stod(losses[0]) + std::stod(losses[1])) / 2, 1e-6);
  EXPECT_NEAR(field(rows[3], 5), std::stod(column(records, "val_loss")[0]),
              1e-6);
  TrainerRun run = runTrainer({"--data=synthetic", "--log-csv=/dev/full"});
  EXPECT_EQ(run.code, 1);
  EXPECT_THAT(run.err, HasSubstr("/dev/full: cannot write"));
}

TEST_F(TrainerTest, ALazyDeviceGivesTheSameLosses) {
  std::vector<std::string> flags{"--data=" + dataFolder("train", 83),
                                 "--val-data=" + dataFolder("val", 13),
                                 "--epochs=3",
                                 "--lr=0.3",
                                 logFlag(),
                                 "--workers=2"};
  ASSERT_EQ(runTrainer(flags).code, 0);
  auto eager = log();
  Laziness laziness(true);
  ASSERT_EQ(runTrainer(flags).code, 0);
  auto lazy = log();
  for (const char *name : {"step", "loss", "top1", "val_loss", "val_top1"})
    EXPECT_EQ(column(eager, name), column(lazy, name)) << name;
}

TEST_F(TrainerTest, SeedDecidesOrderAndWeights) {
  std::string data = "--data=" + dataFolder("train", 83);
  auto losses = [&](std::vector<std::string> flags) {
    flags.insert(flags.end(), {data, logFlag()});
    EXPECT_EQ(runTrainer(flags).code, 0);
    return column(log(), "loss");
  };
  auto first = losses({"--seed=1"});
  EXPECT_EQ(first, losses({"--seed=1"}));
  EXPECT_NE(first, losses({"--seed=2"}));
  EXPECT_NE(first, losses({"--seed=1", "--no-shuffle"}));
  EXPECT_NE(first, losses({"--seed=1", "--init=fresh"}));
  EXPECT_NE(first, losses({"--seed=1", "--mean=0.5"}));
}

TEST_F(TrainerTest, ScheduleReachesTheDevice) {
  ASSERT_EQ(runTrainer({"--data=" + dataFolder("train", 16), "--epochs=3",
                        "--lr=1", "--sched=step", "--decay-epochs=1",
                        "--decay-rate=0.5", logFlag()})
                .code,
            0);
  EXPECT_THAT(column(log(), "lr"),
              ElementsAre("1", "1", "0.5", "0.5", "0.25", "0.25"));
}

TEST_F(TrainerTest, NoStepsEvaluateAndExport) {
  std::string path = folder / "out.onnx";
  TrainerRun run =
      runTrainer({"--data=" + dataFolder("train", 16),
                  "--val-data=" + dataFolder("val", 5), "--epochs=0",
                  "--export-onnx=" + path, logFlag()});
  EXPECT_EQ(run.code, 0) << run.err;
  EXPECT_THAT(log(), SizeIs(1));
  std::string bytes = readFile(path);
  ASSERT_THAT(bytes, SizeIs(4 + 64 * 4 + 4 * 4 + 4));
  EXPECT_EQ(bytes.substr(0, 4), "HEAD");
  EXPECT_EQ(bytes.substr(4 + 64 * 4, 16),
            bytesOfValues<float>({0, 0.25, 0.5, 0.75}));
  EXPECT_EQ(bytes.substr(bytes.size() - 4), "TAIL");
}

TEST_F(TrainerTest, NonFiniteLossNamesStepAndLayer) {
  for (bool lazy : {false, true}) {
    Laziness laziness(lazy);
    std::string checkpoints = folder / (lazy ? "ckpt1" : "ckpt");
    TrainerRun run = runTrainer({"--data=" + dataFolder("train", 80),
                                 "--lr=1e38", "--checkpoint-dir=" + checkpoints,
                                 "--checkpoint-every=1", logFlag()});
    EXPECT_EQ(run.code, 1);
    EXPECT_THAT(run.err, testing::ContainsRegex(
                             "error: the loss is (nan|inf) at step [0-9]+ "
                             "\\(epoch 1\\): the first value that is not "
                             "finite .* is a result of matmul in layer 'fc' "
                             "\\(forward\\)"));
    EXPECT_THAT(run.err, HasSubstr("the last checkpoint is kept: "));
    EXPECT_TRUE(std::filesystem::exists(checkpoints));
    EXPECT_EQ(column(log(), "loss").back(), "null");
  }
}

TEST_F(TrainerTest, NonFiniteImageIsNamed) {
  TrainerRun run = runTrainer({"--data=" + dataFolder("train", 16, 11)});
  EXPECT_EQ(run.code, 1);
  EXPECT_THAT(run.err, HasSubstr("image 11 of the training data holds a value "
                                 "that is not finite"));
  EXPECT_THAT(run.err, HasSubstr("there is no checkpoint"));
}

TEST_F(TrainerTest, SaysAtTheStartThatNothingIsKept) {
  std::string note = "what is learned will not be kept";
  EXPECT_THAT(runTrainer({"--data=synthetic", "--steps=1"}).out,
              HasSubstr(note));
  EXPECT_THAT(runTrainer({"--data=synthetic", "--epochs=0"}).out,
              Not(HasSubstr(note)));
  EXPECT_THAT(runTrainer({"--data=synthetic", "--steps=1",
                          "--checkpoint-dir=" + (folder / "ckpt")})
                  .out,
              Not(HasSubstr(note)));
}

TEST_F(TrainerTest, RefusesBeforeAnythingIsWritten) {
  std::string data = dataFolder("train", 5);
  auto errorFor = [](const std::vector<std::string> &flags) {
    TrainerRun run = runTrainer(flags);
    EXPECT_EQ(run.code, 1);
    return run.err;
  };
  EXPECT_THAT(errorFor({}), HasSubstr("--data is missing"));
  EXPECT_THAT(errorFor({"--data=" + data, logFlag(),
                        "--checkpoint-dir=" + (folder / "ckpt")}),
              HasSubstr("holds 5 images, fewer than a batch of 8"));
  EXPECT_THAT(errorFor({"--data=synthetic", "--checkpoint-every=5"}),
              HasSubstr("--checkpoint-every needs --checkpoint-dir"));
  EXPECT_THAT(errorFor({"--data=synthetic",
                        "--export-onnx=" + (folder / "no/such/x.onnx")}),
              HasSubstr("x.onnx: cannot write: No such file"));
  EXPECT_THAT(errorFor({"--data=synthetic", "--log=" + folder.path()}),
              HasSubstr("is a directory"));
  writeFile(folder / "plain", "");
  EXPECT_THAT(errorFor({"--data=synthetic",
                        "--checkpoint-dir=" + (folder / "plain/x")}),
              HasSubstr("cannot make the folder"));
  EXPECT_FALSE(std::filesystem::exists(folder / "log"));
  EXPECT_FALSE(std::filesystem::exists(folder / "ckpt"));
}

TEST_F(TrainerTest, FlagsOfTheCompilerSayWhatWasFixed) {
  TrainerRun run = runTrainer({"--batch=64", "--optimizer=adam", "--gpus=2",
                               "--precision=fp16", "--loss=mse", "--plan=x",
                               "--clip-norm=1"});
  EXPECT_EQ(run.code, 1);
  EXPECT_THAT(run.err, HasSubstr("--batch: was fixed when the program was "
                                 "compiled (8); lwcc MODEL --batch=N"));
  EXPECT_THAT(run.err,
              HasSubstr("--optimizer: was fixed when the program was "
                        "compiled (sgd); lwcc MODEL --optimizer=NAME"));
  for (const char *flag : {"--gpus: ", "--precision: ", "--loss: ", "--plan: "})
    EXPECT_THAT(run.err, HasSubstr(flag + std::string("was fixed when")));
  EXPECT_THAT(run.err, HasSubstr("--clip-norm: is a flag of the compiler: lwcc "
                                 "MODEL --clip-norm=X"));
  EXPECT_THAT(run.err, Not(HasSubstr("unknown flag")));
}

TEST_F(TrainerTest, MoreStepsThanCanBeCounted) {
  TrainerRun run = runTrainer({"--data=synthetic", "--epochs=4294967295"});
  EXPECT_EQ(run.code, 1);
  EXPECT_THAT(run.err, HasSubstr("more than the 4,294,967,295 steps"));
  EXPECT_EQ(
      runTrainer({"--data=synthetic", "--epochs=4294967295", "--steps=1"}).code,
      0);
}

TEST_F(TrainerTest, InfoAndVersionNeedNoMachine) {
  Program program = makeFakeProgram();
  program.machine.devices[0].arenaBytes = int64_t(1) << 60;
  TrainerRun run = runTrainer({"--info"}, program);
  EXPECT_EQ(run.code, 0);
  EXPECT_THAT(run.out, HasSubstr("parameters    68 in 2 tensors"));
  EXPECT_THAT(run.out, HasSubstr("batch         8"));
  EXPECT_EQ(runTrainer({"--version"}, program).out, "lwcc test (fake.onnx)\n");
  EXPECT_THAT(runTrainer({"--help"}, program).out, HasSubstr("Usage: trainer"));
}

TEST_F(TrainerTest, BenchmarkReports) {
  for (bool lazy : {false, true}) {
    Laziness laziness(lazy);
    TrainerRun run = runTrainer({"--benchmark=10", logFlag()});
    EXPECT_EQ(run.code, 0) << run.err;
    EXPECT_THAT(run.out, HasSubstr("median "));
    EXPECT_EQ(column(log(), "benchmark"), std::vector<std::string>{"10"});
    EXPECT_GT(std::stod(column(log(), "median_s")[0]), 0);
  }
}
