//===- Train.cpp - The train dialect --------------------------------------===//
//
// Registration and the helpers shared by all passes.
//
//===----------------------------------------------------------------------===//

#include "ir/train/Train.h"
#include "ir/Size.h"
#include "ir/train/Elementwise.h"
#include "ir/train/Expression.h"

#include "mlir/IR/DialectImplementation.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace lwcc;
using namespace lwcc::train;

#include "ir/train/TrainDialect.cpp.inc"
#define GET_OP_CLASSES
#include "ir/train/TrainOps.cpp.inc"

void TrainDialect::initialize() {
  addOperations<
#define GET_OP_LIST
#include "ir/train/TrainOps.cpp.inc"
      >();
  registerAttributes();
}

//===----------------------------------------------------------------------===//
// Layers, phases and names
//===----------------------------------------------------------------------===//

LogicalResult TrainDialect::verifyOperationAttribute(Operation *op,
                                                     NamedAttribute attr) {
  StringRef name = attr.getName();
  if (name == workAttr && !isa<WorkAttr>(attr.getValue()))
    return op->emitOpError("has train.work ")
           << attr.getValue() << "; expected #train.work<LAYER PHASE>";
  if (name == orderAttr) {
    auto lanes = dyn_cast<ArrayAttr>(attr.getValue());
    if (!lanes || !llvm::all_of(lanes, llvm::IsaPred<LaneOrderAttr>))
      return op->emitOpError("has train.order ")
             << attr.getValue() << "; expected a list of #train.lane_order";
  }
  if (name == lanesAttr) {
    auto lanes = dyn_cast<ArrayAttr>(attr.getValue());
    if (!lanes || !llvm::all_of(lanes, llvm::IsaPred<LaneWidthAttr>))
      return op->emitOpError("has train.lanes ")
             << attr.getValue() << "; expected a list of #train.lane_width";
  }
  if (name == tileAttr && !isa<TileAttr>(attr.getValue()))
    return op->emitOpError("has train.tile ")
           << attr.getValue() << "; expected #train.tile<n I of N>";
  if (name == namesAttr) {
    auto names = dyn_cast<ArrayAttr>(attr.getValue());
    if (!names || names.size() != op->getNumResults())
      return op->emitOpError("needs one entry of train.names per result");
  }
  if (name == dimsAttr || name == beginAttr) {
    auto list = dyn_cast<DenseI64ArrayAttr>(attr.getValue());
    if (!list || !elementCount(list.asArrayRef()))
      return op->emitOpError("has ")
             << name << " of no tensor: " << attr.getValue();
  }
  return success();
}

LogicalResult TrainDialect::verifyRegionArgAttribute(Operation *op, unsigned,
                                                     unsigned number,
                                                     NamedAttribute attr) {
  if (attr.getName() != roleAttr)
    return success();
  auto role = dyn_cast<RoleAttr>(attr.getValue());
  if (role && isGiven(role.getValue()))
    return success();
  return op->emitOpError("has an argument ")
         << number << " with train.role " << attr.getValue()
         << "; expected #train.role<input>, <labels> or <scalars>";
}

int64_t lwcc::train::classAxis(ArrayRef<int64_t> scores) {
  return scores.size() == 3 && scores[2] != 1 ? 2 : 1;
}

WorkAttr lwcc::train::workOf(Operation *op) {
  return op->getAttrOfType<WorkAttr>(workAttr);
}

StringRef lwcc::train::layerOf(Operation *op) {
  WorkAttr work = workOf(op);
  return work ? work.getLayer() : "";
}

Phase lwcc::train::phaseOf(Operation *op) {
  WorkAttr work = workOf(op);
  return work ? work.getPhase() : Phase::forward;
}

void lwcc::train::setWork(Operation *op, StringRef layer, Phase phase,
                          std::optional<int64_t> tile) {
  op->setAttr(workAttr, WorkAttr::get(op->getContext(), layer, phase, tile));
}

void lwcc::train::inheritWork(Operation *op, Operation *from, Phase phase) {
  setWork(op, layerOf(from), phase);
}

StringRef lwcc::train::nameOf(Value value) {
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    auto func = dyn_cast<func::FuncOp>(argument.getOwner()->getParentOp());
    auto name = func ? func.getArgAttrOfType<StringAttr>(
                           argument.getArgNumber(), argNameAttr)
                     : StringAttr();
    return name ? name.getValue() : "";
  }
  Operation *op = value.getDefiningOp();
  if (auto read = dyn_cast<ReadOp>(op))
    return read.getParameter();
  auto names = op->getAttrOfType<ArrayAttr>(namesAttr);
  if (!names)
    return "";
  return cast<StringAttr>(names[cast<OpResult>(value).getResultNumber()])
      .getValue();
}

Role lwcc::train::roleOf(BlockArgument argument) {
  auto func = cast<func::FuncOp>(argument.getOwner()->getParentOp());
  auto role =
      func.getArgAttrOfType<RoleAttr>(argument.getArgNumber(), roleAttr);
  return role ? role.getValue() : Role::input;
}

