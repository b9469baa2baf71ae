//===- Compare.cpp - What each strategy would cost ------------------------===//

#include "passes/plan/solve/Compare.h"
#include "passes/plan/price/Price.h"
#include "passes/plan/solve/DescribePipeline.h"
#include "passes/plan/solve/LanePlan.h"
#include "passes/plan/solve/Space.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

#include <algorithm>
#include <chrono>

using namespace lwcc;
using namespace lwcc::plan;

static double milliseconds(Ticks time) {
  return static_cast<double>(time) / ticksPerSecond * 1e3;
}

/// "n=2 c=4", "-" for what is whole.
static std::string textOf(const Tiling &tiling) {
  std::string text;
  for (auto [d, name] : llvm::enumerate(dimensions))
    if (tiling.degrees[d] > 1)
      text += (text.empty() ? "" : " ") + std::string(1, name) + "=" +
              std::to_string(tiling.degrees[d]);
  return text.empty() ? "-" : text;
}

/// Prints the groups that the plan cuts otherwise than data parallelism does,
/// and how much slower the step would be if only that group were cut like it.
static void printReasons(const Comparison &comparison, llvm::raw_ostream &os) {
  std::vector<const Decision *> reasons;
  for (const Decision &decision : comparison.savings.decisions)
    if (decision.asData)
      reasons.push_back(&decision);
  if (reasons.empty())
    return;
  llvm::stable_sort(reasons, [](const Decision *a, const Decision *b) {
    return a->asData->longer > b->asData->longer;
  });
  os << "cut otherwise than by data parallelism, and the milliseconds that "
        "this saves, one by one:\n";
  constexpr size_t most = 12;
  for (const Decision *reason : llvm::ArrayRef(reasons).take_front(most))
    os << "  " << llvm::left_justify(comparison.layers[reason->first], 40)
       << " " << llvm::left_justify(textOf(reason->tiling), 12) << " not "
       << llvm::left_justify(textOf(reason->asData->tiling), 8)
       << llvm::format("%10.3f\n", milliseconds(reason->asData->longer));
  if (reasons.size() > most)
    os << "  and " << reasons.size() - most << " more\n";
  if (comparison.savings.leftOut > 0)
    os << "  not asked of " << comparison.savings.leftOut
       << " groups of layers, for lack of time\n";
}

/// What no plan can fall below; nothing where calls were measured, which may be
/// quicker than a data sheet has it.
static std::optional<LowerBound> lowerBoundOf(const Problem &problem) {
  if (problem.costs.isMeasured())
    return std::nullopt;
  LowerBound bound;
  for (size_t i = 0; i < problem.graph.layers.size(); ++i) {
    const LayerTiles whole = problem.graph.tiles(static_cast<int>(i), Tiling());
    for (const Work &work : whole.work.front()) {
      CostModel::Floor floor = problem.costs.floor(work);
      bound.arithmetic += floor.compute;
      bound.memory += floor.memory;
      bound.step += std::max(floor.compute, floor.memory);
    }
  }
  const auto devices = static_cast<double>(problem.machine.devices());
  bound.arithmetic /= devices;
  bound.memory /= devices;
  bound.step /= devices;
  return bound;
}

static std::optional<Ticks> ticks(std::optional<double> seconds) {
  return seconds ? std::optional(static_cast<Ticks>(*seconds * ticksPerSecond))
                 : std::nullopt;
}

/// Prices a plan as a row of the table; the simulator then holds its tilings.
static PricedStrategy price(const Problem &problem, Simulator &simulator,
                            llvm::StringRef name, const Plan &plan,
                            double searched) {
  Tilings tilings = tilingsOf(problem.graph, plan);
  simulator.simulate(tilings);
  Seconds sum;
  for (const Seconds &layer :
       priceOf(problem.graph, tilings, problem.machine, problem.costs))
    sum += layer;
  const Ticks simulated = simulator.step();
  PricedStrategy row;
  row.name = name.str();
  row.step = problem.finalists() > 0 ? problem.programStep(plan)
                                     : milliseconds(simulated) / 1e3;
  row.simulated = simulated;
  if (!plan.order.empty())
    row.simulated = ticks(secondsOfTurns(problem, plan));
  else if (lanesOf(plan) > 1)
    row.simulated = ticks(secondsOfLanes(problem, plan));
  row.bytes = simulator.bytes();
  row.memory = simulator.memory();
  row.fits = row.memory <= problem.machine.device.memory;
  row.sum = sum.total();
  row.searched = searched;
  return row;
}

