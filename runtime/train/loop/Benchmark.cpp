//===- Benchmark.cpp - How long a step takes ------------------------------===//

#include "runtime/train/loop/Benchmark.h"

#include "runtime/train/files/Text.h"
#include "runtime/train/loop/Optimizers.h"
#include "runtime/train/loop/StepQueue.h"
#include "runtime/train/report/Info.h"
#include "runtime/train/report/Log.h"
#include "runtime/train/report/Trace.h"
#include "runtime/train/state/Init.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include <sys/resource.h>

namespace lwcc::rt::train {

static double secondsBetween(Clock::time_point from, Clock::time_point to) {
  return std::chrono::duration<double>(to - from).count();
}

/// Between the two nearest of the sorted values.
static double quantile(const std::vector<double> &sorted, double q) {
  double at = q * (sorted.size() - 1);
  size_t low = static_cast<size_t>(at);
  size_t high = std::min(low + 1, sorted.size() - 1);
  return sorted[low] + (at - low) * (sorted[high] - sorted[low]);
}

static int64_t peakResidentBytes() {
  struct rusage usage;
  ::getrusage(RUSAGE_SELF, &usage);
  return int64_t(usage.ru_maxrss) * 1024;
}

DataSet benchmarkData(const Program &program) {
  const std::vector<ModelInput> inputs = inputsOf(program);
  DataSet data{openData("synthetic", DataRole::training, inputs, program.batch),
               {}};
  for (size_t k = 0; k < inputs.size(); ++k)
    data.transforms.emplace_back(data.source->part(k).format(), inputs[k].dims,
                                 std::vector<double>{}, std::vector<double>{});
  return data;
}

void runBenchmark(Machine &machine, const Program &program,
                  const Options &options, Clock::time_point start) {
  const DataSet data = benchmarkData(program);
  BatchLoader::Settings settings;
  settings.slots = 1;
  BatchLoader loader(machine, program, data, settings);
  Sequence *step =
      machine.record("train_step", [&] { program.trainStep(machine); });
  initializeState(machine, program, options.seed, options.init == "fresh",
                  [](const StateTensor &) { return true; });
  Log log(options.log, false);
  const Optimizer &optimizer = optimizerOf(program.optimizer);

  std::printf("%s\n  device      %s\n", describeHeader(program).c_str(),
              machine.describe().c_str());
  Batch &batch = loader.next();
  StepQueue queue(machine, program);
  int64_t warmup = std::max<int64_t>(options.benchmark / 2, 2);
  int64_t total = warmup + options.benchmark;
  Trace trace(machine, program, options.trace, warmup + 1, options.benchmark);
  std::vector<Clock::time_point> ends;
  std::vector<float> losses;
  for (int64_t i = 0; i < total || !queue.empty();) {
    if (i < total) {
      ++i;
      queue.launch(step, batch, scalarsOf(optimizer, options, options.lr, i),
                   /*resident=*/i > 1, trace.covers(i));
    }
    while (queue.mustRetire() || (i == total && !queue.empty())) {
      StepResult result = queue.retire();
      ends.push_back(result.end);
      losses.push_back(result.loss);
      if (result.calls)
        trace.add(result.scalars.step, *result.calls);
    }
  }

  std::vector<double> times;
  for (int64_t i = warmup; i < total; ++i)
    times.push_back(secondsBetween(ends[i - 1], ends[i]));
  std::sort(times.begin(), times.end());
  double median = quantile(times, 0.5);
  double spread = quantile(times, 0.75) - quantile(times, 0.25);
  double speed = program.batch / median;
  double first = secondsBetween(start, ends.front());
  int64_t resident = peakResidentBytes();
  std::printf("  benchmark   %s after %lld of warm-up, data on the device\n"
              "  step        median %.3f ms, min %.3f, max %.3f, spread "
              "(interquartile) %.1f %%\n"
              "  speed       %.1f %ss/s\n"
              "  start       %.3f s to the end of the first step\n"
              "  memory      %s resident at most\n",
              plural(options.benchmark, "step").c_str(),
              static_cast<long long>(warmup), median * 1e3, times.front() * 1e3,
              times.back() * 1e3, 100 * spread / median, speed,
              sampleNoun(program), first, bytesText(resident).c_str());
  int64_t held = 0;
  for (size_t d = 0; d < program.machine.devices.size(); ++d) {
    int64_t bytes = machine.bytesHeld(static_cast<int>(d));
    held += bytes;
    std::printf("              %s held on device %zu\n",
                bytesText(bytes).c_str(), d);
  }
  RankLink link;
  if (machine.ranks()) {
    link = machine.measureRanks();
    std::printf("  ranks       %.1f us and %.2f GB/s from the slowest one to "
                "rank 0\n",
                link.latency * 1e6, link.bandwidth / 1e9);
  }
  // As the transfers counted; every step moves the same.
  // Of several ranks only this one's counted.
  JsonObject pairs;
  int64_t movedBytes = 0;
  for (const MovedBytes &pair : machine.movedBytes()) {
    int64_t bytes = pair.bytes / total;
    movedBytes += bytes;
    std::printf("  %-11s %s a step from device %d to %d\n",
                movedBytes == bytes ? "moved" : "", bytesText(bytes).c_str(),
                pair.from, pair.to);
    pairs.add(std::to_string(pair.from) + "->" + std::to_string(pair.to),
              bytes);
  }
  if (trace.write())
    std::printf("  trace       %s\n", options.trace.c_str());
  float loss = losses.back();
  if (!std::isfinite(loss))
    std::printf("  note        the loss is %g; the time of a step does not "
                "depend on it\n",
                loss);
  JsonObject record;
  record.add("benchmark", options.benchmark)
      .add("batch", program.batch)
      .add("median_s", median)
      .add("min_s", times.front())
      .add("max_s", times.back())
      .add("spread", spread / median)
      .add("images_per_s", speed)
      .add("first_step_s", first)
      .add("peak_resident_bytes", resident)
      .add("held_bytes", held)
      .add("losses", losses)
      .add("moved_bytes", movedBytes)
      .addRaw("moved", pairs.str());
  if (machine.ranks())
    record.add("rank_latency_s", link.latency)
        .add("rank_bytes_per_s", link.bandwidth);
  log.write(record);
}

} // namespace lwcc::rt::train
