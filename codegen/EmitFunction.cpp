//===- EmitFunction.cpp - One function for a group ------------------------===//

#include "codegen/EmitFunction.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Sequence.h"
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
  /// Some members of the group, by their numbers.
  using Members = std::vector<size_t>;

  Members all() const {
    auto numbers = llvm::seq(group.members.size());
    return {numbers.begin(), numbers.end()};
  }
  void gap(size_t number);
  /// Prints one statement of several members; at(n) is that of members[n].
  void statement(const Members &members,
                 llvm::function_ref<const Statement &(size_t)> at,
                 bool isFirst);

  std::vector<Variable> variablesOf(const Members &members) const;
  std::string valueOf(const Members &members,
                      llvm::function_ref<const Phrase &(size_t)> phrase);
  std::string itemOf(const Members &members,
                     llvm::function_ref<const ItemList &(size_t)> list);
  std::string conditionOf(const Members &members);
  std::string rangeOf(const ItemList &list);
  std::string listVariable(StringRef callee, size_t argument);

  const Group &group;
  const ProgramNames &names;
  NumberTables &tables;
  CppWriter &out;
  const bool isMulti;
  std::map<std::string, int> variables; ///< how many have the name
};

} // namespace

/// `i` and, where the group has several micro-batches, `m`.
std::vector<Variable>
FunctionEmitter::variablesOf(const Members &members) const {
  Variable i{"i", int64_t(names.devices.size()), {}};
  Variable m{"m", group.microBatches(), {}};
  for (size_t member : members) {
    i.at.push_back(group.members[member].device);
    m.at.push_back(group.members[member].microBatch);
  }
  if (!group.hasMicroBatches())
    return {i};
  return {i, m};
}

std::string
FunctionEmitter::valueOf(const Members &members,
                         llvm::function_ref<const Phrase &(size_t)> phrase) {
  std::vector<Variable> variables = variablesOf(members);
  std::vector<std::string> expressions;
  for (size_t n = 0; n < phrase(0).numbers().size(); ++n) {
    std::vector<int64_t> values;
    for (size_t at = 0; at < members.size(); ++at)
      values.push_back(phrase(at).numbers()[n]);
    expressions.push_back(expressionFor(variables, values, tables));
  }
  return phrase(0).with(expressions);
}

/// The one item that stands for all items behind the head of a list with a
/// range, as an expression of the members' variables and of `k`.
std::string
FunctionEmitter::itemOf(const Members &members,
                        llvm::function_ref<const ItemList &(size_t)> list) {
  const size_t head = list(0).head;
  const Phrase &first = list(0).items[head];
  Variable k{"k", int64_t(list(0).items.size() - head), {}};
  Members repeated;
  for (size_t at = 0; at < members.size(); ++at)
    for (int64_t number : list(at).numbers()) {
      repeated.push_back(members[at]);
      k.at.push_back(number);
      k.count = std::max(k.count, number + 1);
    }
  std::vector<Variable> variables = variablesOf(repeated);
  variables.push_back(k);
  std::vector<std::string> expressions;
  for (size_t n = 0; n < first.numbers().size(); ++n) {
    std::vector<int64_t> values;
    for (size_t at = 0; at < members.size(); ++at)
      for (const Phrase &item : ArrayRef(list(at).items).drop_front(head))
        values.push_back(item.numbers()[n]);
    expressions.push_back(expressionFor(variables, values, tables));
  }
  return first.with(expressions);
}

std::string FunctionEmitter::rangeOf(const ItemList &list) {
  if (list.range == ItemList::others)
    return llvm::formatv("others({0}, i)", names.devices.size()).str();
  if (list.range == ItemList::everybody)
    return llvm::formatv("everybody({0})", names.devices.size()).str();
  return llvm::formatv("upTo({0})", list.items.size() - list.head).str();
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
    const Members &members, llvm::function_ref<const Statement &(size_t)> at,
    bool isFirst) {
  const Statement &first = at(0);
  const std::string &lane = first.lane.shape(); // it has no numbers
  switch (first.kind) {
  case Statement::record:
    out.line("machine.event(" +
             valueOf(members,
                     [&](size_t d) -> const Phrase & { return at(d).event; }) +
             ").record(" + lane + ");");
    return;
  case Statement::wait: {
    auto events = [&](size_t d) -> const ItemList & { return at(d).events; };
    if (first.events.range != ItemList::few) {
      out.line("for (int64_t k : " + rangeOf(first.events) + ")");
      out.line("  machine.event(" + itemOf(members, events) + ").wait(" + lane +
               ");");
      return;
    }
    for (size_t n = 0; n < first.events.items.size(); ++n)
      out.line("machine.event(" +
               valueOf(members,
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
          CppArgument(valueOf(members, [&](size_t d) -> const Phrase & {
            return argument(d).phrase;
          })));
      continue;
    }
    auto list = [&](size_t d) -> const ItemList & { return argument(d).list; };
    auto item = [&](size_t n) {
      return valueOf(members, [&](size_t d) -> const Phrase & {
        return list(d).items[n];
      });
    };
    if (list(0).range != ItemList::few) {
      std::string variable = listVariable(first.callee, a);
      out.lambda("Tensors " + variable,
                 "each(" + rangeOf(list(0)) + ", [&](int64_t k)",
                 itemOf(members, list));
      for (size_t n = list(0).head; n-- > 0;)
        out.call(variable + ".insert",
                 {CppArgument(variable + ".begin()"), CppArgument(item(n))});
      arguments.push_back(CppArgument(variable));
      continue;
    }
    std::vector<std::string> items;
    for (size_t n = 0; n < list(0).items.size(); ++n)
      items.push_back(item(n));
    arguments.push_back(CppArgument(items));
  }
  out.call(first.callee, arguments);
}

/// A C++ condition that holds for these members of the group only.
std::string FunctionEmitter::conditionOf(const Members &members) {
  std::vector<int64_t> flags(group.members.size(), 0);
  for (size_t member : members)
    flags[member] = 1;
  return conditionFor(variablesOf(all()), flags, tables);
}

/// Prints the waits and records in front of a call, under a condition if only
/// some devices have them.
void FunctionEmitter::gap(size_t number) {
  llvm::MapVector<std::string, Members, std::map<std::string, unsigned>> alike;
  for (auto [n, member] : llvm::enumerate(group.members)) {
    std::string shape;
    for (const Statement &each : member.gaps[number])
      shape += each.shape();
    if (!shape.empty())
      alike[shape].push_back(n);
  }
  for (auto &[shape, members] : alike) {
    const Gap &first = group.members[members[0]].gaps[number];
    bool isConditional = members.size() < group.members.size();
    if (isConditional) {
      out.line("if (" + conditionOf(members) + ") {");
      out.indent();
    }
    for (size_t n = 0; n < first.size(); ++n)
      statement(
          members,
          [&, &members = members](size_t at) -> const Statement & {
            return group.members[members[at]].gaps[number][n];
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
  if (group.hasMicroBatches())
    arguments.push_back(CppArgument("int64_t m"));
  out.signature("LWCC_ONCE void " + name, arguments);
  out.indent();
  if (isMulti)
    out.line("Device &d = gpu[i];");
  const Members everyone = all();
  size_t count = group.members[0].calls.size();
  for (size_t n = 0; n < count; ++n) {
    gap(n);
    statement(
        everyone,
        [&](size_t at) -> const Statement & {
          return group.members[at].calls[n];
        },
        /*isFirst=*/n == 0 && llvm::all_of(group.members, [](const auto &each) {
          return each.gaps[0].empty();
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
