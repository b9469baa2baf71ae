//===- TracedProgram.cpp - What a trace says of a program's calls ---------===//

#include "tools/lwcc/TracedProgram.h"
#include "codegen/ProgramNames.h"
#include "ir/train/Train.h"
#include "passes/plan/model/Call.h"
#include "passes/plan/price/Profile.h"
#include "tools/lwcc/Build.h"

#include <limits>
#include <map>

using namespace mlir;
using namespace lwcc;

TracedProgram::TracedProgram(exec::ProgramOp program)
    : hash(textOf(program, "exec.hash")),
      precision(textOf(program, "exec.precision")),
      batch(numberOf(program, "exec.batch")) {
  SymbolTable symbols(program);
  llvm::DenseMap<StringAttr, size_t> numbers;
  for (auto lane : program.getBody().getOps<exec::LaneOp>()) {
    numbers.try_emplace(lane.getSymNameAttr(), numbers.size());
    computing.insert(lane.getDevice().str());
  }
  lanes.resize(numbers.size());
  // What a lane had called when it recorded an event, and what it has waited
  // for since its last call.
  llvm::DenseMap<StringAttr, Position> recorded;
  std::vector<std::vector<Position>> awaited(lanes.size());
  auto step = symbols.lookup<exec::SequenceOp>(train::trainStepFunc);
  for (Operation &op : step.getBody().front()) {
    if (auto record = dyn_cast<exec::RecordOp>(op)) {
      size_t lane = numbers.lookup(record.getLaneAttr().getAttr());
      if (!lanes[lane].empty())
        recorded[record.getEventAttr().getAttr()] = {lane,
                                                     lanes[lane].size() - 1};
    } else if (auto wait = dyn_cast<exec::WaitOp>(op)) {
      auto event = recorded.find(wait.getEventAttr().getAttr());
      if (event != recorded.end())
        awaited[numbers.lookup(wait.getLaneAttr().getAttr())].push_back(
            event->second);
    } else if (auto call = dyn_cast<exec::CallOp>(op)) {
      size_t lane = numbers.lookup(call.getLaneAttr().getAttr());
      plan::PricedCall priced = plan::describe(call, symbols);
      lanes[lane].push_back({call.getCallee().str(), priced.work.key,
                             priced.work.amount(),
                             std::exchange(awaited[lane], {})});
    }
  }
}

/// Of calls that had to wait: what passed after they could have begun.
void TracedProgram::addWaking(CallSamples &samples, const Step &step) const {
  for (size_t lane = 0; lane < lanes.size(); ++lane)
    for (size_t i = 1; i < lanes[lane].size(); ++i) {
      double ready = 0;
      for (Position call : lanes[lane][i].after)
        ready = std::max(ready, step[call.lane][call.number].end);
      if (ready > step[lane][i - 1].end)
        samples.seconds.push_back(step[lane][i].begin - ready);
    }
}

llvm::Error TracedProgram::check(const CallTimes &times) const {
  if (times.hash != hash)
    return makeError("it is of another model");
  if (times.batch != batch)
    return makeError("it is of --batch=" + llvm::Twine(times.batch) +
                     ", the program of " + llvm::Twine(batch));
  if (times.precision != precision)
    return makeError("it is of --precision=" + times.precision +
                     ", the program of " + precision);
  size_t all = 0;
  for (const std::vector<Call> &lane : lanes)
    all += lane.size();
  std::map<int64_t, std::set<std::pair<size_t, size_t>>> seen; // by step
  for (const CallTimes::Call &traced : times.calls) {
    const std::vector<Call> *lane =
        traced.lane < lanes.size() ? &lanes[traced.lane] : nullptr;
    if (!lane || traced.number >= lane->size() ||
        (*lane)[traced.number].function != traced.function ||
        !seen[traced.step].insert({traced.lane, traced.number}).second)
      return makeError("call " + llvm::Twine(traced.number) + " of lane " +
                       llvm::Twine(traced.lane) + " in step " +
                       llvm::Twine(traced.step) + ", " + traced.function +
                       ", is not the program's");
  }
  for (const auto &[step, calls] : seen)
    if (calls.size() != all)
      return makeError("step " + llvm::Twine(step) + " has " +
                       llvm::Twine(calls.size()) + " calls, the program " +
                       llvm::Twine(all));
  return llvm::Error::success();
}

llvm::Error TracedProgram::addTo(llvm::StringMap<CallSamples> &samples,
                                 const CallTimes &times) const {
  if (llvm::Error error = check(times))
    return error;
  Step none;
  for (const std::vector<Call> &lane : lanes)
    none.emplace_back(lane.size());
  std::map<int64_t, Step> steps;
  for (const CallTimes::Call &traced : times.calls) {
    const Call &call = lanes[traced.lane][traced.number];
    CallSamples &known = samples[call.key];
    known.work = call.work;
    known.seconds.push_back(traced.seconds);
    steps.try_emplace(traced.step, none)
        .first->second[traced.lane][traced.number] = {
        traced.begin, traced.begin + traced.seconds};
  }
  double lastEnd = -1;
  for (const auto &[number, step] : steps) {
    addWaking(samples[plan::Profile::waking], step);
    double begin = std::numeric_limits<double>::infinity(), end = 0;
    for (const std::vector<Interval> &lane : step)
      for (const Interval &call : lane) {
        begin = std::min(begin, call.begin);
        end = std::max(end, call.end);
      }
    if (lastEnd >= 0)
      samples[plan::Profile::starting].seconds.push_back(begin - lastEnd);
    lastEnd = end;
  }
  return llvm::Error::success();
}
