//===- EmitSequence.cpp - The functions of a sequence ---------------------===//

#include "codegen/EmitSequence.h"
#include "codegen/Segments.h"
#include "codegen/Statements.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/FormatVariadic.h"

#include <algorithm>
#include <set>

using namespace mlir;
using namespace lwcc;
using namespace lwcc::exec;

namespace {

/// What stands before one call, or behind the last: waits and records, in which
/// devices may differ that otherwise do the same.
using Gap = std::vector<Statement>;

/// Devices that do the same, and what: gaps[d][n] stands before calls[d][n].
struct Group {
  std::vector<int64_t> devices;
  std::vector<std::vector<Statement>> calls; ///< by device of the group
  std::vector<std::vector<Gap>> gaps;        ///< one more
};

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
  void function(const std::string &name, const std::string &comment,
                const Group &group);
  void gap(const Group &group, size_t number);
  void statement(const std::vector<int64_t> &devices,
                 llvm::function_ref<const Statement &(size_t)> at,
                 bool isFirst);

  std::string valueOf(const std::vector<int64_t> &devices,
                      llvm::function_ref<const Phrase &(size_t)> phrase);
  std::string itemOf(const std::vector<int64_t> &devices,
                     llvm::function_ref<const ItemList &(size_t)> list);
  std::string rangeOf(ItemList::Range range);
  std::string listVariable(StringRef callee, size_t argument);

  SequenceOp sequence;
  ProgramNames &names;
  NumberTables &tables;
  CppWriter &out;
  const bool isMulti;
  llvm::DenseMap<StringAttr, int> recorder; ///< device that records an event
  NameTable functions;
  std::map<std::string, int> variables; ///< of the function that is printed
  bool usesMachine = false;
};

} // namespace

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

//===----------------------------------------------------------------------===//
// Statements
//===----------------------------------------------------------------------===//

std::string
SequenceEmitter::valueOf(const std::vector<int64_t> &devices,
                         llvm::function_ref<const Phrase &(size_t)> phrase) {
  std::vector<std::string> expressions;
  for (size_t n = 0; n < phrase(0).numbers().size(); ++n) {
    std::vector<int64_t> values;
    for (size_t d = 0; d < devices.size(); ++d)
      values.push_back(phrase(d).numbers()[n]);
    expressions.push_back(expressionFor("i", devices, values, tables));
  }
  return phrase(0).with(expressions);
}

/// The item that stands for those of many devices, over i and k.
std::string
SequenceEmitter::itemOf(const std::vector<int64_t> &devices,
                        llvm::function_ref<const ItemList &(size_t)> list) {
  std::vector<std::string> expressions;
  const Phrase &first = list(0).items[0];
  for (size_t n = 0; n < first.numbers().size(); ++n) {
    std::vector<int64_t> atI, atK, values;
    for (auto [d, device] : llvm::enumerate(devices))
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

void SequenceEmitter::statement(
    const std::vector<int64_t> &devices,
    llvm::function_ref<const Statement &(size_t)> at, bool isFirst) {
  const Statement &first = at(0);
  const std::string &lane = first.lane.shape(); // it has no numbers
  switch (first.kind) {
  case Statement::record:
    out.line("machine.event(" +
             valueOf(devices,
                     [&](size_t d) -> const Phrase & { return at(d).event; }) +
             ").record(" + lane + ");");
    return;
  case Statement::wait: {
    auto events = [&](size_t d) -> const ItemList & { return at(d).events; };
    if (first.events.range != ItemList::few) {
      out.line("for (int64_t k : " + rangeOf(first.events.range) + ")");
      out.line("  machine.event(" + itemOf(devices, events) + ").wait(" + lane +
               ");");
      return;
    }
    for (size_t n = 0; n < first.events.items.size(); ++n)
      out.line("machine.event(" +
               valueOf(devices,
                       [&](size_t d) -> const Phrase & {
                         return events(d).items[n];
                       }) +
               ").wait(" + lane + ");");
    return;
  }
  case Statement::layer:
    if (!isFirst)
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
          CppArgument(valueOf(devices, [&](size_t d) -> const Phrase & {
            return argument(d).phrase;
          })));
      continue;
    }
    auto list = [&](size_t d) -> const ItemList & { return argument(d).list; };
    if (list(0).range != ItemList::few) {
      std::string variable = listVariable(first.callee, a);
      out.lambda("Tensors " + variable,
                 "each(" + rangeOf(list(0).range) + ", [&](int64_t k)",
                 itemOf(devices, list));
      arguments.push_back(CppArgument(variable));
      continue;
    }
    std::vector<std::string> items;
    for (size_t n = 0; n < list(0).items.size(); ++n)
      items.push_back(valueOf(devices, [&](size_t d) -> const Phrase & {
        return list(d).items[n];
      }));
    arguments.push_back(CppArgument(items));
  }
  out.call(first.callee, arguments);
}

