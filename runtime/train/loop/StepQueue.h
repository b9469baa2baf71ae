//===- StepQueue.h - Steps that were started and not yet read ---*- C++ -*-===//
//
// A step is launched (inputs sent, sequence started, copies of its loss and
// counts asked for) and retired later (waited for and read). Meanwhile others
// are launched, so that a device with asynchronous copies always has work.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_RUNTIME_TRAIN_LOOP_STEPQUEUE_H
#define LWCC_RUNTIME_TRAIN_LOOP_STEPQUEUE_H

#include "runtime/core/Scalars.h"
#include "runtime/train/data/BatchLoader.h"

#include <deque>
#include <vector>

namespace lwcc::rt::train {

struct StepResult {
  Batch *batch = nullptr;
  StepScalars scalars;
  float loss = 0;
  double first = 0, second = 0; ///< what is counted (Metric.h)
  /// [batch, classes] of a queue that reads them, until the next launch.
  const float *scores = nullptr;
  const std::vector<TracedCall> *calls = nullptr; ///< of a traced step
  Clock::time_point end; ///< of the step on the devices
};

class StepQueue {
public:
  /// Batches that may be in use at a time: while a device is at work on one,
  /// another waits for it, and there is time to notice that the first is over.
  static constexpr int depth = 3;
  /// A longer step leaves that time by itself: then two are enough, and who
  /// stops the training waits for no third.
  static constexpr auto shortStep = std::chrono::milliseconds(10);

  /// `scores`: those of every run are read, too; the program has some.
  StepQueue(Machine &machine, const Program &program, bool scores = false);

  /// `resident`: the batch is on the device already. `traced`: the result
  /// has the run's calls. Not while `depth` steps are under way.
  void launch(Sequence *sequence, Batch &batch, const StepScalars &scalars,
              bool resident = false, bool traced = false);
  bool empty() const { return running.empty(); }
  /// Whether the oldest step is known to be over, or no other should start.
  bool mustRetire() const;
  /// Waits for the oldest step. The caller releases the batch.
  StepResult retire();

private:
  struct Slot {
    StepScalars *scalars;
    float *loss;
    float *correct;
    float *scores = nullptr;
    Batch *batch = nullptr;
    const std::vector<TracedCall> *calls = nullptr;
    int64_t ticket = 0; ///< 0: over
  };

  Machine &machine;
  const Program &program;
  std::vector<Slot> slots;
  std::deque<Slot *> idle, running;
  Clock::time_point lastEnd; ///< of the step that was retired last ...
  bool wasShort = false;     ///< ... and whether it was
};

/// Writes a batch and its scalars in order with runs; other ranks write their
/// parts of the same batch.
void writeInputs(Machine &machine, const Batch &batch);
void writeScalars(Machine &machine, const Program &program,
                  const StepScalars *pinned);

} // namespace lwcc::rt::train

#endif // LWCC_RUNTIME_TRAIN_LOOP_STEPQUEUE_H
