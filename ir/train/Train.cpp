//===- Train.cpp - The train dialect --------------------------------------===//
//
// Registration, attribute syntax and the helpers shared by all passes.
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
#include "ir/train/TrainEnums.cpp.inc"
#define GET_ATTRDEF_CLASSES
#include "ir/train/TrainAttrs.cpp.inc"
#define GET_OP_CLASSES
#include "ir/train/TrainOps.cpp.inc"

void TrainDialect::initialize() {
  addOperations<
#define GET_OP_LIST
#include "ir/train/TrainOps.cpp.inc"
      >();
  addAttributes<
#define GET_ATTRDEF_LIST
#include "ir/train/TrainAttrs.cpp.inc"
      >();
}

//===----------------------------------------------------------------------===//
// Attribute syntax
//===----------------------------------------------------------------------===//

/// `<node.gpu.lane>`; the lexer would read "0.1" as a float, so the three
/// numbers travel as a string: #train.place<"0.1.0">.
Attribute PlaceAttr::parse(AsmParser &parser, Type) {
  std::string text;
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseLess() || parser.parseString(&text) || parser.parseGreater())
    return {};
  SmallVector<StringRef> parts;
  StringRef(text).split(parts, '.');
  int64_t number[3];
  bool bad = parts.size() != 3;
  for (int i = 0; !bad && i < 3; ++i)
    bad = parts[i].getAsInteger(10, number[i]) || number[i] < 0;
  if (bad)
    return parser.emitError(loc, "expected a place \"node.gpu.lane\", found \"")
               << text << "\"",
           Attribute();
  return get(parser.getContext(), number[0], number[1], number[2]);
}

void PlaceAttr::print(AsmPrinter &printer) const {
  printer << "<\"" << getNode() << '.' << getGpu() << '.' << getLane() << "\">";
}

/// `<blob at 128>`, `<constant 0.0>`, `<normal 0.0, 0.02>`, `<uniform a, b>`.
Attribute InitAttr::parse(AsmParser &parser, Type) {
  StringRef kind;
  int64_t offset = 0;
  double a = 0, b = 0;
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseLess() || parser.parseKeyword(&kind))
    return {};
  if (kind == "blob") {
    if (parser.parseKeyword("at") || parser.parseInteger(offset))
      return {};
    if (offset < 0 || offset > maxBytes)
      return parser.emitError(loc, "no weights have a byte ") << offset,
             Attribute();
  } else if (kind == "constant") {
    if (parser.parseFloat(a))
      return {};
  } else if (kind == "normal" || kind == "uniform") {
    if (parser.parseFloat(a) || parser.parseComma() || parser.parseFloat(b))
      return {};
  } else {
    return parser.emitError(loc, "unknown kind of initial value '")
               << kind << "'",
           Attribute();
  }
  if (parser.parseGreater())
    return {};
  return get(parser.getContext(), kind, offset, APFloat(a), APFloat(b));
}

void InitAttr::print(AsmPrinter &printer) const {
  printer << '<' << getKind();
  if (getKind() == "blob") {
    printer << " at " << getOffset();
  } else {
    printer << ' ';
    printer.printFloat(getA());
    if (getKind() != "constant") {
      printer << ", ";
      printer.printFloat(getB());
    }
  }
  printer << '>';
}

LogicalResult TilingAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                 int64_t n, int64_t c, int64_t h, int64_t w,
                                 int64_t k, ArrayRef<PlaceAttr> places,
                                 DictionaryAttr sizes) {
  int64_t tiles = 1;
  for (int64_t degree : {n, c, h, w, k})
    if (degree < 1 || llvm::MulOverflow(tiles, degree, tiles))
      return emitError() << "a tiling cuts into " << n << " x " << c << " x "
                         << h << " x " << w << " x " << k << " tiles";
  if (tiles != static_cast<int64_t>(places.size()))
    return emitError() << tiles << " tiles have " << places.size() << " places";
  const int64_t degrees[] = {n, c, h, w, k};
  for (NamedAttribute entry :
       sizes ? sizes.getValue() : ArrayRef<NamedAttribute>()) {
    size_t dim = StringRef("nchwk").find(entry.getName().getValue());
    auto list = dyn_cast<DenseI64ArrayAttr>(entry.getValue());
    bool good = entry.getName().size() == 1 && dim != StringRef::npos && list &&
                list.size() == degrees[dim];
    for (int64_t sum = 0, i = 0; good && i < list.size(); sum += list[i++])
      good = list[i] > 0 && list[i] <= maxElements - sum;
    if (!good)
      return emitError() << "sizes of a tiling are not those of its parts: "
                         << entry.getName() << " = " << entry.getValue();
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Layers, phases and names
//===----------------------------------------------------------------------===//

LogicalResult TrainDialect::verifyOperationAttribute(Operation *op,
                                                     NamedAttribute attr) {
  StringRef name = attr.getName();
  if (name == phaseAttr) {
    auto phase = dyn_cast<StringAttr>(attr.getValue());
    if (!phase || !llvm::is_contained({"forward", "backward", "update"},
                                      phase.getValue()))
      return op->emitOpError("has train.phase ")
             << attr.getValue()
             << "; expected \"forward\", \"backward\" or \"update\"";
  }
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

void lwcc::train::setLayer(Operation *op, StringRef layer, StringRef phase) {
  op->setAttr(layerAttr, StringAttr::get(op->getContext(), layer));
  op->setAttr(phaseAttr, StringAttr::get(op->getContext(), phase));
}

void lwcc::train::inheritLayer(Operation *op, Operation *from,
                               StringRef phase) {
  setLayer(op, layerOf(from), phase);
}

StringRef lwcc::train::layerOf(Operation *op) {
  auto layer = op->getAttrOfType<StringAttr>(layerAttr);
  return layer ? layer.getValue() : "";
}

StringRef lwcc::train::phaseOf(Operation *op) {
  auto phase = op->getAttrOfType<StringAttr>(phaseAttr);
  return phase ? phase.getValue() : "forward";
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

void lwcc::train::setNames(Operation *op, ArrayRef<StringRef> names) {
  assert(names.size() == op->getNumResults() && "one name per result");
  op->setAttr(namesAttr, Builder(op->getContext()).getStrArrayAttr(names));
}

RankedTensorType lwcc::train::scalarsType(MLIRContext *context) {
  return RankedTensorType::get(
      {64}, IntegerType::get(context, 8, IntegerType::Unsigned));
}

RankedTensorType lwcc::train::tensorOf(MLIRContext *context,
                                       ArrayRef<int64_t> shape) {
  return RankedTensorType::get(shape, Float32Type::get(context));
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
