//===- EmitSequence.cpp - The functions of a sequence ---------------------===//

#include "codegen/EmitSequence.h"
#include "codegen/EmitFunction.h"
#include "codegen/Segments.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/TypeSwitch.h"
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
        isMulti(names.devices.size() > 1) {}
  LogicalResult run(StringRef cppName);

private:
  void numberEvents();
  FailureOr<std::vector<Group>> groupsOf(const Segment &segment);
  std::string nameOf(const Segment &segment, const Group &group, bool only);

  SequenceOp sequence;
  ProgramNames &names;
  NumberTables &tables;
  CppWriter &out;
  const bool isMulti;
  llvm::DenseMap<StringAttr, int> recorder; ///< device that records an event
  NameTable functions;
};

} // namespace

/// Numbers events so that those recorded behind counterpart calls are
/// consecutive, by device: then an event's number is a linear function of the
/// device.
void SequenceEmitter::numberEvents() {
  llvm::MapVector<StringRef, std::map<int, std::vector<EventOp>>> made;
  for (auto record : sequence.getBody().getOps<RecordOp>()) {
    StringRef tensor;
    if (auto call = dyn_cast_or_null<CallOp>(record->getPrevNode()))
      for (Attribute out : call.getOuts())
        if (auto name = dyn_cast<FlatSymbolRefAttr>(out);
            name && tensor.empty())
          tensor = names.counterparts.nameOf(
              names.symbols.lookup<BufferOp>(name.getValue()));
    recorder[record.getEventAttr().getAttr()] = deviceOf(record, names);
    made[tensor][deviceOf(record, names)].push_back(
        names.symbols.lookup<EventOp>(record.getEvent()));
  }
  for (auto &[tensor, devices] : made)
    for (auto &[device, events] : devices)
      for (EventOp event : events)
        names.numberEvent(event);
}

FailureOr<std::vector<Group>>
SequenceEmitter::groupsOf(const Segment &segment) {
  llvm::MapVector<std::string, Group, std::map<std::string, unsigned>> groups;
  for (auto [device, ops] : llvm::enumerate(segment.ops)) {
    if (ops.empty())
      continue;
    StatementBuilder builder(names, device);
    for (Operation *op : ops) {
      int64_t number = 0, by = 0;
      TypeSwitch<Operation *>(op).Case<RecordOp, WaitOp>([&](auto sync) {
        number =
            names.eventNumber(names.symbols.lookup<EventOp>(sync.getEvent()));
        by = recorder.lookup(sync.getEventAttr().getAttr());
      });
      if (failed(builder.add(op, number, by)))
        return failure();
    }
    std::vector<Statement> calls;
    std::vector<Gap> gaps(1);
    std::string shape;
    for (Statement &each : builder.take())
      if (each.kind == Statement::record || each.kind == Statement::wait) {
        gaps.back().push_back(std::move(each));
      } else {
        shape += each.shape();
        calls.push_back(std::move(each));
        gaps.emplace_back();
      }
    Group &group = groups[shape];
    group.devices.push_back(device);
    group.calls.push_back(std::move(calls));
    group.gaps.push_back(std::move(gaps));
  }
  std::vector<Group> found;
  for (auto &[shape, group] : groups)
    found.push_back(std::move(group));
  return found;
}

/// The first and last layer of the calls of a group.
static std::pair<StringRef, StringRef> layersOf(const Group &group) {
  StringRef first, last;
  for (const Statement &statement : group.calls[0])
    if (statement.kind == Statement::layer) {
      last = statement.callee;
      if (first.empty())
        first = last;
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
    return "Gradients; each parameter is updated as soon as its gradient "
           "exists.";
  case Section::update:
    return "Updates, from the gradients of all devices, and the exchange of "
           "new values.";
  }
  llvm_unreachable("all sections covered");
}

/// The name of a group's function: "train_step_forward" if it is the only one
/// of its section, else with its layers, "train_step_forward_conv1_to_conv5".
std::string SequenceEmitter::nameOf(const Segment &segment, const Group &group,
                                    bool only) {
  std::string name =
      (sequence.getSymName() + "_" + ::nameOf(segment.section)).str();
  auto [first, last] = layersOf(group);
  if (!only && !first.empty())
    name += ("_" + first + (first == last ? "" : "_to_" + last)).str();
  return functions.fresh(name);
}

LogicalResult SequenceEmitter::run(StringRef cppName) {
  const bool usesMachine = !names.events.empty();
  numberEvents();
  std::vector<Segment> segments = segmentsOf(sequence, names);
  bool isTraining = llvm::any_of(segments, [](const Segment &segment) {
    return segment.section != Section::forward;
  });
  std::vector<std::pair<Segment *, Group>> groups;
  std::map<Section, int> counts;
  for (Segment &segment : segments) {
    FailureOr<std::vector<Group>> found = groupsOf(segment);
    if (failed(found))
      return failure();
    counts[segment.section] += found->size();
    for (Group &group : *found)
      groups.push_back({&segment, std::move(group)});
  }
  std::vector<std::pair<std::string, std::vector<int64_t>>> calls;
  std::set<Section> begun;
  for (auto &[segment, group] : groups) {
    std::string name =
        nameOf(*segment, group, /*only=*/counts[segment->section] == 1);
    auto [first, last] = layersOf(group);
    std::string comment =
        begun.insert(segment->section).second
            ? commentOf(segment->section, isTraining).str()
            : (first + (first == last ? "" : " to " + last) + ".").str();
    emitFunction(name, comment, group, usesMachine, names, tables, out);
    calls.push_back({name, group.devices});
  }

  out.line(("void " + cppName + "(Machine &machine) {").str());
  out.indent();
  if (isMulti)
    out.line(llvm::formatv("Gpus gpu = everyDevice<Device>(machine, {0});",
                           names.devices.size())
                 .str());
  else
    out.line("Device d(machine);");
  const std::string machine = usesMachine ? "machine, " : "";
  for (auto &[name, devices] : calls) {
    int64_t first = devices.front(), end = devices.back() + 1;
    bool inRow = end - first == static_cast<int64_t>(devices.size());
    if (!isMulti) {
      out.line(name + "(" + machine + "d);");
    } else if (devices.size() == 1) {
      out.line(name + "(" + machine + "gpu, " + std::to_string(first) + ");");
    } else {
      std::string range =
          inRow
              ? llvm::formatv("int64_t i = {0}; i < {1}; ++i", first, end).str()
              : "int64_t i : " + braced(devices);
      out.line("for (" + range + ")");
      out.line("  " + name + "(" + machine + "gpu, i);");
    }
  }
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
