//===- PlacementRules.cpp - The rules of tiles and places -----------------===//
//
// The rules that the forms `planned`, `sharded` and `scheduled` add: tilings
// (P1), places and parts (S1, S2, S4), readers of old values (C1).
//
//===----------------------------------------------------------------------===//

#include "ir/exec/Readers.h"
#include "ir/place/Box.h"
#include "passes/verify/FormRules.h"

#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace lwcc;
using namespace lwcc::tiling;
using namespace lwcc::train;
using namespace lwcc::forms;

//===----------------------------------------------------------------------===//
// planned, sharded, scheduled
//===----------------------------------------------------------------------===//

void FormRules::planned() {
  for (func::FuncOp func : both())
    for (Operation &op : opsOf(func)) {
      if (!op.getAttrOfType<TilingAttr>(tilingAttr))
        broken(&op, "P1") << "the op has no " << tilingAttr;
    }
}

/// Checks that the part of a tensor that `attributes` describe lies inside the
/// tensor, and says whether; if they describe none, it does.
bool FormRules::checkPartOf(Operation *op, Type type, DictionaryAttr attributes,
                            const Twine &what) {
  if (!attributes || !attributes.get(tensorAttr))
    return true;
  auto dims = attributes.getAs<DenseI64ArrayAttr>(dimsAttr);
  auto begin = attributes.getAs<DenseI64ArrayAttr>(beginAttr);
  ArrayRef<int64_t> part = cast<RankedTensorType>(type).getShape();
  bool good = dims && begin && dims.size() == begin.size() &&
              dims.size() == static_cast<int64_t>(part.size());
  for (size_t d = 0; good && d < part.size(); ++d)
    good = dims[d] >= part[d] && begin[d] >= 0 && begin[d] <= dims[d] - part[d];
  if (!good)
    broken(op, "S2") << what << " is no part of the tensor that it names";
  return good;
}

/// Where a parameter is stored in parts, there must be one of each element, or
/// files would not hold it. Of the model's constants files hold nothing.
void FormRules::checkParts() {
  llvm::MapVector<Attribute, std::pair<ParameterOp, std::vector<Box>>> missing;
  for (auto parameter : module.getOps<ParameterOp>()) {
    Attribute tensor = parameter->getAttr(tensorAttr);
    if (!checkPartOf(parameter, parameter.getType(),
                     parameter->getDiscardableAttrDictionary(),
                     "the parameter") ||
        !tensor || parameter.getRole() == Role::constant)
      continue;
    ArrayRef<int64_t> dims =
        parameter->getAttrOfType<DenseI64ArrayAttr>(dimsAttr);
    Box part =
        wholeOf(cast<RankedTensorType>(parameter.getType()).getShape().vec());
    for (auto [interval, begin] : llvm::zip_equal(
             part, parameter->getAttrOfType<DenseI64ArrayAttr>(beginAttr)
                       .asArrayRef())) {
      interval.begin += begin;
      interval.end += begin;
    }
    auto &[first, left] = missing[tensor];
    if (!first) {
      first = parameter;
      left = {wholeOf(dims.vec())};
    }
    if (left.empty() || left.front().size() == part.size())
      left = subtract(left, part);
  }
  for (auto &[tensor, found] : missing)
    if (auto &[first, left] = found; !left.empty())
      broken(first, "S4") << "the parts of " << tensor << " leave out "
                          << left.size() << " of its regions";
}

void FormRules::sharded() {
  checkParts();
  auto placeOf = [](Value value) {
    auto type = dyn_cast<RankedTensorType>(value.getType());
    return type ? dyn_cast_or_null<PlaceAttr>(type.getEncoding()) : PlaceAttr();
  };
  for (func::FuncOp func : both()) {
    for (BlockArgument argument : func.getArguments()) {
      unsigned number = argument.getArgNumber();
      if (!placeOf(argument))
        broken(func, "S1") << "argument " << number << " has no place";
      checkPartOf(func, argument.getType(), func.getArgAttrDict(number),
                  "argument " + Twine(number));
    }
    for (Operation &op : opsOf(func)) {
      auto tiling = op.getAttrOfType<TilingAttr>(tilingAttr);
      if (!tiling || tiling.getPlaces().size() != 1) {
        broken(&op, "S1") << "the op is not one tile";
        continue;
      }
      PlaceAttr here = tiling.getPlaces().front();
      for (Value result : op.getResults())
        if (placeOf(result) != here)
          broken(&op, "S1")
              << "a result does not lie where the op runs (" << here << ")";
      if (isa<TransferOp>(op))
        continue;
      for (Value operand : op.getOperands()) {
        PlaceAttr there = placeOf(operand);
        if (!there || there.getValue().device() != here.getValue().device())
          broken(&op, "S1") << "operand '" << nameOf(operand)
                            << "' lies on another device than " << here;
      }
    }
  }
}

void FormRules::scheduled() {
  auto lanes = module->getAttrOfType<ArrayAttr>(orderAttr);
  for (func::FuncOp func : both()) {
    if (lanes)
      checkOrder(func, lanes);
    // C1, for the two kinds of op that overwrite a parameter: its train.write,
    // and an op that works in place on it.
    auto after = [&](Value old, Operation *overwriter,
                     const llvm::SetVector<Operation *> &readers) {
      for (Operation *reader : readers)
        if (overwriter->isBeforeInBlock(reader))
          broken(overwriter, "C1")
                  .append("overwrites '", nameOf(old),
                          "', whose old value is read later")
                  .attachNote(reader->getLoc())
              << "read here";
    };
    llvm::StringMap<ReadOp> reads;
    for (auto read : func.getOps<ReadOp>())
      reads[read.getParameter()] = read;
    for (Operation &op : opsOf(func)) {
      if (auto write = dyn_cast<WriteOp>(op))
        if (ReadOp read = reads.lookup(write.getParameter()))
          after(read.getValue(), write,
                readersOfPart(read, write.getValue(), write.getBegin()));
      for (unsigned r = 0; r < op.getNumResults(); ++r)
        if (std::optional<unsigned> operand = tiedOperand(&op, r))
          after(op.getOperand(*operand), &op,
                readersOf(op.getOperand(*operand)));
    }
  }
}
