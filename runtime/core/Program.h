//===- Program.h - What a compiled program tells the trainer ----*- C++ -*-===//
//
// The whole interface between generated code and the training loop. An emitted
// program fills one Program and calls trainMain; lwcc-run fills the same struct
// from an `exec` module. Nothing in it depends on the number of devices: every
// tensor is given as the shards of one global logical tensor.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_RUNTIME_CORE_PROGRAM_H
#define LWCC_RUNTIME_CORE_PROGRAM_H

#include "runtime/core/ExportPiece.h"
#include "runtime/core/Machine.h"
#include "runtime/core/Role.h"

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace lwcc::rt {

/// A tensor in a device's arena, before there is a machine.
struct TensorRef {
  int device = 0;
  int64_t offset = 0; ///< bytes from the start of the arena
  DType type = DType::f32;
  std::vector<int64_t> dims;
  Layout layout = Layout::dense;

  Tensor on(Machine &machine) const {
    return Tensor(machine.arena(device) + offset, type, dims.data(),
                  static_cast<int>(dims.size()), layout);
  }
};

/// One tile of a global tensor: its elements from `begin`, of the ref's shape.
struct Shard {
  TensorRef ref;
  std::vector<int64_t> begin;
};

/// Replicas and tiles that together hold a global logical tensor.
struct GlobalTensor {
  std::string name;
  std::vector<int64_t> dims;
  std::vector<Shard> shards;
};

/// Where a state tensor's first value comes from.
struct Init {
  enum Kind { blob, constant, normal, uniform };
  Kind kind = constant;
  int64_t offset = 0; ///< blob: bytes from the start of the weights
  float a = 0;        ///< constant: value; normal: mean; uniform: low
  float b = 0;        ///< normal: standard deviation; uniform: high
};

/// What is given for each sample.
struct InputTensor : GlobalTensor {
  int64_t tokens = 0; ///< of integers, which are below it; 0: floats
  /// The file has it as [n, h, w, c]; here it is [n, c, h, w].
  bool channelsLast = false;
};

struct StateTensor {
  GlobalTensor tensor;
  Role role = Role::trainable; ///< of state
  Init init;                   ///< what the file says
  Init fresh; ///< PyTorch's default for the layer (--init=fresh)
};

/// Whether a loss of numbers of this name is what the model computes itself, so
/// that there are no targets.
inline bool isComputedByModel(const std::string &lossName) {
  return lossName == "output";
}

struct Program {
  std::string model;             ///< file name of the ONNX model
  std::string modelHash;         ///< of its bytes, weights included
  std::string compiler;          ///< "lwcc 0.1.0"
  std::string plan;              ///< one line for people
  std::string precision;         ///< "fp32" or "tf32"
  std::string loss;              ///< for people: "cross entropy (added)", ...
  std::string lossName;          ///< of a loss of numbers: "bce", "mse", ...
  std::string optimizer = "sgd"; ///< a row of runtime/train/loop/Optimizers.h
  int64_t batch = 0;
  int64_t classes = 0; ///< extent of the logits' class dimension; labels below
  bool batchStatistics = false; ///< train_step normalizes samples by others
  MachineSpec machine;
  std::vector<StateTensor> state;

  /// Floats: images [n, c, h, w], features [n, f]; whole ones: tokens [n, t].
  std::vector<InputTensor> inputs;
  /// i32 [n], or [n, ...] where each sample has several; f32 of a loss of
  /// numbers, where NaN does not count.
  GlobalTensor labels;
  /// f32 [n, classes]: what train_step learns of each sample, a distribution;
  /// NaN where the sample does not count. Without dims in a program whose
  /// samples are of one class each.
  GlobalTensor shares;
  /// As `labels`, of each output with a loss of its own beside the main one, by
  /// its name; `tokens` are the classes, or 0 of a loss of numbers.
  std::vector<InputTensor> auxiliary;
  TensorRef loss_value; ///< f32 scalar, after a run of train_step or evaluate
  TensorRef correct;    ///< f32 [2] of the same batch, as Metric.h has them
  /// f32 [n, numbers]: what the loss is taken of, after a run of evaluate.
  /// Without dims in a program that has none.
  TensorRef scores;
  std::vector<TensorRef> scalars; ///< StepScalars, one per device

  /// Called once each inside Machine::record.
  std::function<void(Machine &)> trainStep;
  std::function<void(Machine &)> evaluate;

  /// Initial weights, and literal pieces of the exported file.
  const char *blob = nullptr;
  int64_t blobBytes = 0;
  std::vector<ExportPiece> onnxExport;
};

/// The program's weights, of `bytes` bytes: `embedded` if they all are there,
/// else the file PROGRAM.weights beside the running program. Null if that
/// cannot be read or has another size, which trainMain reports.
const char *findWeights(const char *embedded, int64_t embeddedBytes,
                        int64_t bytes);

/// The trainer's command line: returns the exit code.
int trainMain(int argc, char **argv, const Program &program);

} // namespace lwcc::rt

#endif // LWCC_RUNTIME_CORE_PROGRAM_H