Comparison lwcc::plan::compareStrategies(const Problem &problem,
                                         const Plan &plan, llvm::StringRef name,
                                         double searched) {
  Comparison result;
  result.costs = problem.costs.source();
  result.devices = problem.machine.devices();
  result.batch = problem.graph.batch;
  for (const LayerGraph::Layer &layer : problem.graph.layers)
    result.layers.push_back(layer.name);
  std::vector<PricedStrategy> &rows = result.strategies;
  Simulator simulator(problem);
  Tilings data;
  // Searches take long: most run only on demand, without a budget none does.
  auto isQuick = [&](const Solver &solver) {
    return !solver.searches ||
           ((solver.name == "layerwise" || solver.name == "pipeline" ||
             solver.name == "hypergraph") &&
            problem.search.seconds > 0);
  };
  // (b) and (c) of One Weird Trick cut only what is fully connected.
  const bool mayHaveMicroBatches = mostMicroBatches(problem.graph) > 1;
  for (const Solver &solver : solvers()) {
    if (solver.name == name || !isQuick(solver) ||
        (solver.inMicroBatches && !problem.search.kept.empty()) ||
        (solver.inMicroBatches && solver.searches && !mayHaveMicroBatches))
      continue;
    auto leaveOut = [&] {
      result.leftOut +=
          (result.leftOut.empty() ? "" : ", ") + solver.name.str();
    };
    if (solver.inMicroBatches && solver.searches && !problem.timesPrograms()) {
      leaveOut(); // what it found would be in any case
      continue;
    }
    auto start = std::chrono::steady_clock::now();
    lwcc::plan::Plan made = solver.solve(problem);
    double took =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start)
            .count();
    if (problem.exactPlans)
      if (auto known = problem.exactPlans->find(solver.name);
          known != problem.exactPlans->end())
        took = known->second.seconds;
    // One pass, or one micro-batch, is a strategy that is there already, or
    // leaves all devices but one idle.
    if (solver.inMicroBatches && made.order.empty())
      continue;
    // The simulator does not know such plans, nor can their programs be timed.
    if (!made.order.empty() && !problem.canTime(made)) {
      leaveOut();
      continue;
    }
    rows.push_back(price(problem, simulator, solver.name, made, took));
    if (solver.name == "data")
      data = tilingsOf(problem.graph, made);
  }
  rows.push_back(price(problem, simulator, name, plan, searched));
  rows.back().isChosen = true;
  result.step = rows.back().step;
  std::rotate(rows.begin(), rows.end() - 1, rows.end()); // first among equals
  llvm::stable_sort(rows, [](const PricedStrategy &a, const PricedStrategy &b) {
    return a.step < b.step;
  });
  result.bound = lowerBoundOf(problem);
  result.remark = plan.remark;
  if (!plan.groups.empty())
    result.pipeline = describePipeline(problem, plan);
  // The simulator knows nothing of an order of micro-batches.
  constexpr double mostSeconds = 10;
  if (plan.order.empty()) {
    result.simulated = simulator.step();
    result.savings = savingsOf(
        problem, simulator,
        data.empty() ? tilingsOf(problem.graph, plan) : data, mostSeconds);
  }
  return result;
}

std::string lwcc::plan::textOf(const Comparison &comparison) {
  std::string text;
  llvm::raw_string_ostream os(text);
  os << "strategies by predicted step (" << comparison.costs << ", "
     << comparison.devices << " devices; * is this plan):\n"
     << "  strategy          step, ms   simulated     sum, ms  images/s  "
        "exchanged, MiB  memory, MiB  search, s\n";
  for (const PricedStrategy &row : comparison.strategies) {
    os << "  " << llvm::left_justify(row.name + (row.isChosen ? " *" : ""), 14)
       << llvm::format("%12.3f", row.step * 1e3);
    if (row.simulated)
      os << llvm::format("%12.3f", milliseconds(*row.simulated));
    else
      os << llvm::right_justify("-", 12);
    os << llvm::format("%12.3f%10.0f%16.1f%13.1f", row.sum * 1e3,
                       static_cast<double>(comparison.batch) / row.step,
                       static_cast<double>(row.bytes) / (1 << 20),
                       static_cast<double>(row.memory) / (1 << 20));
    if (row.searched > 0.0005)
      os << llvm::format("%11.3f", row.searched);
    os << (row.fits ? "\n" : "  does not fit\n");
  }
  if (!comparison.leftOut.empty())
    os << "  left out, since their programs are too large to be made here: "
       << comparison.leftOut << "\n";
  if (const std::optional<LowerBound> &bound = comparison.bound)
    os << llvm::format(
        "no plan takes less than %.3f ms: every call at the rates of the data "
        "sheet, shared by %d devices (arithmetic %.3f, memory %.3f); this plan "
        "takes %.2f times that\n",
        bound->step * 1e3, static_cast<int>(comparison.devices),
        bound->arithmetic * 1e3, bound->memory * 1e3,
        comparison.step / bound->step);
  if (!comparison.remark.empty())
    os << comparison.remark << "\n";
  if (!comparison.pipeline.empty())
    os << comparison.pipeline;
  else
    printReasons(comparison, os);
  return text;
}
