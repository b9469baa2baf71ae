//===- StageProblem.cpp - The best stages of a pipeline -------------------===//
//
// Dynamic programming from the end of the model to its beginning, so that the
// number of stages behind a stage, and with it the stash, is known. What a cut
// of the end comes to is a label: of several numbers, each of which should be
// small. A label that is nowhere better than another one is dropped. So no
// bound of the busiest stage has to be tried one by one, as Alpa does.
//
//===----------------------------------------------------------------------===//

#include "passes/plan/solve/StageProblem.h"
#include "passes/plan/solve/SeriesParallel.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <limits>
#include <map>

using namespace lwcc;
using namespace lwcc::plan;

static constexpr double unlimited = std::numeric_limits<double>::infinity();

StageCosts lwcc::plan::costsOf(const StageProblem &problem,
                               llvm::ArrayRef<int> blocks, int64_t devices) {
  StageCosts costs;
  const auto share = static_cast<double>(devices);
  double exchanged = 0, in = 0, out = 0;
  for (int block : blocks) {
    const StageProblem::Block &each = problem.blocks[block];
    const StageTimes &times = each.times[devices / problem.unit - 1];
    costs.busy += times.busy();
    costs.drain += times.backward + times.weight;
    costs.held += each.held;
    costs.stash += each.activations / share;
    exchanged += each.exchanged;
  }
  auto isHere = [&](int block) { return llvm::is_contained(blocks, block); };
  for (const StageProblem::Tensor &tensor : problem.tensors) {
    size_t here = llvm::count_if(tensor.consumers, isHere);
    if (isHere(tensor.producer))
      out += here < tensor.consumers.size() ? tensor.bytes / share : 0;
    else if (here > 0)
      in += tensor.bytes / share;
  }
  if (in > 0)
    costs.arrival = problem.latency + in / problem.bandwidth;
  costs.link = (in + out) / problem.bandwidth;
  costs.drain += costs.arrival;
  costs.stash += in;
  if (devices > 1 && exchanged > 0)
    costs.sync = 2 * (problem.latency +
                      (share - 1) / share * exchanged / problem.bandwidth);
  return costs;
}

namespace {
/// What the stages from some point to the end come to.
struct Label {
  int64_t depth = 0, devices = 0; ///< stages on the longest way, devices used
  double through = 0;             ///< what a micro-batch takes, there and back
  double busiest = 0;             ///< stage or link
  double left = 0; ///< of the step when the point's gradients have arrived
  int trace = -1;  ///< in StageSearch::traces
};
using Front = std::vector<Label>;

/// What stands before a point, at least.
struct Ahead {
  double through = 0; ///< what a micro-batch takes
  double work = 0;    ///< the same, in seconds of a device
};

class StageSearch {
public:
  StageSearch(const StageProblem &problem, double limit)
      : problem(problem), limit(limit),
        replicas(std::min(problem.mostReplicas, problem.devices)) {
    std::vector<std::pair<int, int>> edges;
    for (const StageProblem::Tensor &tensor : problem.tensors)
      for (int consumer : tensor.consumers)
        edges.push_back({tensor.producer, consumer});
    series = seriesOf(static_cast<int>(problem.blocks.size()), edges);
  }
  std::optional<StageCut> solve();

private:
  const StageProblem &problem;
  const double limit;     ///< of `compared` in the exact search
  const int64_t replicas; ///< of a stage, at most
  Series series;
  std::vector<StageCut::Stage> tried;
  /// How a label was made: a stage, of `tried` or none, in front of what other
  /// traces tell, or none.
  struct Trace {
    int stage, rest, beside;
  };
  std::vector<Trace> traces;
  /// No label counts from which a step takes longer.
  double most = unlimited;
  bool coarse = false; ///< keeps one label for each depth and devices used
  double compared = 0; ///< labels that others were compared with

  Ahead aheadOf(const Series::Member &member) const;

