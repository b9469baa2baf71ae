//===- Compare.cpp - What each strategy would cost ------------------------===//

#include "passes/plan/solve/Compare.h"
#include "passes/plan/price/Price.h"
#include "passes/plan/price/Simulator.h"
#include "passes/plan/solve/DescribePipeline.h"
#include "passes/plan/solve/Space.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

#include <algorithm>
#include <chrono>
#include <optional>

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
static void printReasons(const Problem &problem, Simulator &simulator,
                         const Tilings &data, llvm::raw_ostream &os) {
  struct Reason {
    std::string layer;
    Tiling tiling, instead;
    Ticks saved;
  };
  std::vector<Reason> reasons;
  for (const LayerGroup &group : groupsOf(problem.graph)) {
    std::vector<Simulator::Change> back;
    for (int layer : group)
      if (simulator.tilings()[layer] != data[layer])
        back.push_back({layer, data[layer]});
    if (back.empty())
      continue;
    int first = back[0].layer;
    reasons.push_back({problem.graph.layers[first].name,
                       simulator.tilings()[first], data[first],
                       simulator.propose(back) - simulator.step()});
  }
  if (reasons.empty())
    return;
  llvm::stable_sort(reasons, [](const Reason &a, const Reason &b) {
    return a.saved > b.saved;
  });
  os << "cut otherwise than by data parallelism, and the milliseconds that "
        "this saves, one by one:\n";
  constexpr size_t most = 12;
  for (const Reason &reason : llvm::ArrayRef(reasons).take_front(most))
    os << "  " << llvm::left_justify(reason.layer, 40) << " "
       << llvm::left_justify(textOf(reason.tiling), 12) << " not "
       << llvm::left_justify(textOf(reason.instead), 8)
       << llvm::format("%10.3f\n", milliseconds(reason.saved));
  if (reasons.size() > most)
    os << "  and " << reasons.size() - most << " more\n";
}

/// Prints what no plan can fall below: every call at the rates of the data
/// sheet, shared by all devices, with nothing exchanged. Measured calls may be
/// quicker than a data sheet has it.
static void printBound(const Problem &problem, double step,
                       llvm::raw_ostream &os) {
  if (problem.costs.isMeasured())
    return;
  double compute = 0, memory = 0, both = 0;
  for (size_t i = 0; i < problem.graph.layers.size(); ++i) {
    const LayerTiles whole = problem.graph.tiles(static_cast<int>(i), Tiling());
    for (const Work &work : whole.work.front()) {
      CostModel::Floor floor = problem.costs.floor(work);
      compute += floor.compute;
      memory += floor.memory;
      both += std::max(floor.compute, floor.memory);
    }
  }
  double scale = 1e3 / static_cast<double>(problem.machine.devices());
  os << llvm::format(
      "no plan takes less than %.3f ms: every call at the rates of the data "
      "sheet, shared by %d devices (arithmetic %.3f, memory %.3f); this plan "
      "takes %.2f times that\n",
      both * scale, static_cast<int>(problem.machine.devices()),
      compute * scale, memory * scale, step * 1e3 / (both * scale));
}

std::string lwcc::plan::compareStrategies(const Problem &problem,
                                          const Plan &plan,
                                          llvm::StringRef name,
                                          double searched) {
  const LayerGraph &graph = problem.graph;
  struct Row {
    std::string name;
    double step;                    ///< seconds, of the program if that is made
    std::optional<Ticks> simulated; ///< unless the plan orders micro-batches,
                                    ///< of which the simulator knows nothing
    int64_t bytes, memory;
    double sum;      ///< seconds, of Eq. 1 (Price.h)
    double searched; ///< seconds
  };
  std::vector<Row> rows;
  Simulator simulator(problem);
  auto add = [&](llvm::StringRef name, const Plan &plan, double searched) {
    Tilings tilings = tilingsOf(graph, plan);
    simulator.simulate(tilings);
    Seconds sum;
    for (const Seconds &layer :
         priceOf(graph, tilings, problem.machine, problem.costs))
      sum += layer;
    Ticks simulated = simulator.step();
    double step = problem.finalists() > 0 ? problem.programStep(plan)
                                          : milliseconds(simulated) / 1e3;
    rows.push_back(
        {name.str(), step,
         plan.order.empty() ? std::optional(simulated) : std::nullopt,
         simulator.bytes(), simulator.memory(), sum.total(), searched});
  };
  Tilings data;
  std::string leftOut;
  // Searches take long: most run only on demand, without a budget none does.
  auto isQuick = [&](const Solver &solver) {
    return !solver.searches ||
           ((solver.name == "layerwise" || solver.name == "pipeline" ||
             solver.name == "hypergraph") &&
            problem.search.seconds > 0);
  };
  for (const Solver &solver : solvers()) {
    if (solver.name == name || !isQuick(solver) ||
        (solver.inMicroBatches && !problem.search.kept.empty()))
      continue;
    auto start = std::chrono::steady_clock::now();
    lwcc::plan::Plan made = solver.solve(problem);
    std::chrono::duration<double> took =
        std::chrono::steady_clock::now() - start;
    // One pass, or one micro-batch, is a strategy that is there already, or
    // leaves all devices but one idle.
    if (solver.inMicroBatches && made.order.empty())
      continue;
    // The simulator does not know such plans, nor can their programs be timed.
    if (!made.order.empty() && !problem.canTime(made)) {
      leftOut += (leftOut.empty() ? "" : ", ") + solver.name.str();
      continue;
    }
    add(solver.name, made, took.count());
    if (solver.name == "data")
      data = tilingsOf(graph, made);
  }
  add(name, plan, searched);
  rows.back().name += " *";
  const double step = rows.back().step;
  std::rotate(rows.begin(), rows.end() - 1, rows.end()); // first among equals
  if (data.empty())
    data = tilingsOf(graph, plan);
  llvm::stable_sort(rows,
                    [](const Row &a, const Row &b) { return a.step < b.step; });

  std::string text;
  llvm::raw_string_ostream os(text);
  os << "strategies by predicted step (" << problem.costs.source() << ", "
     << problem.machine.devices() << " devices; * is this plan):\n"
     << "  strategy          step, ms   simulated     sum, ms  images/s  "
        "exchanged, MiB  memory, MiB  search, s\n";
  for (const Row &row : rows) {
    os << "  " << llvm::left_justify(row.name, 14)
       << llvm::format("%12.3f", row.step * 1e3);
    if (row.simulated)
      os << llvm::format("%12.3f", milliseconds(*row.simulated));
    else
      os << llvm::right_justify("-", 12);
    os << llvm::format("%12.3f%10.0f%16.1f%13.1f", row.sum * 1e3,
                       static_cast<double>(graph.batch) / row.step,
                       static_cast<double>(row.bytes) / (1 << 20),
                       static_cast<double>(row.memory) / (1 << 20));
    if (row.searched > 0.0005)
      os << llvm::format("%11.3f", row.searched);
    os << (row.memory > problem.machine.device.memory ? "  does not fit\n"
                                                      : "\n");
  }
  if (!leftOut.empty())
    os << "  left out, since their programs are too large to be made here: "
       << leftOut << "\n";
  printBound(problem, step, os);
  if (!plan.remark.empty())
    os << plan.remark << "\n";
  if (!plan.groups.empty())
    os << describePipeline(problem, plan);
  else if (plan.order.empty())
    printReasons(problem, simulator, data, os);
  return text;
}
