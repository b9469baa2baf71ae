//===- StoppedTrainerTest.cpp - Trainings that are cut short --------------===//
//
// By signals, by files that cannot be written, by a closed standard output:
// what is kept, and what is said.
//
//===----------------------------------------------------------------------===//

#include "FakeMachine.h"
#include "TrainerTest.h"
#include "runtime/core/Scalars.h"
#include "runtime/train/files/Temporaries.h"
#include "runtime/train/loop/Signals.h"

#include <gmock/gmock.h>

#include <csignal>

#include <unistd.h>

using namespace lwcc::rt;
using namespace lwcc::rt::train;
using testing::HasSubstr;
using testing::Not;
using testing::SizeIs;

/// A program that gets a signal in step 13.
static Program raising(int signal) {
  ::signal(signal, SIG_DFL); // nohup, for one, lets tests ignore SIGHUP
  Program program = makeFakeProgram(), result = program;
  result.trainStep = [=](Machine &machine) {
    program.trainStep(machine);
    auto *scalars = program.scalars[0].on(machine).as<StepScalars>();
    static_cast<FakeMachine &>(machine).append({"", "", "raise", {}, [=] {
                                                  if (scalars->step == 13)
                                                    std::raise(signal);
                                                }});
  };
  return result;
}

namespace {
class StoppedTrainerTest : public TrainerTest {};
} // namespace

TEST_F(StoppedTrainerTest, SignalsFinishTheStepAndSave) {
  std::string data = "--data=" + dataFolder("train", 83);
  std::string whole = folder / "whole", parts = folder / "parts";
  ASSERT_EQ(runTrainer({data, "--epochs=2", "--checkpoint-dir=" + whole}).code,
            0);
  TrainerRun run = runTrainer({data, "--epochs=2", "--checkpoint-dir=" + parts,
                               "--export-onnx=" + (folder / "out.onnx")},
                              raising(SIGTERM));
  EXPECT_EQ(run.code, 143);
  EXPECT_THAT(run.out, HasSubstr("stopped by SIGTERM after step 13 of 20; the "
                                 "checkpoint is " +
                                 parts + "/step-000013"));
  EXPECT_THAT(run.out,
              HasSubstr("out.onnx, as it is: the training was stopped by "
                        "SIGTERM after step 13 of 20"));
  EXPECT_TRUE(std::filesystem::exists(folder / "out.onnx"));
  run = runTrainer({data, "--resume=auto", "--checkpoint-dir=" + parts});
  EXPECT_EQ(run.code, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr("resumed     after step 13"));
  for (const char *file : {"model.safetensors", "optim.safetensors"})
    EXPECT_EQ(readFile(whole + "/step-000020/" + file),
              readFile(parts + "/step-000020/" + file));
}

TEST_F(StoppedTrainerTest, EverySignalExportsAndKeepsACheckpointBeside) {
  std::string data = "--data=" + dataFolder("train", 83);
  std::string path = folder / "out.onnx", whole = folder / "whole.onnx";
  std::string kept = path + ".checkpoints/step-000013";
  ASSERT_EQ(runTrainer({data, "--epochs=2", "--export-onnx=" + whole}).code, 0);
  EXPECT_FALSE(std::filesystem::exists(whole + ".checkpoints"));
  for (int signal : {SIGINT, SIGTERM, SIGHUP}) {
    TrainerRun run = runTrainer({data, "--epochs=2", "--export-onnx=" + path},
                                raising(signal));
    EXPECT_EQ(run.code, 128 + signal);
    EXPECT_THAT(run.out,
                HasSubstr("after step 13 of 20; the checkpoint is " + kept +
                          ", which --resume=" + kept + " continues\n"));
    EXPECT_TRUE(std::filesystem::remove(path));
    // As it says. Nothing is saved beside where nothing is cut short.
    run = runTrainer({data, "--export-onnx=" + path, "--resume=" + kept});
    EXPECT_EQ(run.code, 0) << run.err;
    EXPECT_EQ(readFile(path), readFile(whole));
    EXPECT_FALSE(std::filesystem::exists(path + ".checkpoints/step-000020"));
    std::filesystem::remove_all(path + ".checkpoints");
  }
}

TEST_F(StoppedTrainerTest, WhatHasNoPlaceHasNothingBesideIt) {
  TrainerRun run = runTrainer({"--data=" + dataFolder("train", 83),
                               "--epochs=2", "--export-onnx=/dev/null"},
                              raising(SIGTERM));
  EXPECT_EQ(run.code, 143);
  EXPECT_THAT(run.out, HasSubstr("stopped by SIGTERM after step 13 of 20\n"));
  EXPECT_FALSE(std::filesystem::exists("/dev/null.checkpoints"));
}

TEST_F(StoppedTrainerTest, AnErrorKeepsACheckpointBesideTheModel) {
  std::string path = folder / "out.onnx";
  TrainerRun run = runTrainer(
      {"--data=synthetic", "--log=/dev/full", "--export-onnx=" + path});
  EXPECT_EQ(run.code, 1);
  EXPECT_THAT(run.err, HasSubstr("after step 1 of 128; the checkpoint is " +
                                 path + ".checkpoints/step-000001"));
}

