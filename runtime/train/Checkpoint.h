//===- Checkpoint.h - A training that can be continued ----------*- C++ -*-===//
//
// A checkpoint is a folder DIR/step-000123 with
//
//   model.safetensors  parameters and running statistics
//   optim.safetensors  the optimizer's state
//   state.json         step, epoch, position in the epoch, flags, model
//
// Tensors are the global logical ones by their ONNX names, so that a program
// with any other plan can continue. It is written under a temporary name,
// synced and renamed: a folder of this name is always whole.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_RUNTIME_TRAIN_CHECKPOINT_H
#define LWCC_RUNTIME_TRAIN_CHECKPOINT_H

#include "runtime/core/Program.h"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace lwcc::rt::train {

/// Where a training stands.
struct TrainState {
  int64_t step = 0;     ///< steps done
  int64_t epoch = 0;    ///< epochs done
  int64_t position = 0; ///< images taken from the epoch under way
  int64_t images = 0;   ///< in the training data
};

struct CheckpointInfo {
  TrainState state;
  std::string modelHash;
  /// As rememberedFlags gives them.
  std::vector<std::pair<std::string, std::string>> flags;
};

/// Checkpoints in a folder, by step; none if there is no such folder.
std::vector<std::pair<int64_t, std::string>>
listCheckpoints(const std::string &folder);

/// What --resume names: PATH is a checkpoint or a folder of them, "auto" the
/// latest in `folder`. Empty: "auto", and there is none. Throws Error.
std::string resolveResume(const std::string &resume, const std::string &folder);

/// Reads state.json. Throws Error.
CheckpointInfo readCheckpointInfo(const std::string &checkpoint);

/// Throws Error listing all differences unless the checkpoint holds exactly
/// the program's tensors.
void checkCheckpoint(const std::string &checkpoint, const Program &program);

/// Loads parameters, statistics and the optimizer's state.
void loadCheckpoint(const std::string &checkpoint, const Program &program,
                    Machine &machine);

/// Writes DIR/step-N and removes all but the `keep` latest (0: none). If it
/// throws, earlier checkpoints are untouched. Returns the new folder's path.
std::string saveCheckpoint(const std::string &folder, int64_t keep,
                           const CheckpointInfo &info, const Program &program,
                           Machine &machine);

} // namespace lwcc::rt::train

#endif // LWCC_RUNTIME_TRAIN_CHECKPOINT_H