Role lwcc::train::roleOfResult(OpOperand &result) {
  if (cast<RankedTensorType>(result.get().getType()).getRank() == 0)
    return Role::loss;
  return result.getOperandNumber() < 2 ? Role::metric : Role::scores;
}

void lwcc::train::setNames(Operation *op, ArrayRef<StringRef> names) {
  assert(names.size() == op->getNumResults() && "one name per result");
  op->setAttr(namesAttr, Builder(op->getContext()).getStrArrayAttr(names));
}

void lwcc::train::setResults(func::FuncOp func, ValueRange results) {
  Operation *end = func.getBody().front().getTerminator();
  end->setOperands(results);
  func.setType(FunctionType::get(func.getContext(), func.getArgumentTypes(),
                                 end->getOperandTypes()));
}

RankedTensorType lwcc::train::scalarsType(MLIRContext *context) {
  return RankedTensorType::get(
      {64}, IntegerType::get(context, 8, IntegerType::Unsigned));
}

int64_t lwcc::train::elementBytes(Type tensor) {
  return static_cast<int64_t>(llvm::divideCeil(
      cast<RankedTensorType>(tensor).getElementTypeBitWidth(), 8));
}

RankedTensorType lwcc::train::tensorOf(MLIRContext *context,
                                       ArrayRef<int64_t> shape) {
  return RankedTensorType::get(shape, Float32Type::get(context));
}

RankedTensorType lwcc::train::statisticsType(Value images, int64_t groups) {
  SmallVector<int64_t> shape(
      cast<RankedTensorType>(images.getType()).getShape());
  shape[0] = groups;
  std::fill(shape.begin() + 2, shape.end(), 1);
  if (groups == 0)
    shape.erase(shape.begin());
  return tensorOf(images.getContext(), shape);
}

uint32_t lwcc::train::streamOf(StringRef name) {
  uint32_t hash = 2166136261u;
  for (unsigned char c : name)
    hash = (hash ^ c) * 16777619u;
  return hash;
}

//===----------------------------------------------------------------------===//
// Builders
//===----------------------------------------------------------------------===//

std::optional<SmallVector<int64_t>>
lwcc::train::broadcast(ArrayRef<ArrayRef<int64_t>> shapes) {
  SmallVector<int64_t> result;
  for (ArrayRef<int64_t> shape : shapes) {
    if (shape.size() > result.size())
      result.insert(result.begin(), shape.size() - result.size(), 1);
    int64_t *trailing = result.end() - shape.size();
    for (auto [extent, other] :
         llvm::zip_equal(llvm::make_range(trailing, result.end()), shape)) {
      if (extent == 1)
        extent = other;
      else if (other != 1 && other != extent)
        return std::nullopt;
    }
  }
  return result;
}

MapOp lwcc::train::buildMap(OpBuilder &builder, Location loc, StringRef fn,
                            ValueRange inputs, DictionaryAttr params) {
  const ElementwiseFunction *row = findElementwise(fn);
  assert(row && row->inputs == inputs.size() && "a row with these inputs");
  Expression expr = instantiate(*row, row->value, [&](StringRef name) {
    return params.getAs<FloatAttr>(name).getValueAsDouble();
  });
  SmallVector<ArrayRef<int64_t>> shapes;
  for (Value input : inputs)
    shapes.push_back(cast<RankedTensorType>(input.getType()).getShape());
  std::optional<SmallVector<int64_t>> shape = broadcast(shapes);
  assert(shape && "inputs that fit");
  return MapOp::create(builder, loc, tensorOf(builder.getContext(), *shape),
                       inputs, Value(), expr.print(), builder.getStringAttr(fn),
                       params);
}

MapOp lwcc::train::buildMap(OpBuilder &builder, Location loc,
                            RankedTensorType type, const Expression &expr,
                            ValueRange inputs, Value scalars) {
  return MapOp::create(builder, loc, type, inputs, scalars, expr.print(),
                       StringAttr(), DictionaryAttr());
}

Value lwcc::train::reduceTo(OpBuilder &builder, Location loc, Value grad,
                            RankedTensorType type) {
  auto from = cast<RankedTensorType>(grad.getType());
  if (from.getShape() == type.getShape())
    return grad;
  int64_t extra = from.getRank() - type.getRank();
  assert(extra >= 0 && "a broadcast never drops dimensions");
  SmallVector<int64_t> axes, dropped, kept;
  for (auto [axis, extent] : llvm::enumerate(from.getShape())) {
    int64_t own = static_cast<int64_t>(axis) - extra;
    bool sum = own < 0 || (type.getDimSize(own) == 1 && extent != 1);
    if (sum)
      axes.push_back(axis);
    else
      dropped.push_back(extent);
    kept.push_back(sum ? 1 : extent);
  }
  auto reduced =
      tensorOf(builder.getContext(), kept == type.getShape() ? kept : dropped);
  Value sum = grad;
  if (!axes.empty())
    sum = ReduceOp::create(builder, loc, reduced, grad, axes, false);
  if (cast<RankedTensorType>(sum.getType()).getShape() == type.getShape())
    return sum;
  return ReshapeOp::create(builder, loc, type, sum);
}
