//===- EmitSequence.cpp - The functions of a sequence ---------------------===//

#include "codegen/EmitSequence.h"
#include "codegen/Statements.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/FormatVariadic.h"

#include <algorithm>

using namespace mlir;
using namespace lwcc;
using namespace lwcc::exec;

namespace {

/// What each device does between two waits for others.
struct Segment {
  bool forward = true;
  std::vector<std::vector<Operation *>> ops; ///< by device
};

/// Devices that do the same, and what.
struct Group {
  std::vector<int64_t> devices;
  std::vector<std::vector<Statement>> statements; ///< by device of the group
};

class SequenceEmitter {
public:
  SequenceEmitter(SequenceOp sequence, ProgramNames &names,
                  NumberTables &tables, CppWriter &out)
      : sequence(sequence), names(names), tables(tables), out(out),
        isMulti(names.devices.size() > 1) {}
  LogicalResult run(StringRef cppName);

private:
  void cut();
  void numberEvents();
  FailureOr<std::vector<Group>> groupsOf(const Segment &segment);
  void function(const std::string &name, const std::string &comment,
                const Group &group);
  void statement(const Group &group, size_t number);

  std::string valueOf(const Group &group,
                      llvm::function_ref<const Phrase &(size_t)> phrase);
  std::string itemOf(const Group &group,
                     llvm::function_ref<const ItemList &(size_t)> list);
  std::string rangeOf(ItemList::Range range);
  std::string listVariable(StringRef callee, size_t argument);
  int deviceOf(Operation *op);

  SequenceOp sequence;
  ProgramNames &names;
  NumberTables &tables;
  CppWriter &out;
  const bool isMulti;
  std::vector<Segment> segments;
  llvm::DenseMap<StringAttr, int> recorder; ///< device that records an event
  std::map<std::string, int> variables;     ///< of the function that is printed
  bool usesMachine = false;
};

} // namespace

static StringAttr laneOf(Operation *op) {
  return TypeSwitch<Operation *, StringAttr>(op)
      .Case<CallOp, RecordOp, WaitOp>(
          [](auto o) { return o.getLaneAttr().getAttr(); })
      .Default(StringAttr());
}

int SequenceEmitter::deviceOf(Operation *op) {
  StringAttr name = laneOf(op);
  auto lane = name ? names.symbols.lookup<LaneOp>(name) : LaneOp();
  return lane ? names.deviceOf(lane.getDevice()) : 0;
}

/// A lane goes on to a later segment where it waits for another device's event;
/// within a segment, a device's ops keep their order. All forward ops come
/// before the others.
void SequenceEmitter::cut() {
  size_t count = names.devices.size();
  llvm::DenseMap<StringAttr, size_t> levels; // of lanes
  size_t least = 0;
  llvm::DenseMap<StringAttr, size_t> recordedAt;
  bool forward = true;
  SmallVector<Operation *> unit; // a call with the waits before it
  for (Operation &op : sequence.getBody().front()) {
    unit.push_back(&op);
    if (isa<WaitOp>(op))
      continue;
    auto call = dyn_cast<CallOp>(op);
    if (forward && call && call.getPhase() != Phase::forward) {
      forward = false;
      least = segments.size();
    }
    size_t device = deviceOf(&op);
    size_t &level = levels[laneOf(&op)];
    level = std::max(level, least);
    for (Operation *before : unit)
      if (auto wait = dyn_cast<WaitOp>(before)) {
        StringAttr event = wait.getEventAttr().getAttr();
        auto recorded = recorder.find(event);
        assert(recorded != recorder.end() && "verified");
        bool isOwn = recorded->second == static_cast<int>(device);
        level = std::max(level, recordedAt[event] + (isOwn ? 0 : 1));
      }
    if (auto record = dyn_cast<RecordOp>(op)) {
      recorder[record.getEventAttr().getAttr()] = device;
      recordedAt[record.getEventAttr().getAttr()] = level;
    }
    if (segments.size() <= level)
      segments.resize(level + 1);
    Segment &segment = segments[level];
    segment.ops.resize(count);
    segment.forward = forward;
    llvm::append_range(segment.ops[device], unit);
    unit.clear();
  }
  assert(unit.empty() && "a wait is followed by what waits");
}

/// So that the events of devices that do the same follow each other: those
/// behind calls that make counterparts.
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
    made[tensor][deviceOf(record)].push_back(
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
    std::vector<Statement> statements = builder.take();
    std::string shape;
    for (const Statement &each : statements)
      shape += each.shape();
    Group &group = groups[shape];
    group.devices.push_back(device);
    group.statements.push_back(std::move(statements));
  }
  std::vector<Group> found;
  for (auto &[shape, group] : groups)
    found.push_back(std::move(group));
  return found;
}

//===----------------------------------------------------------------------===//
// Statements
//===----------------------------------------------------------------------===//

std::string
SequenceEmitter::valueOf(const Group &group,
                         llvm::function_ref<const Phrase &(size_t)> phrase) {
  std::vector<std::string> expressions;
  for (size_t n = 0; n < phrase(0).numbers().size(); ++n) {
    std::vector<int64_t> values;
    for (size_t d = 0; d < group.devices.size(); ++d)
      values.push_back(phrase(d).numbers()[n]);
    expressions.push_back(expressionFor("i", group.devices, values, tables));
  }
  return phrase(0).with(expressions);
}

/// The item that stands for those of many devices, over i and k.
std::string
SequenceEmitter::itemOf(const Group &group,
                        llvm::function_ref<const ItemList &(size_t)> list) {
  std::vector<std::string> expressions;
  const Phrase &first = list(0).items[0];
  for (size_t n = 0; n < first.numbers().size(); ++n) {
    std::vector<int64_t> atI, atK, values;
    for (auto [d, device] : llvm::enumerate(group.devices))
      for (auto [item, owner] :
           llvm::zip_equal(list(d).items, list(d).devices)) {
        atI.push_back(device);
        atK.push_back(owner);
        values.push_back(item.numbers()[n]);
      }
    expressions.push_back(
        expressionFor(atI, atK, values, names.devices.size(), tables));
  }
  return first.with(expressions);
}

