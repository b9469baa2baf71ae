//===- InitialWeights.h - First weights from somebody's file ----*- C++ -*-===//
//
// --init-from=FILE: weights and running statistics whose name and shape a
// tensor of the file has take its values; all others keep the first values that
// they have without it (Init.h). The file is a safetensors file, such as a
// state dict of PyTorch or a checkpoint's model.safetensors, or, where its name
// ends with .onnx, a model with initializers.
//
// Decides what fits and says what does not. It is no continued training: the
// optimizer's state, steps and flags of the file's training are nobody's here
// (Checkpoint.h).
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_RUNTIME_TRAIN_STATE_INITIALWEIGHTS_H
#define LWCC_RUNTIME_TRAIN_STATE_INITIALWEIGHTS_H

#include "runtime/core/Program.h"
#include "runtime/train/state/OnnxTensors.h"
#include "runtime/train/state/Safetensors.h"

#include <optional>
#include <string>
#include <vector>

namespace lwcc::rt::train {

class InitialWeights {
public:
  /// Opens the file and matches it with the program, which outlives this.
  /// Throws Error, also where not one tensor fits.
  InitialWeights(const std::string &path, const Program &program);

  /// Writes what fits, over first values that are there already.
  void write(Machine &machine) const;

  /// For people, in several lines: how many tensors were taken, what of the
  /// model keeps its first values and why, what of the file nobody took.
  std::string describe() const;

private:
  struct Pair {
    const GlobalTensor *tensor;
    const FileTensor *source;
  };
  void match(const Program &program);

  std::string path;
  std::optional<SafetensorsFile> safetensors;
  std::optional<OnnxTensors> onnx;
  std::vector<FileTensor> offered; ///< by the file
  std::vector<Pair> taken;
  std::vector<std::string> absent, different; ///< of the model
  std::vector<std::string> unused;            ///< of the file, real numbers
};

} // namespace lwcc::rt::train

#endif // LWCC_RUNTIME_TRAIN_STATE_INITIALWEIGHTS_H
