//===- Inference.cpp - Data through a model that is not trained -----------===//

#include "runtime/train/loop/Inference.h"

#include "runtime/train/state/Checkpoint.h"
#include "runtime/train/state/Init.h"

#include <algorithm>

namespace lwcc::rt::train {

static BatchLoader::Settings settingsOf(const InferenceTask &task) {
  BatchLoader::Settings settings;
  settings.evaluation = true;
  settings.skipBad = task.options.onBadImage == "skip";
  settings.workers = workersFor(*task.data.source, task.options.workers);
  settings.slots = StepQueue::depth + 1;
  return settings;
}

Inference::Inference(Machine &machine, const InferenceTask &task, bool scores)
    : program(task.program), queue(machine, program, scores),
      loader(machine, program, task.data, settingsOf(task)),
      sequence(machine.record("evaluate", [&] { program.evaluate(machine); })) {
  const bool loads = !task.checkpoint.empty();
  initializeState(machine, program, task.options.seed, /*fresh=*/false,
                  [&](const StateTensor &tensor) {
                    return tensor.role == Role::constant ||
                           (!loads && tensor.role != Role::optimizer);
                  });
  if (loads)
    loadCheckpoint(task.checkpoint, program, machine, CheckpointPart::model);
  else
    startAverages(machine, program);
}

void Inference::deliver(const StepResult &result, const Sink &sink) const {
  const Batch &batch = *result.batch;
  auto skipped = batch.skipped.begin(); // in the order of the images
  for (size_t at = 0; at < batch.images.size(); ++at) {
    const bool isSkipped =
        skipped != batch.skipped.end() && skipped->image == batch.images[at];
    skipped += isSkipped;
    const size_t count = static_cast<size_t>(program.scores.dims[1]);
    sink(batch.images[at],
         isSkipped ? std::span<const float>()
                   : std::span<const float>(result.scores + at * count, count));
  }
}

Evaluation Inference::run(const std::function<bool()> &stop, const Sink &sink) {
  return evaluate(queue, sequence, loader, stop, [&](const StepResult &result) {
    if (sink)
      deliver(result, sink);
  });
}

bool hasDrawnWeights(const Program &program) {
  return std::any_of(program.state.begin(), program.state.end(),
                     [](const StateTensor &tensor) {
                       return isWeight(tensor.role) &&
                              (tensor.init.kind == Init::normal ||
                               tensor.init.kind == Init::uniform);
                     });
}

} // namespace lwcc::rt::train