std::string SequenceEmitter::rangeOf(ItemList::Range range) {
  return range == ItemList::everybody
             ? llvm::formatv("everybody({0})", names.devices.size()).str()
             : llvm::formatv("others({0}, i)", names.devices.size()).str();
}

/// What a list of many tensors is called, before the call that takes it.
std::string SequenceEmitter::listVariable(StringRef callee, size_t argument) {
  std::string base = callee != "transfer" ? "terms"
                     : argument == 1      ? "to"
                                          : "from";
  int number = ++variables[base];
  return number == 1 ? base : base + "_" + std::to_string(number);
}

void SequenceEmitter::statement(const Group &group, size_t number) {
  auto at = [&](size_t d) -> const Statement & {
    return group.statements[d][number];
  };
  const Statement &first = at(0);
  const std::string &lane = first.lane.shape(); // it has no numbers
  switch (first.kind) {
  case Statement::record:
    out.line("machine.event(" +
             valueOf(group,
                     [&](size_t d) -> const Phrase & { return at(d).event; }) +
             ").record(" + lane + ");");
    return;
  case Statement::wait: {
    auto events = [&](size_t d) -> const ItemList & { return at(d).events; };
    if (first.events.range != ItemList::few) {
      out.line("for (int64_t k : " + rangeOf(first.events.range) + ")");
      out.line("  machine.event(" + itemOf(group, events) + ").wait(" + lane +
               ");");
      return;
    }
    for (size_t n = 0; n < first.events.items.size(); ++n)
      out.line("machine.event(" +
               valueOf(group,
                       [&](size_t d) -> const Phrase & {
                         return events(d).items[n];
                       }) +
               ").wait(" + lane + ");");
    return;
  }
  case Statement::layer:
    if (number > 0)
      out.line();
    out.call(lane + ".layer", {CppArgument(first.arguments[0].phrase.shape()),
                               CppArgument(first.arguments[1].phrase.shape())});
    return;
  case Statement::call:
    break;
  }
  std::vector<CppArgument> arguments;
  for (size_t a = 0; a < first.arguments.size(); ++a) {
    auto argument = [&](size_t d) -> const Argument & {
      return at(d).arguments[a];
    };
    if (!first.arguments[a].isList) {
      arguments.push_back(
          CppArgument(valueOf(group, [&](size_t d) -> const Phrase & {
            return argument(d).phrase;
          })));
      continue;
    }
    auto list = [&](size_t d) -> const ItemList & { return argument(d).list; };
    if (list(0).range != ItemList::few) {
      std::string variable = listVariable(first.callee, a);
      out.lambda("Tensors " + variable,
                 "each(" + rangeOf(list(0).range) + ", [&](int64_t k)",
                 itemOf(group, list));
      arguments.push_back(CppArgument(variable));
      continue;
    }
    std::vector<std::string> items;
    for (size_t n = 0; n < list(0).items.size(); ++n)
      items.push_back(valueOf(
          group, [&](size_t d) -> const Phrase & { return list(d).items[n]; }));
    arguments.push_back(CppArgument(items));
  }
  out.call(first.callee, arguments);
}

//===----------------------------------------------------------------------===//
// Functions
//===----------------------------------------------------------------------===//

void SequenceEmitter::function(const std::string &name,
                               const std::string &comment, const Group &group) {
  out.comment(comment);
  variables.clear();
  std::vector<CppArgument> arguments;
  if (usesMachine)
    arguments.push_back(CppArgument("Machine &machine"));
  if (isMulti) {
    arguments.push_back(CppArgument("Gpus &gpu"));
    arguments.push_back(CppArgument("int64_t i"));
  } else {
    arguments.push_back(CppArgument("Device &d"));
  }
  out.signature("LWCC_ONCE void " + name, arguments);
  out.indent();
  if (isMulti)
    out.line("Device &d = gpu[i];");
  for (size_t n = 0; n < group.statements[0].size(); ++n)
    statement(group, n);
  out.dedent();
  out.line("}");
  out.line();
}

/// The layers of a group's calls: "conv1 to conv5".
static std::string layersOf(const Group &group) {
  std::string first, last;
  for (const Statement &statement : group.statements[0])
    if (statement.kind == Statement::layer) {
      last = statement.callee;
      if (first.empty())
        first = last;
    }
  return first == last ? first : first + " to " + last;
}

LogicalResult SequenceEmitter::run(StringRef cppName) {
  usesMachine = !names.events.empty();
  cut();
  numberEvents();
  std::vector<std::pair<std::string, std::vector<int64_t>>> calls;
  std::map<std::string, int> used;
  bool both = segments.empty() || !segments.back().forward;
  for (const Segment &segment : segments) {
    FailureOr<std::vector<Group>> groups = groupsOf(segment);
    if (failed(groups))
      return failure();
    for (const Group &group : *groups) {
      std::string name = sequence.getSymName().str() +
                         (segment.forward ? "_forward" : "_backward");
      int number = ++used[name];
      std::string comment =
          !segment.forward ? "Gradients; each parameter is updated as soon as "
                             "its gradient exists."
          : both ? "Batch statistics, dropout; saves what the backward pass "
                   "reads."
                 : "Running statistics, no dropout.";
      if (number > 1) {
        name += "_" + std::to_string(number);
        comment = layersOf(group) + ".";
      }
      function(name, comment, group);
      calls.push_back({name, group.devices});
    }
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
