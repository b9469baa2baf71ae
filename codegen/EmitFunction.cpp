//===- EmitFunction.cpp - One function for a group of devices -------------===//

#include "codegen/EmitFunction.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"

#include <algorithm>

using namespace mlir;
using namespace lwcc;

namespace {

class FunctionEmitter {
public:
  FunctionEmitter(const Group &group, const ProgramNames &names,
                  NumberTables &tables, CppWriter &out)
      : group(group), names(names), tables(tables), out(out),
        isMulti(names.devices.size() > 1) {}
  void function(const std::string &name, const std::string &comment,
                bool usesMachine);

private:
  void gap(size_t number);
  /// Prints one statement of several devices; at(d) is that of devices[d].
  void statement(const std::vector<int64_t> &devices,
                 llvm::function_ref<const Statement &(size_t)> at,
                 bool isFirst);

  std::string valueOf(const std::vector<int64_t> &devices,
                      llvm::function_ref<const Phrase &(size_t)> phrase);
  std::string itemOf(const std::vector<int64_t> &devices,
                     llvm::function_ref<const ItemList &(size_t)> list);
  std::string rangeOf(ItemList::Range range);
  std::string listVariable(StringRef callee, size_t argument);

  const Group &group;
  const ProgramNames &names;
  NumberTables &tables;
  CppWriter &out;
  const bool isMulti;
  std::map<std::string, int> variables; ///< how many have the name
};

} // namespace

std::string
FunctionEmitter::valueOf(const std::vector<int64_t> &devices,
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

/// The one item that stands for the items of all devices of a list (range
/// `everybody` or `others`), as an expression of the device `i` and the item's
/// owner `k`.
std::string
FunctionEmitter::itemOf(const std::vector<int64_t> &devices,
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

std::string FunctionEmitter::rangeOf(ItemList::Range range) {
  return range == ItemList::everybody
             ? llvm::formatv("everybody({0})", names.devices.size()).str()
             : llvm::formatv("others({0}, i)", names.devices.size()).str();
}

/// The name of the variable for a list of many tensors, declared in front of
/// the call that takes the list.
std::string FunctionEmitter::listVariable(StringRef callee, size_t argument) {
  std::string base = callee != "transfer" ? "terms"
                     : argument == 1      ? "to"
                                          : "from";
  int number = ++variables[base];
  return number == 1 ? base : base + "_" + std::to_string(number);
}

void FunctionEmitter::statement(
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

/// A C++ condition: `i` is one of `some`, a proper subset of `devices`.
static std::string isOneOf(const std::vector<int64_t> &some,
                           const std::vector<int64_t> &devices,
                           NumberTables &tables) {
  auto text = [](StringRef relation, int64_t device) {
    return ("i " + relation + " " + Twine(device)).str();
  };
  if (some.size() == 1)
    return text("==", some[0]);
  auto first = llvm::find(devices, some.front());
  bool inRow = size_t(devices.end() - first) >= some.size() &&
               std::equal(some.begin(), some.end(), first);
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

/// Prints the waits and records in front of a call, under a condition if only
/// some devices have them.
void FunctionEmitter::gap(size_t number) {
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

void FunctionEmitter::function(const std::string &name,
                               const std::string &comment, bool usesMachine) {
  out.comment(comment);
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
    gap(n);
    statement(
        group.devices,
        [&](size_t d) -> const Statement & { return group.calls[d][n]; },
        /*isFirst=*/n == 0 && llvm::all_of(group.gaps, [](const auto &gaps) {
          return gaps[0].empty();
        }));
  }
  gap(count);
  out.dedent();
  out.line("}");
  out.line();
}

void lwcc::emitFunction(const std::string &name, const std::string &comment,
                        const Group &group, bool usesMachine,
                        const ProgramNames &names, NumberTables &tables,
                        CppWriter &out) {
  FunctionEmitter(group, names, tables, out)
      .function(name, comment, usesMachine);
}