  /// What a step takes at least.
  double costOf(const Label &label, const Ahead &ahead = {}) const {
    const auto left = static_cast<double>(problem.devices - label.devices);
    double busiest = label.busiest;
    if (ahead.work > 0)
      busiest = left > 0 ? std::max(busiest, ahead.work / left) : unlimited;
    // What is left at the end passes while the stages before go backward.
    return label.through + std::max(ahead.through, label.left) +
           (problem.batches > 1
                ? static_cast<double>(problem.batches - 1) * busiest
            : busiest < unlimited ? 0
                                  : unlimited);
  }
  /// Whether no way to go on is better from the other label.
  bool isAsGoodAs(const Label &label, const Label &other) const {
    return (label.depth == other.depth ||
            (label.depth < other.depth &&
             label.depth >= problem.leastStages)) &&
           label.devices <= other.devices && label.through <= other.through &&
           label.busiest <= other.busiest && label.left <= other.left;
  }
  int trace(int stage, int rest, int beside = -1) {
    traces.push_back({stage, rest, beside});
    return static_cast<int>(traces.size()) - 1;
  }
  /// The label in the front; null if it is not better than one there. Only what
  /// stays gets a trace, since far more is tried.
  Label *add(const Label &label, Front &front, const Ahead &ahead = {});
  bool isGivenUp() const { return !coarse && compared > limit; }
  void putInFront(llvm::ArrayRef<Series::Member> members, const Front &rest,
                  const Ahead &ahead, Front &front);
  void split(const Series::Member &member, const Front &rest,
             const Ahead &ahead, Front &front);
  Front run(const Series &series, const Front &end, bool isAll);
  void unwind(int trace, std::vector<StageCut::Stage> &stages) const;
};
} // namespace

Ahead StageSearch::aheadOf(const Series::Member &member) const {
  Ahead ahead;
  for (const Series &branch : member.branches) {
    Ahead sum;
    for (const Series::Member &each : branch.members) {
      Ahead more = aheadOf(each);
      sum.through += more.through;
      sum.work += more.work;
    }
    ahead.through = std::max(ahead.through, sum.through);
    ahead.work += sum.work;
  }
  if (!member.branches.empty())
    return ahead;
  ahead = {unlimited, unlimited};
  for (int64_t devices = problem.unit; devices <= replicas;
       devices += problem.unit) {
    double busy = problem.blocks[member.blocks[0]]
                      .times[devices / problem.unit - 1]
                      .busy();
    ahead.through = std::min(ahead.through, busy);
    ahead.work = std::min(ahead.work, busy * static_cast<double>(devices));
  }
  return ahead;
}

Label *StageSearch::add(const Label &label, Front &front, const Ahead &ahead) {
  if (costOf(label, ahead) > most || isGivenUp())
    return nullptr;
  compared += static_cast<double>(front.size());
  for (Label &known : front) {
    if (isAsGoodAs(known, label))
      return nullptr;
    if (coarse && known.depth == label.depth &&
        known.devices == label.devices) {
      if (costOf(label) >= costOf(known))
        return nullptr;
      known = label;
      return &known;
    }
  }
  llvm::erase_if(front,
                 [&](const Label &known) { return isAsGoodAs(label, known); });
  front.push_back(label);
  return &front.back();
}

/// Adds what `rest` becomes with a stage of these members in front of it.
void StageSearch::putInFront(llvm::ArrayRef<Series::Member> members,
                             const Front &rest, const Ahead &ahead,
                             Front &front) {
  std::vector<int> blocks;
  for (const Series::Member &member : members)
    blocks.insert(blocks.end(), member.blocks.begin(), member.blocks.end());
  for (int64_t devices = problem.unit; devices <= replicas;
       devices += problem.unit) {
    const StageCosts costs = costsOf(problem, blocks, devices);
    const auto stage = static_cast<int>(tried.size());
    tried.push_back({blocks, devices});
    for (const Label &label : rest) {
      Label made = label;
      ++made.depth;
      made.devices += devices;
      if (made.devices > problem.devices || made.depth > problem.mostStages ||
          costs.held + problem.stashes(made.depth) * costs.stash >
              problem.memory)
        continue;
      made.through += costs.busy + 2 * costs.arrival;
      made.busiest = std::max({made.busiest, costs.busy, costs.link});
      made.left = std::max(costs.sync, made.left - costs.drain);
      if (Label *added = add(made, front, ahead))
        added->trace = trace(stage, label.trace);
    }
  }
}

