//===- Bars.cpp - The bars of a timeline ----------------------------------===//

#include "tools/report/Bars.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <map>
#include <tuple>

using namespace lwcc;
using namespace lwcc::report;
using plan::Program;
using plan::ProgramTime;

/// Makes two bars of a lane one if they are of one turn, or too short for two.
static bool join(Bar &last, const Bar &next, double shortest) {
  if (next.begin - last.end >= shortest)
    return false;
  const bool sameTurn = last.phase == next.phase && last.batch == next.batch &&
                        (next.batch >= 0 || last.layer == next.layer);
  if (!sameTurn && std::max(last.seconds(), next.seconds()) >= shortest)
    return false;
  if (next.longest > last.longest) {
    last.longest = next.longest;
    last.layer = next.layer;
    last.phase = next.phase;
    last.batch = next.batch;
  }
  last.turns += !sameTurn;
  ++last.calls;
  last.end = next.end;
  return true;
}

/// Of any number.
static std::vector<std::vector<Bar>>
allBarsOf(const ProgramTime &time, bool inMicroBatches, double shortest) {
  std::vector<std::vector<Bar>> lanes(time.program.lanes.size());
  // Calls of a layer on a device come in the order of micro-batches.
  std::map<std::tuple<int, llvm::StringRef, llvm::StringRef, llvm::StringRef>,
           int>
      counts;
  std::vector<const ProgramTime::TimedCall *> calls;
  for (const ProgramTime::TimedCall &timed : time.calls)
    if (timed.seconds > 0)
      calls.push_back(&timed);
  llvm::stable_sort(
      calls, [](const auto *a, const auto *b) { return a->begin < b->begin; });
  for (const ProgramTime::TimedCall *timed : calls) {
    const Program::Call &call = time.program.calls[timed->call];
    Bar bar{call.layer, call.phase};
    bar.begin = timed->begin;
    bar.end = timed->begin + timed->seconds;
    if (inMicroBatches && call.phase != "update")
      bar.batch = counts[{timed->lane, call.layer, call.phase, call.callee}]++;
    bar.longest = timed->seconds;
    std::vector<Bar> &lane = lanes[timed->lane];
    if (lane.empty() || !join(lane.back(), bar, shortest))
      lane.push_back(bar);
  }
  return lanes;
}

std::vector<std::vector<Bar>>
report::barsOf(const ProgramTime &time, bool inMicroBatches, double shortest) {
  constexpr size_t most = 20000;
  for (;; shortest *= 2) {
    auto lanes = allBarsOf(time, inMicroBatches, shortest);
    size_t count = 0;
    for (const std::vector<Bar> &bars : lanes)
      count += bars.size();
    if (count <= std::max(most, lanes.size()))
      return lanes;
  }
}
