//===- Storage.cpp - Which values share memory by construction ------------===//
//
// The order of the rules is the order of their worth. Ties must hold. A new
// value made in place saves a copy of a parameter, and a view saves a copy of
// an activation. Overwriting only saves memory, so it comes last. Each rule
// looks at all readers of the memory that it touches, through views, too
// (ir/exec/Readers.h).
//
//===----------------------------------------------------------------------===//

#include "passes/schedule/Storage.h"
#include "ir/exec/Readers.h"
#include "ir/exec/Views.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace lwcc;
using namespace lwcc::train;

/// The identity of given memory that has no symbol: of an argument or a result.
static Attribute keyOf(MLIRContext *context, bool isResult, int64_t number) {
  return DenseI64ArrayAttr::get(context, {isResult, number});
}
Attribute StorageMap::argumentKey(MLIRContext *context, unsigned argument) {
  return keyOf(context, false, argument);
}
Attribute StorageMap::resultKey(MLIRContext *context, unsigned result) {
  return keyOf(context, true, result);
}

//===----------------------------------------------------------------------===//
// The forest of memory
//===----------------------------------------------------------------------===//

int StorageMap::nodeOf(Value value) {
  auto [entry, isNew] = nodeOfValue.try_emplace(value, nodes.size());
  if (isNew)
    nodes.push_back({{Attribute(), value}});
  return entry->second;
}

std::pair<int, int64_t> StorageMap::rootOf(int node) const {
  int64_t offset = 0;
  for (; nodes[node].parent >= 0; node = nodes[node].parent)
    offset += nodes[node].offset;
  return {node, offset};
}

StorageMap::Location StorageMap::find(Value value) const {
  auto [root, offset] = rootOf(nodeOfValue.lookup(value));
  return {&nodes[root].storage, offset};
}

bool StorageMap::liesIn(Value value, Attribute given) const {
  Location location = find(value);
  return location.storage->given == given && location.offset == 0 &&
         typeOf(value).getShape() == typeOf(location.storage->owner).getShape();
}

FailureOr<int64_t> StorageMap::offsetOf(WriteOp write) const {
  if (!write.getBegin())
    return 0;
  int node = givenNodes.lookup(parameterKey(write.getParameterAttr()));
  std::optional<int64_t> offset =
      partOffset(typeOf(nodes[node].storage.owner), typeOf(write.getValue()),
                 *write.getBegin());
  if (!offset)
    return failure();
  return *offset;
}

bool StorageMap::liesInPlace(WriteOp write) const {
  Attribute given = parameterKey(write.getParameterAttr());
  if (!write.getBegin())
    return liesIn(write.getValue(), given);
  Location location = find(write.getValue());
  return location.storage->given == given &&
         location.offset == *offsetOf(write);
}

void StorageMap::attach(int child, int parent, int64_t offset) {
  assert(nodes[child].parent < 0 && !nodes[child].storage.given);
  nodes[child].parent = parent;
  nodes[child].offset = offset;
  hasParts.insert(parent);
}

/// Whether an op makes the value, and its memory is not a part of other memory
/// yet.
bool StorageMap::isFresh(Value value) {
  const Node &node = nodes[nodeOf(value)];
  return value.getDefiningOp() && node.parent < 0 && !node.storage.given;
}

//===----------------------------------------------------------------------===//
// Given memory and ties
//===----------------------------------------------------------------------===//