/// That `i` is one of `some`, which are not all of `devices`.
static std::string isOneOf(const std::vector<int64_t> &some,
                           const std::vector<int64_t> &devices,
                           NumberTables &tables) {
  auto text = [](StringRef relation, int64_t device) {
    return ("i " + relation + " " + Twine(device)).str();
  };
  if (some.size() == 1)
    return text("==", some[0]);
  auto first = llvm::find(devices, some.front());
  bool inRow = std::equal(some.begin(), some.end(), first,
                          std::min(first + some.size(), devices.end()));
  if (inRow && first == devices.begin())
    return text("<=", some.back());
  if (inRow && some.back() == devices.back())
    return text(">=", some.front());
  if (some.size() + 1 == devices.size())
    for (int64_t device : devices)
      if (!llvm::is_contained(some, device))
        return text("!=", device);
  std::vector<int64_t> flags;
  for (int64_t device : devices)
    flags.push_back(llvm::is_contained(some, device));
  return expressionFor("i", devices, flags, tables);
}

/// Waits and records, for those devices that have them.
void SequenceEmitter::gap(const Group &group, size_t number) {
  llvm::MapVector<std::string, std::vector<size_t>,
                  std::map<std::string, unsigned>>
      alike;
  for (size_t d = 0; d < group.devices.size(); ++d) {
    std::string shape;
    for (const Statement &each : group.gaps[d][number])
      shape += each.shape();
    if (!shape.empty())
      alike[shape].push_back(d);
  }
  for (auto &[shape, members] : alike) {
    std::vector<int64_t> devices;
    for (size_t d : members)
      devices.push_back(group.devices[d]);
    const Gap &first = group.gaps[members[0]][number];
    bool isConditional = devices.size() < group.devices.size();
    if (isConditional) {
      out.line("if (" + isOneOf(devices, group.devices, tables) + ") {");
      out.indent();
    }
    for (size_t n = 0; n < first.size(); ++n)
      statement(
          devices,
          [&](size_t d) -> const Statement & {
            return group.gaps[members[d]][number][n];
          },
          /*isFirst=*/false);
    if (isConditional) {
      out.dedent();
      out.line("}");
    }
  }
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
  size_t count = group.calls[0].size();
  for (size_t n = 0; n < count; ++n) {
    gap(group, n);
    statement(
        group.devices,
        [&](size_t d) -> const Statement & { return group.calls[d][n]; },
        /*isFirst=*/n == 0 && llvm::all_of(group.gaps, [](const auto &gaps) {
          return gaps[0].empty();
        }));
  }
  gap(group, count);
  out.dedent();
  out.line("}");
  out.line();
}

/// The first and the last layer of a group's calls.
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

/// "train_step_forward", or with its layers if that is not the only one:
/// "train_step_forward_conv1_to_conv5".
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
  usesMachine = !names.events.empty();
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
    function(name, comment, group);
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
