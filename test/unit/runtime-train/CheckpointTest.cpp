//===- CheckpointTest.cpp - Trainings that are continued ------------------===//

#include "runtime/train/Checkpoint.h"
#include "FakeMachine.h"
#include "RunTrainer.h"
#include "runtime/train/GlobalTensors.h"

#include <gmock/gmock.h>

#include <csignal>
#include <sys/resource.h>

using namespace lwcc::rt;
using namespace lwcc::rt::train;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

namespace {
class CheckpointTest : public testing::Test {
protected:
  /// Steps of the checkpoints in a folder.
  std::vector<int64_t> steps(const std::string &name = "ckpt") {
    std::vector<int64_t> found;
    for (const auto &[step, path] : listCheckpoints(folder / name))
      found.push_back(step);
    return found;
  }
  std::string dirFlag(const std::string &name = "ckpt") {
    return "--checkpoint-dir=" + (folder / name);
  }
  TrainerRun train(std::vector<std::string> flags,
                   const FakeOptions &model = {}) {
    flags.insert(flags.begin(), "--data=synthetic");
    return runTrainer(flags, makeFakeProgram(model));
  }
  TempFolder folder;
};

/// No file may become larger than this while it lives, as on a full disk.
class FileSizeLimit {
public:
  explicit FileSizeLimit(rlim_t bytes) {
    ::getrlimit(RLIMIT_FSIZE, &old);
    rlimit limit{bytes, old.rlim_max};
    oldHandler = std::signal(SIGXFSZ, SIG_IGN);
    ::setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FileSizeLimit() {
    ::setrlimit(RLIMIT_FSIZE, &old);
    std::signal(SIGXFSZ, oldHandler);
  }

private:
  rlimit old;
  void (*oldHandler)(int);
};
} // namespace

TEST_F(CheckpointTest, ResumeContinuesBitForBit) {
  // Shuffled, across the end of an epoch (128 steps), with another number of
  // workers and a schedule.
  std::vector<std::string> flags{"--epochs=3", "--sched=cosine",
                                 "--lr=0.2",   "--seed=5",
                                 "--nesterov", "--weight-decay=1e-3"};
  auto with = [&](std::vector<std::string> more) {
    more.insert(more.end(), flags.begin(), flags.end());
    return more;
  };
  ASSERT_EQ(train(with({dirFlag("whole")})).code, 0);
  ASSERT_EQ(train(with({dirFlag("parts"), "--steps=100"})).code, 0);
  TrainerRun run = train({dirFlag("parts"), "--resume=auto", "--steps=150",
                          "--epochs=3", "--workers=3"});
  ASSERT_EQ(run.code, 0) << run.err;
  run = train({dirFlag("parts"), "--resume=auto", "--epochs=3"});
  ASSERT_EQ(run.code, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr("after step 150"));
  for (const char *file :
       {"model.safetensors", "optim.safetensors", "state.json"})
    EXPECT_EQ(readFile(folder / "whole/step-000384/" + file),
              readFile(folder / "parts/step-000384/" + file))
        << file;
}

TEST_F(CheckpointTest, EveryAndKeep) {
  ASSERT_EQ(
      train({dirFlag(), "--checkpoint-every=30", "--checkpoint-keep=2"}).code,
      0);
  EXPECT_THAT(steps(), ElementsAre(120, 128));
  ASSERT_EQ(
      train({dirFlag("all"), "--checkpoint-every=50", "--checkpoint-keep=0"})
          .code,
      0);
  EXPECT_THAT(steps("all"), ElementsAre(50, 100, 128));
}

TEST_F(CheckpointTest, AutoStartsFreshAndThenContinues) {
  TrainerRun run = train({dirFlag(), "--resume=auto", "--steps=3"});
  EXPECT_EQ(run.code, 0) << run.err;
  EXPECT_THAT(run.out, Not(HasSubstr("resumed")));
  run = train({dirFlag(), "--resume=auto", "--steps=3"});
  EXPECT_EQ(run.code, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr("the training is complete"));
}

TEST_F(CheckpointTest, ForeignFoldersAreNotMixed) {
  ASSERT_EQ(train({dirFlag(), "--steps=3"}).code, 0);
  TrainerRun run = train({dirFlag(), "--steps=3"});
  EXPECT_EQ(run.code, 1);
  EXPECT_THAT(run.err, HasSubstr("the latest of step 3; add --resume=auto"));
}

TEST_F(CheckpointTest, AnEarlierCheckpointIsRepeatedInItsFolder) {
  ASSERT_EQ(train({dirFlag(), "--steps=6", "--checkpoint-every=3"}).code, 0);
  std::string before = readFile(folder / "ckpt/step-000006/model.safetensors");
  TrainerRun run = train(
      {dirFlag(), "--steps=6", "--resume=" + (folder / "ckpt/step-000003")});
  EXPECT_EQ(run.code, 0) << run.err;
  EXPECT_THAT(steps(), ElementsAre(3, 6));
  EXPECT_EQ(readFile(folder / "ckpt/step-000006/model.safetensors"), before);
}

TEST_F(CheckpointTest, AnotherModelIsRefusedWithItsDifferences) {
  ASSERT_EQ(train({dirFlag(), "--steps=3"}).code, 0);
  Program program = makeFakeProgram();
  program.state[0].tensor.name = "head.weight";
  program.state[1].tensor = makeFakeProgram({8, 5}).state[1].tensor;
  std::string error =
      errorOf([&] { checkCheckpoint(folder / "ckpt/step-000003", program); });
  EXPECT_THAT(error, HasSubstr("is a checkpoint of another model"));
  EXPECT_THAT(error, HasSubstr("not in the checkpoint (1):\n    head.weight "
                               "4x16"));
  EXPECT_THAT(error, HasSubstr("only in the checkpoint (1):\n    fc.weight "
                               "4x16"));
  EXPECT_THAT(error, HasSubstr("fc.bias: 4 F32 in the checkpoint, 5 F32 in the "
                               "program"));
  TrainerRun run = train({dirFlag(), "--resume=auto"}, {8, 5});
  EXPECT_EQ(run.code, 1);
  EXPECT_THAT(run.err, HasSubstr("of another shape or type (4)"));
}

TEST_F(CheckpointTest, AnotherFileOfTheSameTensorsIsTaken) {
  ASSERT_EQ(train({dirFlag(), "--steps=3"}).code, 0);
  FakeOptions model;
  model.modelHash = "other";
  TrainerRun run = train({dirFlag(), "--resume=auto", "--steps=4"}, model);
  EXPECT_EQ(run.code, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr("their tensors agree"));
}

TEST_F(CheckpointTest, FlagsThatDifferAreNamed) {
  ASSERT_EQ(train({dirFlag(), "--steps=3", "--lr=0.125"}).code, 0);
  TrainerRun run =
      train({dirFlag(), "--resume=auto", "--steps=5", "--lr=0.25"});
  EXPECT_THAT(run.out, HasSubstr("note: --lr is 0.25, was 0.125 in "));
}

TEST_F(CheckpointTest, WhatWasInterruptedIsIgnoredAndCleared) {
  ASSERT_EQ(train({dirFlag(), "--steps=3"}).code, 0);
  // Killed while saving step 4, and while removing step 2.
  writeFile(folder / "ckpt/.saving-step-000004/model.safetensors", "half");
  writeFile(folder / "ckpt/step-000002/model.safetensors", "rest");
  EXPECT_THAT(steps(), ElementsAre(3));
  TrainerRun run = train({dirFlag(), "--resume=auto", "--steps=5"});
  EXPECT_EQ(run.code, 0) << run.err;
  EXPECT_THAT(steps(), ElementsAre(3, 5));
  EXPECT_FALSE(std::filesystem::exists(folder / "ckpt/.saving-step-000004"));
}

TEST_F(CheckpointTest, AFullDiskLeavesTheOldOne) {
  ASSERT_EQ(train({dirFlag(), "--steps=3"}).code, 0);
  std::string before = readFile(folder / "ckpt/step-000003/model.safetensors");
  // Room for the header and half of the tensors.
  std::string error = [&] {
    Program program = makeFakeProgram();
    FakeMachine machine(program.machine, false);
    FileSizeLimit limit(before.size() / 2);
    return errorOf([&] {
      saveCheckpoint(folder / "ckpt", 1, {{4, 0, 32, 1024}, "hash", {}},
                     program, machine);
    });
  }();
  EXPECT_THAT(error, HasSubstr("the checkpoint of step 4 could not be saved"));
  EXPECT_THAT(error, HasSubstr("File too large"));
  EXPECT_THAT(error, HasSubstr("the latest checkpoint is intact: "));
  EXPECT_THAT(steps(), ElementsAre(3));
  EXPECT_EQ(readFile(folder / "ckpt/step-000003/model.safetensors"), before);
  EXPECT_EQ(
      std::distance(std::filesystem::directory_iterator(folder / "ckpt"), {}),
      1);
}

TEST_F(CheckpointTest, DamagedOnesAreNamed) {
  ASSERT_EQ(train({dirFlag(), "--steps=3"}).code, 0);
  std::string state = folder / "ckpt/step-000003/state.json";
  std::string text = readFile(state);
  auto resumeError = [&](const std::string &path) {
    TrainerRun run = train({"--resume=" + path});
    EXPECT_EQ(run.code, 1);
    return run.err;
  };
  writeFile(state, text.substr(0, text.size() / 2));
  EXPECT_THAT(resumeError(folder / "ckpt"),
              HasSubstr("state.json: not valid JSON"));
  writeFile(state, "{\"step\": -1}");
  EXPECT_THAT(resumeError(folder / "ckpt"),
              HasSubstr("state.json: damaged: no step"));
  writeFile(state, text);
  std::filesystem::resize_file(folder / "ckpt/step-000003/model.safetensors",
                               100);
  EXPECT_THAT(resumeError(folder / "ckpt"), HasSubstr("model.safetensors: "));
  EXPECT_THAT(resumeError(folder / "none"), HasSubstr("no such checkpoint"));
  EXPECT_THAT(resumeError(folder.path()), HasSubstr("not a checkpoint"));
  EXPECT_THAT(train({"--resume=auto"}).err,
              HasSubstr("--resume=auto needs --checkpoint-dir"));
}