LogicalResult StorageMap::run() {
  Block &body = func.getBody().front();
  const size_t ops = body.getOperations().size();
  position.reserve(ops);
  nodeOfValue.reserve(ops);
  nodes.reserve(ops);
  for (auto [number, argument] : llvm::enumerate(body.getArguments()))
    nodes[nodeOf(argument)].storage.given =
        argumentKey(func.getContext(), number);
  auto parameterNode = [&](FlatSymbolRefAttr name, Value like) {
    auto [entry, isNew] =
        givenNodes.try_emplace(parameterKey(name), nodes.size());
    if (isNew)
      nodes.push_back({{parameterKey(name), like}});
    return entry->second;
  };
  for (auto [number, op] : llvm::enumerate(body)) {
    position[&op] = number;
    if (auto read = dyn_cast<ReadOp>(op))
      reads[nodeOfValue[read.getValue()] =
                parameterNode(read.getParameterAttr(), read.getValue())] = read;
    else
      for (Value result : op.getResults())
        nodeOf(result);
  }

  // Only slices of parameters can become views before ties: an update may work
  // in place on a part of a parameter. Other views must respect ties.
  for (auto slice : body.getOps<SliceOp>())
    if (slice.getX().getDefiningOp<ReadOp>())
      makeViews(slice);
  for (Operation &op : body)
    if (failed(tie(&op)))
      return failure();
  for (auto write : body.getOps<WriteOp>()) {
    int node = parameterNode(write.getParameterAttr(), write.getValue());
    if (ReadOp read = reads.lookup(node))
      for (Operation *reader :
           readersOfPart(read, write.getValue(), write.getBegin()))
        if (position[write] < position[reader])
          return write.emitOpError("overwrites a value that is read later")
                     .attachNote(reader->getLoc())
                 << "read here";
    if (failed(offsetOf(write)))
      return write.emitOpError("writes a part of '")
             << write.getParameter() << "' that is not stored as one";
    bindToGiven(write.getValue(), node, write);
  }
  for (auto [number, value] :
       llvm::enumerate(body.getTerminator()->getOperands())) {
    int node = nodes.size();
    nodes.push_back({{resultKey(func.getContext(), number), value}});
    bindToGiven(value, node, {});
  }
  for (Operation &op : body) {
    makeViews(&op);
    makeConcat(&op);
  }
  collectAccesses();
  for (Operation &op : body)
    overwrite(&op);
  return success();
}

/// Makes a result lie in the operand to which it is tied. Fails if the old
/// value of the operand is read later.
LogicalResult StorageMap::tie(Operation *op) {
  for (OpResult result : op->getResults()) {
    std::optional<unsigned> number = tiedOperand(op, result.getResultNumber());
    if (!number)
      continue;
    Value operand = op->getOperand(*number);
    llvm::SetVector<Operation *> readers = readersOf(operand);
    if (auto slice = operand.getDefiningOp<SliceOp>(); slice && isView(slice))
      readers.insert_range(readersOfPart(slice.getX().getDefiningOp<ReadOp>(),
                                         operand, slice.getStart()));
    for (Operation *reader : readers)
      if (position[op] < position[reader]) {
        InFlightDiagnostic diagnostic = op->emitOpError("works in place on '")
                                        << nameOf(operand)
                                        << "', whose old value is read later";
        diagnostic.attachNote(reader->getLoc()) << "read here";
        return diagnostic;
      }
    attach(nodeOf(result), nodeOf(operand), 0);
  }
  return success();
}

/// Makes a value in given memory if all readers of what lies there run before
/// its producer. Otherwise ToExec.cpp copies the value there.
void StorageMap::bindToGiven(Value value, int given, WriteOp write) {
  int node = nodeOf(value);
  Operation *producer = value.getDefiningOp();
  if (!isFresh(value) || hasParts.contains(node) || mayBeView(producer) ||
      isa<ConcatOp>(producer))
    return;
  unsigned result = cast<OpResult>(value).getResultNumber();
  if (ReadOp read = reads.lookup(given)) {
    for (Operation *reader : readersOfPart(read, value, write.getBegin()))
      if (position[producer] < position[reader])
        return;
    // If the producer itself reads the old value, it must be able to work in
    // place.
    for (auto [number, operand] : llvm::enumerate(producer->getOperands()))
      if (viewsOf(read.getValue()).contains(operand) &&
          !(operand == read.getValue() &&
            train::mayOverwrite(producer, result, number)))
        return;
  }
  attach(node, given, write ? *offsetOf(write) : 0);
}

//===----------------------------------------------------------------------===//
// Views
//===----------------------------------------------------------------------===//