/// Adds what `rest` becomes with branches in front of it that have stages of
/// their own.
void StageSearch::split(const Series::Member &member, const Front &rest,
                        const Ahead &ahead, Front &front) {
  std::map<int64_t, std::vector<Front>> known; // by depth, of each branch
  for (const Label &label : rest) {
    auto [branches, isNew] = known.try_emplace(label.depth);
    if (isNew)
      for (const Series &branch : member.branches)
        branches->second.push_back(
            run(branch, {Label{.depth = label.depth}}, false));
    // While branches are combined, `through` is that of the longest alone.
    Front combined{label};
    combined[0].through = 0;
    for (const Front &branch : branches->second) {
      Front longer;
      for (const Label &some : combined)
        for (const Label &more : branch) {
          Label both;
          both.depth = std::max(some.depth, more.depth);
          both.devices = some.devices + more.devices;
          both.through = std::max(some.through, more.through);
          both.busiest = std::max(some.busiest, more.busiest);
          both.left = std::max(some.left, more.left);
          if (both.devices <= problem.devices)
            if (Label *added = add(both, longer))
              added->trace = trace(-1, some.trace, more.trace);
        }
      combined = std::move(longer);
    }
    for (Label &each : combined) {
      each.through += label.through;
      add(each, front, ahead);
    }
  }
}

/// The labels of a series in front of what `end` tells. `isAll`: it is the
/// whole model.
Front StageSearch::run(const Series &series, const Front &end, bool isAll) {
  const size_t count = series.members.size();
  std::vector<Ahead> ahead(count + 1);
  if (isAll)
    for (auto [i, member] : llvm::enumerate(series.members)) {
      Ahead more = aheadOf(member);
      ahead[i + 1] = {ahead[i].through + more.through,
                      ahead[i].work + more.work};
    }
  std::vector<Front> fronts(count + 1);
  fronts[count] = end;
  for (size_t begin = count; begin-- > 0;) {
    for (size_t last = begin + 1; last <= count && !isGivenUp(); ++last)
      putInFront(llvm::ArrayRef(series.members).slice(begin, last - begin),
                 fronts[last], ahead[begin], fronts[begin]);
    if (problem.splits && !series.members[begin].branches.empty())
      split(series.members[begin], fronts[begin + 1], ahead[begin],
            fronts[begin]);
  }
  return fronts[0];
}

/// The stages that a label is made of, the first ones first.
void StageSearch::unwind(int trace,
                         std::vector<StageCut::Stage> &stages) const {
  if (trace < 0)
    return;
  const Trace &made = traces[trace];
  if (made.stage >= 0)
    stages.push_back(tried[made.stage]);
  unwind(made.beside, stages);
  unwind(made.rest, stages);
}

std::optional<StageCut> StageSearch::solve() {
  std::optional<StageCut> best;
  // A coarse search first: what it finds bounds the exact one.
  for (bool first : {true, false}) {
    coarse = first;
    compared = 0;
    traces.clear();
    tried.clear();
    const Front found = run(series, {Label()}, true);
    if (isGivenUp())
      break;
    for (const Label &label : found) {
      if (label.depth < problem.leastStages)
        continue;
      if (best && costOf(label) >= best->cost)
        continue;
      best.emplace();
      best->cost = costOf(label);
      unwind(label.trace, best->stages);
      for (StageCut::Stage &stage : best->stages)
        llvm::sort(stage.blocks);
    }
    if (best)
      most = best->cost;
  }
  return best;
}

std::optional<StageCut> lwcc::plan::solveStages(const StageProblem &problem,
                                                double limit) {
  return StageSearch(problem, limit).solve();
}
