//===- EmitSequence.cpp - The functions of a sequence ---------------------===//

#include "codegen/EmitSequence.h"
#include "codegen/EmitFunction.h"
#include "codegen/Loops.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"

#include <set>

using namespace mlir;
using namespace lwcc;
using namespace lwcc::exec;

namespace {

class SequenceEmitter {
public:
  SequenceEmitter(SequenceOp sequence, ProgramNames &names,
                  NumberTables &tables, CppWriter &out)
      : sequence(sequence), names(names), tables(tables), out(out),
        isMulti(names.devices.size() > 1), usesMachine(!names.events.empty()) {}
  LogicalResult run(StringRef cppName);

private:
  void numberEvents();
  std::string nameOf(const Group &group, bool only);
  void step(const Step &step, const std::string &function, bool hasMicroBatches,
            const std::string &microBatch);
  void loop(const Loop &loop, ArrayRef<std::string> functions,
            ArrayRef<Group> groups);

  SequenceOp sequence;
  ProgramNames &names;
  NumberTables &tables;
  CppWriter &out;
  const bool isMulti, usesMachine;
  NameTable functions;
};

} // namespace

/// Numbers events so that those recorded behind counterpart calls are
/// consecutive, by device and micro-batch: then an event's number is a linear
/// function of these.
void SequenceEmitter::numberEvents() {
  using OfDevice = std::multimap<int64_t, EventOp>; // by number in the series
  llvm::MapVector<StringRef, std::map<int, OfDevice>> made;
  for (auto record : sequence.getBody().getOps<RecordOp>()) {
    BufferOp tensor;
    if (auto call = dyn_cast_or_null<CallOp>(record->getPrevNode()))
      for (Attribute out : call.getOuts())
        if (auto name = dyn_cast<FlatSymbolRefAttr>(out); name && !tensor)
          tensor = names.symbols.lookup<BufferOp>(name.getValue());
    StringRef series;
    int64_t number = 0;
    if (tensor) {
      series = names.counterparts.seriesOf(tensor).name;
      number = names.counterparts.seriesOf(tensor).number;
    }
    made[series][deviceOf(record, names)].insert(
        {number, names.symbols.lookup<EventOp>(record.getEvent())});
  }
  for (auto &[series, devices] : made)
    for (auto &[device, events] : devices)
      for (auto [number, event] : events)
        names.numberEvent(event);
}

/// The first layer of the calls of a group, and the last that is another.
static std::pair<StringRef, StringRef> layersOf(const Group &group) {
  StringRef first, last;
  for (const Statement &statement : group.members[0].calls)
    if (statement.kind == Statement::layer) {
      if (first.empty())
        first = statement.callee;
      if (last.empty() || first != statement.callee)
        last = statement.callee;
    }
  return {first, last};
}

static StringRef nameOf(Section section) {
  switch (section) {
  case Section::forward:
    return "forward";
  case Section::backward:
    return "backward";
  case Section::update:
    return "update";
  }
  llvm_unreachable("all sections covered");
}

static StringRef commentOf(Section section, bool isTraining) {
  switch (section) {
  case Section::forward:
    return isTraining ? "Batch statistics, dropout; saves what the backward "
                        "pass reads."
                      : "Running statistics, no dropout.";
  case Section::backward:
    return "Gradients, and the updates of parameters that one device alone "
           "holds.";
  case Section::update:
    return "Updates, from the gradients of all devices, and the exchange of "
           "new values.";
  }
  llvm_unreachable("all sections covered");
}

/// The name of a group's function: "train_step_forward" if it is the only one
/// of its section, else with its layers, "train_step_forward_conv1_to_conv5".
std::string SequenceEmitter::nameOf(const Group &group, bool only) {
  std::string name =
      (sequence.getSymName() + "_" + ::nameOf(group.section)).str();
  auto [first, last] = layersOf(group);
  if (!only && !first.empty())
    name += ("_" + first + (first == last ? "" : "_to_" + last)).str();
  return functions.fresh(name);
}

/// C++ for a list of ascending numbers.
static std::string numbersOf(ArrayRef<int64_t> numbers) {
  std::vector<std::string> ranges;
  for (size_t begin = 0, end; begin < numbers.size(); begin = end) {
    for (end = begin + 1;
         end < numbers.size() && numbers[end] == numbers[end - 1] + 1;)
      ++end;
    ranges.push_back(braced({numbers[begin], numbers[end - 1] + 1}));
  }
  constexpr size_t worthIt = 3; // numbers of a range
  return ranges.size() * worthIt > numbers.size()
             ? braced(numbers)
             : "ranges({" + llvm::join(ranges, ", ") + "})";
}

