//===- StepQueue.cpp - Steps that were started and not yet read -----------===//

#include "runtime/train/loop/StepQueue.h"

#include <cassert>
#include <new>

namespace lwcc::rt::train {

StepQueue::StepQueue(Machine &machine, const Program &program, bool scores)
    : machine(machine), program(program) {
  slots.resize(depth);
  for (Slot &slot : slots) {
    slot.scalars = new (machine.hostAlloc(sizeof(StepScalars))) StepScalars;
    slot.loss = new (machine.hostAlloc(sizeof(float))) float(0);
    slot.correct = new (machine.hostAlloc(2 * sizeof(float))) float[2]{};
    if (scores) {
      int64_t count = program.batch * program.scores.dims[1];
      slot.scores = static_cast<float *>(
          machine.hostAlloc(count * int64_t(sizeof(float))));
    }
    idle.push_back(&slot);
  }
}

void writeInputs(Machine &machine, const Batch &batch) {
  if (const Ranks *ranks = machine.ranks(); ranks && ranks->remote)
    ranks->remote->stage(batch.remoteLoader);
  for (const StagedTensor &input : batch.inputs)
    input.writeAsync(machine);
  batch.labels.writeAsync(machine);
  if (batch.shares)
    batch.shares->writeAsync(machine);
  for (const StagedTensor &labels : batch.auxiliary)
    labels.writeAsync(machine);
}

void writeScalars(Machine &machine, const Program &program,
                  const StepScalars *pinned) {
  for (const TensorRef &ref : program.scalars)
    machine.writeAsync(ref.on(machine), ref.device, pinned);
}

void StepQueue::launch(Sequence *sequence, Batch &batch,
                       const StepScalars &scalars, bool resident, bool traced) {
  assert(!idle.empty() && "retire a step first");
  Slot *slot = idle.front();
  idle.pop_front();
  slot->batch = &batch;
  *slot->scalars = scalars;
  if (!resident)
    writeInputs(machine, batch);
  writeScalars(machine, program, slot->scalars);
  slot->calls = traced ? &machine.runTraced(sequence) : nullptr;
  if (!traced)
    machine.run(sequence);
  const TensorRef &correct = program.correct, &loss = program.loss_value;
  machine.readAsync(correct.on(machine), correct.device, slot->correct);
  if (slot->scores)
    machine.readAsync(program.scores.on(machine), program.scores.device,
                      slot->scores);
  slot->ticket = machine.readAsync(loss.on(machine), loss.device, slot->loss);
  running.push_back(slot);
}

bool StepQueue::mustRetire() const {
  size_t enough = wasShort ? depth : depth - 1;
  return !running.empty() &&
         (running.size() >= enough || running.front()->ticket == 0);
}

StepResult StepQueue::retire() {
  assert(!running.empty() && "no step is running");
  Slot *slot = running.front();
  running.pop_front();
  Clock::time_point end = machine.wait(slot->ticket);
  wasShort = end - lastEnd < shortStep;
  lastEnd = end;
  idle.push_back(slot);
  return {slot->batch,      *slot->scalars, *slot->loss, slot->correct[0],
          slot->correct[1], slot->scores,   slot->calls, end};
}

} // namespace lwcc::rt::train
