//===- Stages.cpp - The strategy pipeline -----------------------*- C++ -*-===//
//
// The strategy `pipeline`. Of all numbers of micro-batches and all schedules
// the most promising by PipelineOrder.h's step are made programs of, and that
// with the shortest step is taken. Where making programs would take too long,
// that step decides. ModelStages.h finds the stages for each of them.
//
//===----------------------------------------------------------------------===//

#include "passes/plan/solve/ModelStages.h"

#include "llvm/ADT/STLExtras.h"

#include <optional>

using namespace lwcc;
using namespace lwcc::plan;

namespace {
/// A way to run a model as a pipeline.
struct Way {
  ModelStages::Cut cut;
  const PipelineSchedule *schedule;
  double step; ///< seconds, by PipelineOrder.h
};
} // namespace

/// The quickest pipeline whose step takes less than `atMost` seconds and whose
/// stages fit into `memory` bytes. Programs are made of the `finalists` that
/// promise most, as long as there is hope.
static std::optional<Plan> quickestOf(const Problem &problem, double atMost,
                                      bool needsBatches, double memory) {
  constexpr size_t finalists = 12;
  std::vector<Plan> known; // schedules of few micro-batches may be alike
  const int64_t most = mostMicroBatches(problem.graph);
  if (needsBatches && most == 1)
    return std::nullopt;
  ModelStages stages(problem);
  const PipelineSchedule *asked = findPipelineSchedule(problem.search.schedule);
  std::vector<Way> ways;
  const int64_t asks = problem.search.microBatches;
  for (int64_t count : asks > 0 ? std::vector<int64_t>{microBatchesUpTo(
                                      problem.graph, std::min(most, asks))}
                                : microBatchCounts(problem.graph)) {
    if (needsBatches && count == 1)
      continue;
    for (const PipelineSchedule &schedule :
         asked ? llvm::ArrayRef(*asked) : pipelineSchedules()) {
      if (std::optional<ModelStages::Cut> cut =
              stages.cut(count, schedule, memory))
        ways.push_back(
            {*cut, &schedule, stepOf(schedule, cut->pipeline).length});
      if (count == 1)
        break; // all schedules are alike
    }
  }
  llvm::stable_sort(ways,
                    [](const Way &a, const Way &b) { return a.step < b.step; });
  if (!problem.timesPrograms() && !ways.empty())
    ways.resize(1);
  std::optional<Plan> best;
  for (const Way &way : llvm::ArrayRef(ways).take_front(finalists)) {
    if (way.step >= atMost)
      break;
    Plan plan = stages.plan(way.cut, *way.schedule);
    if (llvm::any_of(known, [&](const Plan &other) {
          return other.layers == plan.layers && other.order == plan.order;
        }))
      continue;
    known.push_back(plan);
    double step =
        problem.timesPrograms() ? problem.programStep(plan) : way.step;
    if (best || needsBatches ? step >= atMost : step > atMost)
      continue;
    best = std::move(plan);
    atMost = step;
  }
  return best;
}

std::optional<Plan> lwcc::plan::solveBranches(const Problem &problem) {
  ModelStages stages(problem);
  const PipelineSchedule &any = pipelineSchedules().front();
  std::optional<ModelStages::Cut> cut =
      stages.cut(1, any, static_cast<double>(problem.machine.device.memory));
  return cut ? std::optional(stages.plan(*cut, any)) : std::nullopt;
}

std::optional<Plan> lwcc::plan::solvePipeline(const Problem &problem,
                                              double atMost) {
  return quickestOf(problem, atMost, /*needsBatches=*/true,
                    static_cast<double>(problem.machine.device.memory));
}

Plan lwcc::plan::solvePipeline(const Problem &problem) {
  std::optional<Plan> best =
      quickestOf(problem, never, /*needsBatches=*/false,
                 static_cast<double>(problem.machine.device.memory));
  if (!best) // the caller warns of what does not fit
    best = quickestOf(problem, never, /*needsBatches=*/false, never);
  if (!best) {
    Problem other = problem;
    other.search.schedule.clear();
    best = quickestOf(other, never, /*needsBatches=*/false, never);
    assert(best && "with memory enough, one stage is always possible");
    best->warning = "the model has too few layers for schedule '" +
                    problem.search.schedule + "' on " +
                    std::to_string(problem.machine.devices()) +
                    " devices, which needs two stages on each: another "
                    "schedule is taken";
  }
  if (problem.search.stages > 0 && best->warning.empty())
    if (int64_t most = ModelStages(problem).mostStages();
        most < problem.search.stages)
      best->warning = "the model has too few layers for " +
                      std::to_string(problem.search.stages) +
                      " stages, at most " + std::to_string(most);
  if (std::string layer = layerOfAllSamples(problem.graph, 2); !layer.empty())
    best->warning = "the pipeline has one micro-batch: layer '" + layer +
                    "' needs several samples at once";
  auto normalized =
      llvm::find_if(problem.graph.layers, [](const LayerGraph::Layer &layer) {
        return layer.sampleGroups == 1;
      });
  if (normalized != problem.graph.layers.end())
    best->warning = "the pipeline has one micro-batch: layer '" +
                    normalized->name +
                    "' needs statistics of all samples; --bn=group:G "
                    "normalizes groups of G samples";
  return *best;
}
