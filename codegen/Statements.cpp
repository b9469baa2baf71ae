//===- Statements.cpp - What a device does, op by op ----------------------===//

#include "codegen/Statements.h"
#include "ir/train/Expression.h"
#include "ir/train/Interfaces.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Sequence.h"

using namespace mlir;
using namespace lwcc;
using namespace lwcc::exec;

//===----------------------------------------------------------------------===//
// Names
//===----------------------------------------------------------------------===//

Phrase StatementBuilder::laneOf(StringRef name) {
  return Phrase("d." + names.memberOf(names.symbols.lookup<LaneOp>(name)));
}

Phrase StatementBuilder::tensor(Attribute operand, bool inList) {
  auto name = dyn_cast<FlatSymbolRefAttr>(operand);
  if (!name)
    return Phrase("{}");
  auto buffer = names.symbols.lookup<BufferOp>(name.getValue());
  int owner = names.deviceOf(buffer.getDevice());
  Phrase text;
  auto member = [&](BufferOp of) {
    if (inList || owner != device)
      text << "gpu[" << int64_t(owner) << "].";
    else
      text << "d.";
    text << names.memberOf(of);
    if (std::optional<int64_t> element = names.elementOf(of))
      text << "[" << *element << "]";
  };
  auto rows = names.rowsOf(buffer);
  std::optional<ArrayRef<int64_t>> window = buffer.getWindow();
  if (!rows && window) {
    // The buffer of the window may itself be no member.
    text << "part(" << tensor(buffer.getViewOfAttr(), inList) << ", {";
    for (auto [n, index] : llvm::enumerate(*window))
      text << (n ? ", " : "") << index;
    text << "}, {";
    for (auto [n, extent] : llvm::enumerate(buffer.getTensorType().getShape()))
      text << (n ? ", " : "") << extent;
    return text << "})";
  }
  if (rows && rows->whole.getType() == buffer.getType()) {
    member(rows->whole);
  } else if (rows) {
    text << "rows(";
    member(rows->whole);
    text << ", " << rows->begin << ", " << rows->end << ")";
  } else {
    member(buffer);
  }
  return text;
}

Argument StatementBuilder::listOf(ArrayRef<Attribute> operands) {
  Argument argument;
  argument.isList = true;
  for (Attribute operand : operands) {
    auto name = dyn_cast<FlatSymbolRefAttr>(operand);
    auto buffer =
        name ? names.symbols.lookup<BufferOp>(name.getValue()) : BufferOp();
    argument.list.devices.push_back(buffer ? names.deviceOf(buffer.getDevice())
                                           : device);
  }
  bool foreign = llvm::any_of(argument.list.devices,
                              [&](int64_t owner) { return owner != device; });
  for (Attribute operand : operands)
    argument.list.items.push_back(tensor(operand, foreign));
  setRange(argument.list);
  return argument;
}

void StatementBuilder::setRange(ItemList &list) {
  const int64_t count = names.devices.size();
  constexpr size_t worthIt = 3, tooLong = 8;
  if (list.items.size() < worthIt)
    return;
  const size_t head = list.items[0].shape() != list.items[1].shape();
  ArrayRef<Phrase> rest = ArrayRef(list.items).drop_front(head);
  if (llvm::any_of(rest, [&](const Phrase &item) {
        return item.shape() != rest[0].shape();
      }))
    return;
  std::vector<int64_t> all, peers;
  for (int64_t d = 0; d < count; ++d) {
    all.push_back(d);
    if (d != device)
      peers.push_back(d);
  }
  if (rest.size() >= tooLong)
    list.range = ItemList::many;
  if (head == 0 && list.devices == all)
    list.range = ItemList::everybody;
  else if (head == 0 && list.devices == peers)
    list.range = ItemList::others;
  if (list.range == ItemList::many)
    list.head = head;
}

//===----------------------------------------------------------------------===//
// Calls
//===----------------------------------------------------------------------===//

FailureOr<Phrase> StatementBuilder::parameter(CallOp op, NamedAttribute attr) {
  Attribute value = attr.getValue();
  Phrase text("." + attr.getName().str() + " = ");
  if (auto flag = dyn_cast<BoolAttr>(value)) {
    text << (flag.getValue() ? "true" : "false");
  } else if (auto number = dyn_cast<IntegerAttr>(value)) {
    text << number.getInt();
  } else if (auto number = dyn_cast<FloatAttr>(value)) {
    text << floatLiteral(static_cast<float>(number.getValueAsDouble()));
  } else if (auto list = dyn_cast<DenseI64ArrayAttr>(value)) {
    text << "{";
    for (auto [n, item] : llvm::enumerate(list.asArrayRef()))
      text << (n ? ", " : "") << item;
    text << "}";
  } else {
    return op.emitOpError("has a parameter that cannot be printed: ") << value;
  }
  return text;
}

