//===- CheckpointTest.cpp - Trainings that are continued ------------------===//

#include "runtime/train/state/Checkpoint.h"
#include "FakeMachine.h"
#include "RunTrainer.h"
#include "runtime/train/state/GlobalTensors.h"

#include <gmock/gmock.h>

#include <sys/stat.h>
#include <unistd.h>

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
    for (const SavedCheckpoint &checkpoint : listCheckpoints(folder / name))
      found.push_back(checkpoint.step);
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
  for (const char *file : {"model.safetensors", "optim.safetensors"})
    EXPECT_EQ(readFile(folder / "whole/step-000384/" + file),
              readFile(folder / "parts/step-000384/" + file))
        << file;
  // But for the number of saves.
  std::string whole = readFile(folder / "whole/step-000384/state.json");
  std::string parts = readFile(folder / "parts/step-000384/state.json");
  EXPECT_THAT(whole, HasSubstr("\"save\": 3,"));
  EXPECT_THAT(parts, HasSubstr("\"save\": 5,"));
  EXPECT_EQ(whole.substr(whole.find("\"model\"")),
            parts.substr(parts.find("\"model\"")));
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

/// "save" is younger than the checkpoints of this test.
static void forgetSave(const std::string &checkpoint) {
  std::string path = checkpoint + "/state.json", text = readFile(path);
  size_t at = text.find("\"save\"");
  ASSERT_NE(at, std::string::npos);
  writeFile(path, text.erase(at, text.find("\"model\"") - at));
}

TEST_F(CheckpointTest, WhatIsLatestIsWhatWasSavedLast) {
  for (bool counted : {true, false}) {
    std::string name = counted ? "counted" : "old";
    std::string dir = dirFlag(name);
    ASSERT_EQ(train({dir, "--steps=30", "--checkpoint-every=10"}).code, 0);
    if (!counted)
      for (int64_t step : steps(name))
        forgetSave(folder / (name + "/step-0000" + std::to_string(step)));
    ASSERT_THAT(steps(name), ElementsAre(10, 20, 30));
    // A line of its own from step 10.
    TrainerRun run = train({dir, "--resume=" + (folder / name) + "/step-000010",
                            "--steps=14", "--checkpoint-every=2", "--lr=0.5",
                            "--checkpoint-keep=2"});
    ASSERT_EQ(run.code, 0) << run.err;
    EXPECT_THAT(steps(name), ElementsAre(12, 14));
    run = train({dir, "--resume=auto", "--steps=22", "--checkpoint-every=4",
                 "--checkpoint-keep=0"});
    ASSERT_EQ(run.code, 0) << run.err;
    EXPECT_THAT(run.out, HasSubstr("resumed     after step 14"));
    EXPECT_THAT(steps(name), ElementsAre(12, 14, 16, 20, 22));
  }
}

TEST_F(CheckpointTest, TheFirstSaveOfALineStaysAndIsContinued) {
  ASSERT_EQ(train({dirFlag(), "--steps=30", "--checkpoint-every=10"}).code, 0);
  TrainerRun run = train({dirFlag(), "--steps=15", "--checkpoint-keep=2",
                          "--resume=" + (folder / "ckpt/step-000010")});
  ASSERT_EQ(run.code, 0) << run.err;
  EXPECT_THAT(steps(), ElementsAre(30, 15)); // in the order of their saves
  EXPECT_THAT(train({dirFlag(), "--resume=auto", "--steps=16"}).out,
              HasSubstr("resumed     after step 15"));
}

TEST_F(CheckpointTest, TwoTrainersOfOneFolder) {
  ASSERT_EQ(train({dirFlag(), "--steps=3"}).code, 0);
  FolderLock other;
  other.take(folder / "ckpt");
  std::string owner = "ckpt: another trainer (process " +
                      std::to_string(::getpid()) + ") writes its checkpoints";
  for (const char *resume : {"auto", "ckpt/step-000003"}) {
    std::string where = *resume == 'a' ? resume : folder / resume;
    TrainerRun run = train({dirFlag(), "--resume=" + where, "--steps=4"});
    EXPECT_EQ(run.code, 1);
    EXPECT_THAT(run.err, HasSubstr(owner));
  }
  EXPECT_THAT(steps(), ElementsAre(3));
  // To read from it is no harm.
  TrainerRun run =
      train({"--resume=" + (folder / "ckpt"), dirFlag("mine"), "--steps=4"});
  EXPECT_EQ(run.code, 0) << run.err;
  EXPECT_THAT(steps("mine"), ElementsAre(4));
}

TEST_F(CheckpointTest, NumbersOutOfRangeAreDamage) {
  ASSERT_EQ(train({dirFlag(), "--steps=3"}).code, 0);
  std::string state = folder / "ckpt/step-000003/state.json";
  std::string text = readFile(state);
  for (const char *name : {"save", "step", "epoch", "position", "images"})
    for (const char *value :
         {"9223372036854775807", "18446744073709551615", "1e3", "-1", "[]"}) {
      std::string key = "\"" + std::string(name) + "\": ";
      size_t at = text.find(key) + key.size();
      std::string bad = text;
      writeFile(state, bad.replace(at, text.find(',', at) - at, value));
      TrainerRun run = train({dirFlag(), "--resume=auto"});
      EXPECT_EQ(run.code, 1);
      EXPECT_THAT(run.err, HasSubstr("state.json: damaged: ")) << name << value;
    }
}

TEST_F(CheckpointTest, ADamagedOneIsNeitherSkippedNorRemoved) {
  ASSERT_EQ(train({dirFlag(), "--steps=6", "--checkpoint-every=3"}).code, 0);
  writeFile(folder / "ckpt/step-000006/state.json", "{");
  TrainerRun run = train({dirFlag(), "--resume=auto"});
  EXPECT_EQ(run.code, 1);
  EXPECT_THAT(run.err, HasSubstr("step-000006/state.json: not valid JSON"));
  EXPECT_THAT(run.err, HasSubstr("it may be the latest checkpoint"));
  run = train({dirFlag(), "--resume=" + (folder / "ckpt/step-000003"),
               "--steps=5", "--checkpoint-every=1", "--checkpoint-keep=1"});
  EXPECT_EQ(run.code, 0) << run.err;
  EXPECT_THAT(steps(), ElementsAre(6, 5));
}

TEST_F(CheckpointTest, APipeAsStateIsRefused) {
  std::filesystem::create_directories(folder / "ckpt/step-000003");
  ASSERT_EQ(::mkfifo((folder / "ckpt/step-000003/state.json").c_str(), 0600),
            0);
  for (const std::string &path :
       {folder / "ckpt", folder / "ckpt/step-000003"}) {
    TrainerRun run = train({"--resume=" + path});
    EXPECT_EQ(run.code, 1);
    EXPECT_THAT(run.err, HasSubstr("state.json: not a regular file"));
  }
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
  EXPECT_EQ( // and the lock
      std::distance(std::filesystem::directory_iterator(folder / "ckpt"), {}),
      2);
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
