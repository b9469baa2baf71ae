//===- Lanes.cpp - Several compute lanes on each device -------------------===//

#include "passes/plan/solve/Lanes.h"
#include "passes/plan/solve/LanePlan.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace lwcc;
using namespace lwcc::plan;

/// Less than this is not worth the trouble: what a call takes on a whole device
/// and on a lane is measured in different programs, and a host's speed moves
/// by as much meanwhile.
static constexpr double leastGain = 1.08;
/// Nor are a few times of waking up: a lane that sleeps takes none of them or
/// several until it goes on.
static constexpr double leastWakings = 4;

/// "1.23x: 4.100 ms of calls, at best 3.300 ms (...)".
static std::string textOf(const LaneBound &bound) {
  return llvm::formatv("at most {0:f2}x: {1:f3} ms of calls one after the "
                       "other; the longest path takes {2:f3} ms, the "
                       "processor {3:f3}, the memory {4:f3}",
                       bound.gain(), bound.sum * 1e3, bound.path * 1e3,
                       bound.processors * 1e3, bound.memory * 1e3);
}

Plan lwcc::plan::addLanes(const Problem &problem, const Plan &plan) {
  struct Candidate {
    Plan plan;
    double step;   ///< seconds, as LaneProblem.h has it
    double waking; ///< seconds that a lane takes to wake up
  };
  std::vector<Candidate> candidates;
  Plan declined = plan;
  if (!plan.order.empty()) {
    declined.remark = "lanes: none, since the plan orders those it has";
    return declined;
  }
  // Devices of one processor are larger where the plan has fewer of them.
  const int64_t devices = devicesOf(problem, plan);
  const CostModel costs = problem.costs.forDevices(devices);
  auto isMeasured = [&](int64_t lanes) {
    return costs.lanesAreMeasured(lanes);
  };
  std::vector<int> counts = {2, 3, 4};
  const bool mayDecline = problem.search.lanes <= 0;
  if (!mayDecline)
    counts = {static_cast<int>(problem.search.lanes)};
  if (problem.search.lanes < 0)
    llvm::erase_if(counts, [&](int count) { return !isMeasured(count); });
  if (counts.empty())
    return plan;
  LaneBound bound;
  LanePlan one(problem, costs, plan, 1, Fragments::none);
  // Seconds of a step on one lane.
  double before = stepOf(one.lanes, LaneChoice(one.lanes.units, 0));
  bool anyPriced = false;
  for (int count : counts) {
    // Without a profile, lanes of a processor are priced as all else is.
    const bool isPriced = !mayDecline || isMeasured(count) ||
                          (problem.machine.oneProcessor && !costs.isMeasured());
    anyPriced |= isPriced;
    for (Fragments fragments :
         {Fragments::none, Fragments::ofImages, Fragments::ofAll}) {
      LanePlan lanes(problem, costs, plan, count, fragments);
      LaneBound own = boundOf(lanes.lanes);
      own.sum = before; // without what cutting costs
      if (bound.sum == 0 || (isPriced && own.gain() > bound.gain()))
        bound = own;
      if (mayDecline && (own.gain() < leastGain || !isPriced))
        continue;
      LaneChoice choice = solve(lanes.lanes);
      candidates.push_back({lanes.planOf(choice), stepOf(lanes.lanes, choice),
                            lanes.lanes.waking});
    }
  }
  auto decline = [&](const std::string &why) {
    declined.remark = "lanes: none; " + why + "\n  " + textOf(bound);
    return declined;
  };
  if (!anyPriced && problem.machine.oneProcessor)
    return decline(llvm::formatv("no costs of calls on a part of the "
                                 "processor; lwcc profile --gpus={0} adds them",
                                 2 * devices)
                       .str());
  if (mayDecline && bound.gain() < leastGain)
    return decline(llvm::formatv("the bound leaves less than {0:f0} %",
                                 100 * (leastGain - 1))
                       .str());
  if (!anyPriced)
    return decline("no costs say how much of a GPU calls use");
  // Programs take time to make: only of what looks best.
  llvm::stable_sort(candidates, [](const Candidate &a, const Candidate &b) {
    return a.step < b.step;
  });
  constexpr size_t finalists = 4;
  if (problem.timesPrograms()) {
    candidates.resize(std::min(candidates.size(), finalists));
    before = problem.programStep(plan);
    for (Candidate &candidate : candidates)
      candidate.step = problem.programStep(candidate.plan);
  }
  auto best =
      llvm::min_element(candidates, [](const Candidate &a, const Candidate &b) {
        return a.step < b.step;
      });
  const double gain = before / best->step;
  const bool isEnough =
      gain >= leastGain && before - best->step >= leastWakings * best->waking;
  if (mayDecline && !isEnough)
    return decline(
        llvm::formatv("the quickest is predicted to be {0:f2}x{1}", gain,
                      gain < leastGain ? "" : ", less than waiting may cost")
            .str());
  const int used = lanesOf(best->plan);
  best->plan.remark =
      llvm::formatv("lanes: {0} on each device, predicted to be {1:f2}x as "
                    "quick as one\n  {2}",
                    used, gain, textOf(bound));
  best->plan.strategy += llvm::formatv(", {0} lanes", used);
  return best->plan;
}
