//===- Trainer.h - The training loop ----------------------------*- C++ -*-===//
//
// Steps, validation, checkpoints and the end of a training. What a step
// computes is the program's, what a training is told is Options.h's; this
// decides the order of things:
//
//   for each step    next batch, scalars of this step, run, read loss, report
//   every K steps    checkpoint (--checkpoint-every)
//   for each epoch   checkpoint (without it), then validation; the best
//                    checkpoint, or the end, if the validations say so
//                    (Improvement.h)
//   at the end       checkpoint, validation unless just done, ONNX export
//   a few steps      are traced (--trace), behind the first ones if there are
//                    more, since those are slower
//
// A checkpoint of an epoch's end does not know of the validation behind it:
// that is made again when the training is resumed there, if its number is
// followed.
//
// A signal, a standard output that nobody reads any more, or a file that cannot
// be written ends it after the step under way, with a checkpoint and the ONNX
// export, as far as those can be written, and without validation. Without a
// folder of checkpoints it goes beside the ONNX file, if that has a place. A
// loss that is not finite ends it without: the parameters are those before that
// step, but later steps may have run already.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_RUNTIME_TRAIN_LOOP_TRAINER_H
#define LWCC_RUNTIME_TRAIN_LOOP_TRAINER_H

#include "runtime/train/loop/Improvement.h"
#include "runtime/train/loop/LearningRate.h"
#include "runtime/train/loop/Optimizers.h"
#include "runtime/train/loop/Options.h"
#include "runtime/train/loop/Signals.h"
#include "runtime/train/loop/StepQueue.h"
#include "runtime/train/loop/TrainingLength.h"
#include "runtime/train/report/EpochTable.h"
#include "runtime/train/report/EventFile.h"
#include "runtime/train/report/Log.h"
#include "runtime/train/report/Progress.h"
#include "runtime/train/report/Trace.h"
#include "runtime/train/state/Checkpoint.h"
#include "runtime/train/state/InitialWeights.h"

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace lwcc::rt::train {

/// What a training needs besides the machine; all of it outlives the Trainer.
struct TrainingTask {
  const Program &program;
  const Options &options;
  const DataSet &data;
  const DataSet *validation; ///< may be null
  TrainState start;
  std::string checkpoint;        ///< that is continued, or ""
  const InitialWeights *weights; ///< to start from; may be null
  /// What its checkpoints remember of the command line, as name and text.
  std::vector<std::pair<std::string, std::string>> flags;
};

class Trainer {
public:
  /// Records the program's sequences and fills in the state.
  Trainer(Machine &machine, const TrainingTask &task);
  /// Returns the exit code: 0, or 128 + the signal that ended the training,
  /// where a standard output that nobody reads any more is SIGPIPE.
  int run();

private:
  void banner();
  void noteUnkept();
  void sayEnd(Clock::time_point start);
  bool stopping();
  std::string stopText();
  void attempt(const std::function<void()> &output);
  void writeEvents(int64_t step, const std::vector<Scalar> &scalars);
  void writeLog(const JsonObject &record);
  void trainEpochs();
  void finishStep(const StepResult &result);
  void noteSkipped(const std::vector<SkippedSample> &samples);
  void drain();
  void tellRanks();
  CheckpointInfo checkpointInfo() const;
  void saveCheckpointNow();
  void saveCheckpointInto(const std::string &folder);
  void saveBesideExport();
  bool endsEarly() const;
  void endEpoch();
  void judge(const Evaluation &result);
  /// Nothing where it was not made, or not of all images.
  std::optional<ValidationMeans> validate();
  void writeTrace();
  [[noreturn]] void stopAtBadLoss(const StepResult &result);

  Machine &machine;
  const TrainingTask &task;
  const Program &program;
  const Options &options;
  TrainingLength length;
  const Optimizer &optimizer;
  LearningRate learningRate;
  Sequence *trainStep = nullptr, *evaluateStep = nullptr;
  StepQueue queue;
  Trace trace;
  std::optional<BatchLoader> loader, validationLoader;
  StopSignals signals;
  Log log;
  EpochTable epochTable;
  EventFile events;
  double lastRate = 0; ///< of the last step that is over
  Progress progress;
  TrainState state; ///< after the last step that was started
  std::optional<Improvement> improvement; ///< if it is of interest
  std::string lastCheckpoint;
  int64_t savedStep = -1, validatedStep = -1;
  std::set<std::string> skipped; ///< why images were, each once
  std::string failure; ///< of the first output that could not be written
};

} // namespace lwcc::rt::train

#endif // LWCC_RUNTIME_TRAIN_LOOP_TRAINER_H
