//===- NonFinite.cpp - Where a NaN comes from -----------------------------===//

#include "runtime/train/loop/NonFinite.h"

#include "runtime/train/files/Text.h"
#include "runtime/train/report/Info.h"

#include <cmath>
#include <new>

namespace lwcc::rt::train {

/// Index of the first value that is not finite, or -1.
static int64_t firstBad(const float *values, int64_t count) {
  for (int64_t i = 0; i < count; ++i)
    if (!std::isfinite(values[i]))
      return i;
  return -1;
}

/// The device in whose arena a tensor lies, or -1.
static int deviceOf(Machine &machine, const Program &program,
                    const Tensor &tensor) {
  const char *data = tensor.as<const char>();
  for (size_t d = 0; d < program.machine.devices.size(); ++d) {
    const char *arena = machine.arena(static_cast<int>(d));
    if (data >= arena && data < arena + program.machine.devices[d].arenaBytes)
      return static_cast<int>(d);
  }
  return -1;
}

std::string explainNonFinite(Machine &machine, const Program &program,
                             const DataSource &source, Sequence *sequence,
                             const StepResult &result) {
  Batch &batch = *result.batch;
  std::vector<float> sample;
  for (size_t k = 0; k < program.inputs.size(); ++k) {
    sample.resize(elementsOf(program.inputs[k]) / program.batch);
    for (size_t i = 0; i < batch.images.size(); ++i) {
      batch.inputs[k].get(i, sample.data());
      if (firstBad(sample.data(), sample.size()) >= 0)
        return format("%s %s of the training data holds a value that is not "
                      "finite",
                      sampleNoun(program),
                      source.nameOf(batch.images[i]).c_str());
    }
  }

  if (batch.labelCount == 0)
    return "no label of the batch counts, and the mean of no losses is no "
           "number (--ignore-index says which labels do not count)";

  if (machine.ranks())
    return "where it comes from is looked for in a training of one process "
           "only (without --ranks)";

  machine.synchronize();
  auto *scalars =
      new (machine.hostAlloc(sizeof(StepScalars))) StepScalars(result.scalars);
  writeInputs(machine, batch);
  writeScalars(machine, program, scalars);
  std::string found;
  std::vector<float> host;
  machine.runObserved(sequence, [&](const char *layer, const char *phase,
                                    const char *op, const Tensor *results,
                                    int count) {
    for (int i = 0; i < count && found.empty(); ++i) {
      const Tensor &tensor = results[i];
      if (!tensor || tensor.type != DType::f32)
        continue;
      int device = deviceOf(machine, program, tensor);
      if (device < 0)
        continue;
      host.resize(tensor.elements());
      machine.read(tensor, device, host.data());
      int64_t bad = firstBad(host.data(), tensor.elements());
      if (bad >= 0)
        found = format("the first value that is not finite (%s) is a result "
                       "of %s in layer '%s' (%s)",
                       numberText(host[bad]).c_str(), op, layer, phase);
    }
  });
  return found.empty() ? "all values are finite when the step is run again, "
                         "one operator at a time"
                       : found;
}

} // namespace lwcc::rt::train