TEST_F(StoppedTrainerTest, ASignalInTheLastStepsLeavesACompleteModel) {
  std::string data = "--data=" + dataFolder("train", 83);
  TrainerRun run =
      runTrainer({data, "--steps=13", "--export-onnx=" + (folder / "out.onnx")},
                 raising(SIGTERM));
  EXPECT_EQ(run.code, 143);
  EXPECT_THAT(run.out, HasSubstr("out.onnx\n"));
}

TEST_F(StoppedTrainerTest, AClosedStandardOutputStopsWithACheckpoint) {
  std::string ckpt = folder / "ckpt";
  std::string data = "--data=" + dataFolder("train", 83);
  auto trainIntoAClosedPipe = [&] {
    int ends[2];
    ASSERT_EQ(::pipe(ends), 0);
    ::close(ends[0]);
    ::dup2(ends[1], STDOUT_FILENO);
    std::vector<std::string> texts{"trainer", data, "--epochs=2",
                                   "--checkpoint-dir=" + ckpt};
    std::vector<char *> argv;
    for (std::string &text : texts)
      argv.push_back(text.data());
    std::exit(trainMain(int(argv.size()), argv.data(), makeFakeProgram()));
  };
  EXPECT_EXIT(trainIntoAClosedPipe(), testing::ExitedWithCode(141),
              "stopped by a closed standard output after step 0 of 20; the "
              "checkpoint is .*step-000000");
  EXPECT_TRUE(std::filesystem::exists(ckpt + "/step-000000/state.json"));
}

TEST_F(StoppedTrainerTest, TheSecondSignalEndsAtOnceWithoutHalfFiles) {
  std::string path = folder / "half";
  EXPECT_EXIT(
      {
        StopSignals signals;
        Temporary temporary(path);
        writeFile(path, "half");
        std::raise(SIGINT);
        std::raise(SIGINT); // of the same request
        std::raise(SIGHUP);
        ::usleep(100000);
        std::raise(SIGHUP);
        if (signals.received() == SIGINT && std::filesystem::exists(path))
          std::raise(SIGINT);
      },
      testing::KilledBySignal(SIGINT), "");
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST_F(StoppedTrainerTest, ALimitOnFilesLeavesWholeLinesAndNoTemporaries) {
  std::string data = "--data=" + dataFolder("train", 83);
  std::string out = folder / "out.onnx", trace = folder / "trace";
  auto limited = [&](const std::string &flag) {
    FileSizeLimit limit(200);
    return runTrainer({data, flag});
  };
  TrainerRun run = limited("--export-onnx=" + out);
  EXPECT_EQ(run.code, 1);
  EXPECT_THAT(run.err, HasSubstr("out.onnx: cannot write: File too large"));
  run = limited("--trace=" + trace);
  EXPECT_THAT(run.err, HasSubstr("trace: cannot write: File too large"));
  run = limited(logFlag());
  EXPECT_THAT(run.err, HasSubstr("log: cannot write: File too large"));
  EXPECT_THAT(log(), Not(SizeIs(0))); // every line is JSON
  std::vector<std::string> names;
  for (const auto &entry : std::filesystem::directory_iterator(folder.path()))
    names.push_back(entry.path().filename());
  EXPECT_THAT(names, testing::UnorderedElementsAre("train", "log"));
}

TEST_F(StoppedTrainerTest, AFileThatCannotBeWrittenDoesNotCostTheOthers) {
  std::string ckpt = folder / "ckpt", out = folder / "out.onnx";
  TrainerRun run =
      runTrainer({"--data=synthetic", "--log=/dev/full", "--export-onnx=" + out,
                  "--checkpoint-dir=" + ckpt});
  EXPECT_EQ(run.code, 1);
  EXPECT_THAT(run.err,
              HasSubstr("/dev/full: cannot write: No space left on device\n"
                        "  the training was stopped after step 1 of 128; the "
                        "checkpoint is " +
                        ckpt + "/step-000001"));
  EXPECT_TRUE(std::filesystem::exists(ckpt + "/step-000001/state.json"));
  EXPECT_TRUE(std::filesystem::exists(out));
  // A checkpoint that fails, and a whole model.
  std::filesystem::remove_all(ckpt);
  std::filesystem::remove(out);
  size_t size = [&] {
    FileSizeLimit limit(400); // an exported model has 280 bytes
    run = runTrainer({"--data=synthetic", "--export-onnx=" + out, "--steps=9",
                      "--checkpoint-every=3", "--checkpoint-dir=" + ckpt});
    return std::filesystem::file_size(out);
  }();
  EXPECT_EQ(run.code, 1);
  EXPECT_EQ(size, 4 + 64 * 4 + 4 * 4 + 4u);
  EXPECT_THAT(run.err,
              HasSubstr("the checkpoint of step 3 could not be saved"));
}

TEST_F(StoppedTrainerTest, AFullLogIsAnError) {
  TrainerRun run = runTrainer({"--data=synthetic", "--log=/dev/full"});
  EXPECT_EQ(run.code, 1);
  EXPECT_THAT(run.err,
              HasSubstr("/dev/full: cannot write: No space left on device"));
}