void StorageMap::makeViews(Operation *op) {
  if (!mayBeView(op))
    return;
  Value operand = op->getOperand(0);
  RankedTensorType from = typeOf(operand);
  llvm::SmallVector<int64_t> offsets(op->getNumResults(), 0);
  Movement movement = movementOf(op);
  bool legal = true;
  if (movement.kind == Movement::reshape ||
      movement.kind == Movement::permute) {
    legal = isRearrangedView(movement, from, typeOf(op->getResult(0)));
  } else if (auto slice = dyn_cast<SliceOp>(op); slice && isWindow(slice)) {
    offsets[0] = windowOffset(slice);
  } else if (movement.kind == Movement::parts) {
    legal = llvm::all_of(movement.step, [](int64_t step) { return step == 1; });
    for (auto [result, begin, offset] :
         llvm::zip_equal(op->getResults(), movement.begins, offsets)) {
      auto at = partOffset(from, typeOf(result), begin);
      legal &= at.has_value();
      offset = at.value_or(0);
    }
  }
  // A result that something was tied into is written: it must not be a view.
  legal &= llvm::all_of(op->getResults(), [&](Value result) {
    return isFresh(result) && !hasParts.contains(nodeOf(result));
  });
  if (!legal)
    return;
  for (auto [result, offset] : llvm::zip_equal(op->getResults(), offsets))
    attach(nodeOf(result), nodeOf(operand), offset);
  views.insert(op);
}

/// Makes the operands of a concat inside its result, if all can be.
void StorageMap::makeConcat(Operation *op) {
  auto concat = dyn_cast<ConcatOp>(op);
  if (!concat || !isFresh(concat.getY()))
    return;
  std::optional<llvm::SmallVector<int64_t>> offsets = partsOf(concat);
  llvm::SmallDenseSet<Value> seen;
  if (!offsets || !llvm::all_of(concat.getXs(), [&](Value part) {
        return isFresh(part) && seen.insert(part).second;
      }))
    return;
  for (auto [part, offset] : llvm::zip_equal(concat.getXs(), *offsets))
    attach(nodeOf(part), nodeOf(concat.getY()), offset);
  views.insert(op);
}

//===----------------------------------------------------------------------===//
// Overwriting
//===----------------------------------------------------------------------===//

void StorageMap::collectAccesses() {
  Block &body = func.getBody().front();
  for (Operation &op : body) {
    if (isView(&op) || isa<ReadOp>(op))
      continue;
    // A write of a value that was made in place is no access.
    if (auto write = dyn_cast<WriteOp>(op))
      if (liesInPlace(write))
        continue;
    for (auto range :
         {ValueRange(op.getOperands()), ValueRange(op.getResults())})
      for (Value value : range)
        accesses[rootOf(nodeOf(value)).first].push_back(&op);
  }
}

void StorageMap::overwrite(Operation *op) {
  for (OpResult result : op->getResults()) {
    if (!isFresh(result))
      continue;
    for (auto [number, operand] : llvm::enumerate(op->getOperands())) {
      int root = rootOf(nodeOf(operand)).first;
      if (!train::mayOverwrite(op, result.getResultNumber(), number) ||
          !mayOverwriteAll(op, result, operand, root))
        continue;
      int node = nodeOf(result);
      attach(node, nodeOf(operand), 0);
      llvm::append_range(accesses[root], accesses[node]);
      break;
    }
  }
}

/// Whether no op other than `op` reads or writes the storage `root`, in which
/// `operand` lies, at or after `op`.
bool StorageMap::mayOverwriteAll(Operation *op, OpResult result, Value operand,
                                 int root) {
  if (nodes[root].storage.given)
    return false;
  // A window's bytes are not dense, and the result's are.
  if (auto slice = operand.getDefiningOp<SliceOp>(); slice && isWindow(slice))
    return false;
  for (Operation *other : accesses[root])
    if (position[other] > position[op] ||
        other->getAttr(tilingAttr) != op->getAttr(tilingAttr))
      return false;
  auto place = rootOf(nodeOf(operand));
  for (auto [number, other] : llvm::enumerate(op->getOperands()))
    if (auto at = rootOf(nodeOf(other)); at.first == root)
      if (at != place || other.getType() != operand.getType() ||
          !train::mayOverwrite(op, result.getResultNumber(), number))
        return false;
  return llvm::none_of(op->getResults(), [&](Value other) {
    return other != result && rootOf(nodeOf(other)).first == root;
  });
}