LogicalResult StatementBuilder::addCall(CallOp op) {
  const train::Kernel *kernel =
      train::findKernel(op.getContext(), op.getCallee());
  assert(kernel && "verified");
  Statement statement;
  statement.callee = op.getCallee().str();
  statement.lane = laneOf(op.getLane());
  statement.arguments.push_back({statement.lane, false, {}});

  auto add = [&](ArrayRef<Attribute> list, train::Arity arity) {
    for (Attribute operand : list.take_front(arity.single))
      statement.arguments.push_back({tensor(operand, false), false, {}});
    if (arity.list)
      statement.arguments.push_back(listOf(list.drop_front(arity.single)));
  };
  ArrayRef<Attribute> ins = op.getIns().getValue();
  train::Arity results = kernel->resultArity();
  train::Arity operands = kernel->operandArity();
  add(op.getOuts().getValue(), results);
  if (auto kernelName = op.getKernel()) {
    // A generated kernel takes its inputs as a list, then the step's scalars if
    // its expression draws random numbers.
    auto generated = names.symbols.lookup<exec::KernelOp>(*kernelName);
    statement.callee += "<kernels::" + names.kernelName(*kernelName) + ">";
    unsigned inputs = generated.getInputs();
    statement.arguments.push_back(listOf(ins.take_front(inputs)));
    add(ins.drop_front(inputs), {unsigned(ins.size()) - inputs, false});
  } else {
    add(ins, operands);
  }
  // The targets of a transfer belong to the devices whose parts they receive.
  if (results.list && operands.list) {
    ItemList &to = statement.arguments[1].list;
    to.devices = statement.arguments[2].list.devices;
    setRange(to);
  }
  if (DictionaryAttr params = op.getParamsAttr(); params && !params.empty()) {
    Argument fields;
    fields.isList = true;
    for (NamedAttribute attr : params) {
      // A field that has its default is not printed.
      if (attr.getValue() == kernel->defaultOf(op.getContext(), attr.getName()))
        continue;
      FailureOr<Phrase> field = parameter(op, attr);
      if (failed(field))
        return failure();
      fields.list.items.push_back(*field);
    }
    statement.arguments.push_back(std::move(fields));
  }
  statements.push_back(std::move(statement));
  return success();
}

LogicalResult StatementBuilder::add(Operation *op, int64_t eventNumber,
                                    int64_t eventDevice) {
  if (auto wait = dyn_cast<WaitOp>(op)) {
    Phrase lane = laneOf(wait.getLane());
    if (statements.empty() || statements.back().kind != Statement::wait ||
        statements.back().lane.shape() != lane.shape()) {
      finishWaits();
      statements.emplace_back();
      statements.back().kind = Statement::wait;
      statements.back().lane = lane;
    }
    ItemList &events = statements.back().events;
    events.items.push_back(Phrase() << eventNumber);
    events.devices.push_back(eventDevice);
    return success();
  }
  finishWaits();
  if (auto record = dyn_cast<RecordOp>(op)) {
    statements.emplace_back();
    statements.back().kind = Statement::record;
    statements.back().lane = laneOf(record.getLane());
    statements.back().event = Phrase() << eventNumber;
    return success();
  }
  auto call = dyn_cast<CallOp>(op);
  if (!call)
    return op->emitOpError("has no printed form");
  // The lane is told its layer when that changes, for profiles and messages.
  auto &layer = current[call.getLane().str()];
  std::pair<StringRef, Phase> next = {call.getLayer(), call.getPhase()};
  if (next != layer) {
    layer = next;
    Statement told;
    told.kind = Statement::layer;
    told.callee = next.first.str();
    told.lane = laneOf(call.getLane());
    for (StringRef word : {next.first, phaseName(next.second)})
      told.arguments.push_back({Phrase(quoted(word)), false, {}});
    statements.push_back(std::move(told));
  }
  return addCall(call);
}

/// Sorts consecutive waits of a lane by device: their order does not matter,
/// and so devices look alike.
void StatementBuilder::finishWaits() {
  if (statements.empty() || statements.back().kind != Statement::wait)
    return;
  ItemList &events = statements.back().events, sorted;
  auto order = llvm::to_vector(llvm::seq(events.items.size()));
  llvm::stable_sort(order, [&](size_t a, size_t b) {
    return events.devices[a] < events.devices[b];
  });
  for (size_t n : order) {
    sorted.items.push_back(events.items[n]);
    sorted.devices.push_back(events.devices[n]);
  }
  events = std::move(sorted);
  setRange(events);
}

std::vector<Statement> StatementBuilder::take() {
  finishWaits();
  return std::move(statements);
}

//===----------------------------------------------------------------------===//
// Shapes
//===----------------------------------------------------------------------===//

std::vector<int64_t> ItemList::numbers() const {
  if (range != many)
    return devices;
  auto count = llvm::seq<int64_t>(items.size() - head);
  return {count.begin(), count.end()};
}

static std::string shapeOf(const ItemList &list) {
  // An item that stands for all devices has no length.
  std::string shape = std::to_string(list.range) + "[";
  if (list.range == ItemList::many)
    shape += std::to_string(list.items.size()) + " ";
  for (const Phrase &item : ArrayRef(list.items).take_front(list.head))
    shape += item.shape() + ";";
  if (list.range != ItemList::few)
    return shape + list.items[list.head].shape() + "]";
  for (const Phrase &item : list.items)
    shape += item.shape() + ";";
  return shape + "]";
}

std::string Statement::shape() const {
  std::string shape = std::to_string(kind) + callee + "(" + lane.shape();
  for (const Argument &argument : arguments)
    shape += "," + (argument.isList ? shapeOf(argument.list)
                                    : argument.phrase.shape());
  return shape + ")" + event.shape() + shapeOf(events) + "\n";
}