/// Prints the call of a function on the devices of a step.
void SequenceEmitter::step(const Step &step, const std::string &function,
                           bool hasMicroBatches,
                           const std::string &microBatch) {
  int64_t first = step.devices.front(), end = step.devices.back() + 1;
  bool isLoop = step.devices.size() > 1;
  bool inRow = end - first == static_cast<int64_t>(step.devices.size());
  if (isLoop)
    out.line(
        "for (" +
        (inRow
             ? llvm::formatv("int64_t i = {0}; i < {1}; ++i", first, end).str()
             : "int64_t i : " + numbersOf(step.devices)) +
        ")");
  std::vector<CppArgument> arguments;
  if (usesMachine)
    arguments.push_back(CppArgument("machine"));
  if (isMulti) {
    arguments.push_back(CppArgument("gpu"));
    arguments.push_back(CppArgument(isLoop ? "i" : std::to_string(first)));
  } else {
    arguments.push_back(CppArgument("d"));
  }
  if (hasMicroBatches)
    arguments.push_back(CppArgument(microBatch));
  if (isLoop)
    out.indent();
  out.call(function, arguments);
  if (isLoop)
    out.dedent();
}

void SequenceEmitter::loop(const Loop &loop, ArrayRef<std::string> functions,
                           ArrayRef<Group> groups) {
  int64_t first = loop.steps[0].microBatch;
  bool isLoop = loop.times > 1;
  bool isBraced = loop.steps.size() > 1 || loop.steps[0].devices.size() > 1;
  if (isLoop) {
    std::string next =
        loop.advance == 1 ? "++m" : "m += " + std::to_string(loop.advance);
    out.line(llvm::formatv("for (int64_t m = {0}; m < {1}; {2}){3}", first,
                           first + loop.times * loop.advance, next,
                           isBraced ? " {" : "")
                 .str());
    out.indent();
  }
  for (const Step &each : loop.steps) {
    int64_t ahead = each.microBatch - first;
    std::string microBatch = !isLoop      ? std::to_string(each.microBatch)
                             : ahead == 0 ? "m"
                             : ahead > 0  ? "m + " + std::to_string(ahead)
                                          : "m - " + std::to_string(-ahead);
    step(each, functions[each.group], groups[each.group].hasMicroBatches(),
         microBatch);
  }
  if (isLoop) {
    out.dedent();
    if (isBraced)
      out.line("}");
  }
}

namespace {
/// A text that may be printed: its functions, and their calls.
struct Draft {
  explicit Draft(Grouping grouping)
      : groups(std::move(grouping.groups)), loops(rollUp(grouping.steps)) {}
  std::vector<Group> groups;
  std::vector<Loop> loops;

  /// About how many lines it has.
  size_t lines() const {
    constexpr size_t frame = 6; // of a function
    size_t lines = 0;
    for (const Group &group : groups)
      lines += frame + group.members[0].calls.size();
    for (const Loop &loop : loops)
      lines += loop.steps.size() + (loop.times > 1 ? 2 : 0);
    return lines;
  }
};
} // namespace

LogicalResult SequenceEmitter::run(StringRef cppName) {
  numberEvents();
  FailureOr<Grouping> whole = groupsOf(sequence, names, /*byMicroBatch=*/false);
  if (failed(whole))
    return failure();
  Draft draft(std::move(*whole));
  // Micro-batches get functions of their own where that makes the text shorter:
  // not where each layer does all of them before the next begins.
  if (hasMicroBatches(sequence, names)) {
    FailureOr<Grouping> tasks =
        groupsOf(sequence, names, /*byMicroBatch=*/true);
    if (failed(tasks))
      return failure();
    if (Draft folded(std::move(*tasks)); folded.lines() < draft.lines())
      draft = std::move(folded);
  }

  bool isTraining = false;
  std::map<Section, int> counts;
  for (const Group &group : draft.groups) {
    isTraining |= group.section != Section::forward;
    ++counts[group.section];
  }
  std::set<Section> begun;
  std::vector<std::string> functionNames;
  for (const Group &group : draft.groups) {
    functionNames.push_back(nameOf(group, /*only=*/counts[group.section] == 1));
    auto [first, last] = layersOf(group);
    std::string comment =
        begun.insert(group.section).second
            ? commentOf(group.section, isTraining).str()
            : (first + (first == last ? "" : " to " + last) + ".").str();
    emitFunction(functionNames.back(), comment, group, usesMachine, names,
                 tables, out);
  }

  out.line(("void " + cppName + "(Machine &machine) {").str());
  out.indent();
  if (isMulti)
    out.line(llvm::formatv("Gpus gpu = everyDevice<Device>(machine, {0});",
                           names.devices.size())
                 .str());
  else
    out.line("Device d(machine);");
  for (const Loop &each : draft.loops)
    loop(each, functionNames, draft.groups);
  out.dedent();
  out.line("}");
  out.line();
  return success();
}

LogicalResult lwcc::emitSequence(SequenceOp sequence, StringRef cppName,
                                 ProgramNames &names, NumberTables &tables,
                                 CppWriter &out) {
  return SequenceEmitter(sequence, names, tables, out).run(cppName);
}
