//===- Checkpoint.h - A training that can be continued ----------*- C++ -*-===//
//
// A checkpoint is a folder DIR/step-000123 with
//
//   model.safetensors  parameters and running statistics
//   optim.safetensors  the optimizer's state
//   state.json         step, epoch, position in the epoch, flags, model,
//                      optimizer, names of the classes, and how many saves
//                      there were in DIR
//
// DIR/best is another, of the epoch whose validation was the best. It is
// replaced when a better one comes, is nobody's latest, and is not removed.
//
// Tensors are the global logical ones by their ONNX names, so that a program
// with any other plan can continue. It is written under a temporary name,
// synced and renamed: a folder of this name is always whole.
//
// Which checkpoint is the latest is a matter of when it was saved, not of its
// step: a training that goes on from an earlier step writes later checkpoints
// with smaller numbers. The counter of saves says so; clocks do not always.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_RUNTIME_TRAIN_STATE_CHECKPOINT_H
#define LWCC_RUNTIME_TRAIN_STATE_CHECKPOINT_H

#include "runtime/core/Program.h"

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace lwcc::rt::train {

/// What the validations at the ends of epochs have shown of one of their
/// numbers (loop/Improvement.h).
struct ValidationHistory {
  std::string metric;    ///< its name in the log; "": none was followed
  int64_t step = 0;      ///< of the last one that was counted
  double best = 0;       ///< where there is a best epoch
  int64_t bestEpoch = 0; ///< from 1; 0: none yet
  int64_t waited = 0;    ///< validations that were not better since then
  /// A plateau's learning rate: what a validation has to be better than, if
  /// there was one, how many in a row were not, and how often it fell.
  std::optional<double> level = {};
  int64_t levelWaited = 0;
  int64_t falls = 0;
};

/// Where a training stands.
struct TrainState {
  int64_t step = 0;     ///< steps done
  int64_t epoch = 0;    ///< epochs done
  int64_t position = 0; ///< images taken from the epoch under way
  int64_t images = 0;   ///< in the training data
  ValidationHistory validations = {};
};

struct CheckpointInfo {
  TrainState state;
  std::string modelHash;
  std::string optimizer = "sgd"; ///< of programs that had no other
  /// As rememberedFlags gives them.
  std::vector<std::pair<std::string, std::string>> flags;
  /// Of the training data, by the classes' numbers; empty where they have none.
  std::vector<std::string> classes = {};
};

/// A checkpoint of a folder.
struct SavedCheckpoint {
  int64_t save = 0; ///< the how manieth of its folder; 0: nobody counted then
  int64_t step = 0;
  std::string path;
  std::string damage; ///< why its state cannot be read, or ""

  auto operator<=>(const SavedCheckpoint &) const = default;
};

/// In the order in which they were saved, damaged ones first; none if there is
/// no such folder.
std::vector<SavedCheckpoint> listCheckpoints(const std::string &folder);

/// A folder of checkpoints that no other program writes to meanwhile. Readers
/// need no lock, since checkpoints appear whole.
class FolderLock {
public:
  FolderLock() = default;
  ~FolderLock();
  FolderLock(const FolderLock &) = delete;
  FolderLock &operator=(const FolderLock &) = delete;
  /// The folder exists. Throws Error where another program has it, with the
  /// number of its process.
  void take(const std::string &folder);
  bool held() const { return descriptor >= 0; }

private:
  int descriptor = -1;
};

/// What --resume names: PATH is a checkpoint or a folder of them, "auto" the
/// latest in `folder`. Empty: "auto", and there is none. Throws Error, also
/// where a damaged one may be the latest.
std::string resolveResume(const std::string &resume, const std::string &folder);

/// Reads state.json. Throws Error.
CheckpointInfo readCheckpointInfo(const std::string &checkpoint);

/// What is taken of a checkpoint.
enum class CheckpointPart {
  all,
  model ///< parameters and statistics, for who does not train
};

/// Throws Error listing all differences unless the checkpoint holds exactly
/// the program's tensors.
void checkCheckpoint(const std::string &checkpoint, const Program &program,
                     CheckpointPart wanted = CheckpointPart::all);

/// Loads parameters, statistics and the optimizer's state.
void loadCheckpoint(const std::string &checkpoint, const Program &program,
                    Machine &machine,
                    CheckpointPart wanted = CheckpointPart::all);

/// DIR/best, whether it is there or not.
std::string bestCheckpoint(const std::string &folder);

/// Writes DIR/best. Throws Error; then what was there is untouched.
void saveBestCheckpoint(const std::string &folder, const CheckpointInfo &info,
                        const Program &program, Machine &machine);

/// Writes DIR/step-N and removes all but the `keep` latest (0: none; damaged
/// ones are left to a person). If it throws, earlier checkpoints are untouched.
/// Returns the new folder's path.
std::string saveCheckpoint(const std::string &folder, int64_t keep,
                           const CheckpointInfo &info, const Program &program,
                           Machine &machine);

} // namespace lwcc::rt::train

#endif // LWCC_RUNTIME_TRAIN_STATE_CHECKPOINT_H
