//===- Inference.h - Data through a model that is not trained ---*- C++ -*-===//
//
// What the commands evaluate and predict share: fills in the model's weights,
// and takes every sample of a data set through the program's `evaluate`
// sequence, in order. The last batch may be smaller than the program's: it is
// filled up with samples that count nowhere (BatchLoader.h).
//
// Does not decide what is made of the scores, nor what is printed
// (cli/Evaluate.cpp, cli/Predict.cpp).
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_RUNTIME_TRAIN_LOOP_INFERENCE_H
#define LWCC_RUNTIME_TRAIN_LOOP_INFERENCE_H

#include "runtime/train/loop/Evaluate.h"
#include "runtime/train/loop/Options.h"

#include <functional>
#include <span>
#include <string>

namespace lwcc::rt::train {

/// All of it outlives the Inference.
struct InferenceTask {
  const Program &program;
  const Options &options;
  const DataSet &data;
  std::string checkpoint; ///< whose weights are taken; "": the program's own
};

class Inference {
public:
  /// Records the sequence and fills in the weights. `scores`: those of every
  /// sample are read; the program has some. Throws Error.
  Inference(Machine &machine, const InferenceTask &task, bool scores);

  /// Of a sample its number in the source and its scores, which are empty
  /// where it could not be read, and nowhere else.
  using Sink =
      std::function<void(int64_t image, std::span<const float> scores)>;

  /// One pass over the data, which may be repeated. Samples reach the sink in
  /// the order of their numbers. Stops early when `stop` says so.
  Evaluation run(const std::function<bool()> &stop, const Sink &sink = nullptr);

private:
  void deliver(const StepResult &result, const Sink &sink) const;

  const Program &program;
  StepQueue queue;
  BatchLoader loader;
  Sequence *sequence;
};

/// Whether the program's own weights are drawn at random: then nothing was
/// learned yet.
bool hasDrawnWeights(const Program &program);

} // namespace lwcc::rt::train

#endif // LWCC_RUNTIME_TRAIN_LOOP_INFERENCE_H
