//===- Exec.cpp - The exec dialect ----------------------------------------===//
//
// Registration, syntax and verifiers of the exec dialect. An op that can be
// checked alone, or by its symbols, is checked here (E2). What needs the whole
// program (order, memory) is checked by passes/verify/ScheduleVerifier.cpp.
//
//===----------------------------------------------------------------------===//

#include "ir/exec/Exec.h"
#include "ir/Size.h"
#include "ir/train/Train.h"

#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace lwcc;
using namespace lwcc::exec;

#include "ir/exec/ExecDialect.cpp.inc"
#define GET_ATTRDEF_CLASSES
#include "ir/exec/ExecAttrs.cpp.inc"

//===----------------------------------------------------------------------===//
// Syntax
//===----------------------------------------------------------------------===//

/// `compute`
static ParseResult parseLaneKind(AsmParser &parser, LaneKindAttr &kind) {
  llvm::StringRef word;
  llvm::SMLoc loc = parser.getCurrentLocation();
  if (parser.parseKeyword(&word))
    return failure();
  std::string known;
  for (lwcc::LaneKind each : laneKinds) {
    if (word == laneKindName(each)) {
      kind = LaneKindAttr::get(parser.getContext(), each);
      return success();
    }
    known += (known.empty() ? "" : ", ") + laneKindName(each).str();
  }
  return parser.emitError(loc, "expected a kind of lane (")
         << known << "), found '" << word << "'";
}

static void printLaneKind(OpAsmPrinter &printer, Operation *,
                          LaneKindAttr kind) {
  printer << laneKindName(kind.getValue());
}

Attribute LaneKindAttr::parse(AsmParser &parser, Type) {
  LaneKindAttr kind;
  if (parser.parseLess() || parseLaneKind(parser, kind) ||
      parser.parseGreater())
    return {};
  return kind;
}

void LaneKindAttr::print(AsmPrinter &printer) const {
  printer << '<' << laneKindName(getValue()) << '>';
}

static ParseResult parseWork(OpAsmParser &parser, lwcc::train::WorkAttr &work) {
  return lwcc::train::parseWork(parser, work);
}

static void printWork(OpAsmPrinter &printer, Operation *,
                      lwcc::train::WorkAttr work) {
  lwcc::train::printWork(printer, work);
}
#define GET_OP_CLASSES
#include "ir/exec/ExecOps.cpp.inc"

void ExecDialect::initialize() {
  addOperations<
#define GET_OP_LIST
#include "ir/exec/ExecOps.cpp.inc"
      >();
  addAttributes<
#define GET_ATTRDEF_LIST
#include "ir/exec/ExecAttrs.cpp.inc"
      >();
}

RankedTensorType BufferOp::getTensorType() {
  return cast<RankedTensorType>(getType());
}

int64_t BufferOp::getBytes() { return bytesOf(getTensorType()); }

bool BufferOp::isPersistent() {
  return isState(getRole()) || isGiven(getRole()) || isResult(getRole());
}

/// Checks that the part of a tensor that a buffer describes lies inside the
/// tensor, so that tables and passes can add begins and extents.
static LogicalResult checkPart(BufferOp buffer) {
  ArrayRef<int64_t> part = buffer.getTensorType().getShape();
  // Without exec.dims a buffer is the whole tensor; without exec.begin it
  // begins at 0.
  SmallVector<int64_t> whole(part);
  if (Attribute attribute = buffer->getAttr("exec.dims")) {
    auto dims = dyn_cast<DenseI64ArrayAttr>(attribute);
    if (!dims || !lwcc::elementCount(dims.asArrayRef()))
      return buffer.emitOpError("is part of a tensor of impossible extents: ")
             << attribute;
    whole.assign(dims.asArrayRef().begin(), dims.asArrayRef().end());
  }
  Attribute attribute = buffer->getAttr("exec.begin");
  auto list = dyn_cast_if_present<DenseI64ArrayAttr>(attribute);
  SmallVector<int64_t> begin(part.size(), 0);
  if (list)
    begin.assign(list.asArrayRef().begin(), list.asArrayRef().end());
  bool inside = begin.size() == part.size() && whole.size() == part.size() &&
                (list || !attribute);
  for (size_t d = 0; inside && d < part.size(); ++d)
    inside = begin[d] >= 0 && begin[d] <= whole[d] - part[d];
  if (inside)
    return success();
  InFlightDiagnostic diag = buffer.emitOpError("of type ");
  diag << buffer.getType();
  if (attribute)
    diag << ", at " << attribute << ",";
  return diag << " is no part of a tensor of extents [" << whole << "]";
}

/// What tensors may hold (runtime/core/Tensor.h).
static bool isElement(Type type) {
  return type.isF32() || type.isSignlessInteger(32) ||
         type.isUnsignedInteger(8);
}

LogicalResult BufferOp::verify() {
  auto type = dyn_cast<RankedTensorType>(getType());
  if (!type || !type.hasStaticShape())
    return emitOpError("needs a ranked tensor type with static shape, found ")
           << getType();
  Type element = type.getElementType();
  if (!isElement(element))
    return emitOpError("has elements of type ")
           << element << "; expected f32, i32 or ui8";
  if (!lwcc::elementCount(type.getShape()) ||
      size_t(type.getRank()) > lwcc::maxTensorRank)
    return emitOpError("has the shape of more than ")
           << (lwcc::maxBytes >> 40) << " TiB or " << lwcc::maxTensorRank
           << " dimensions: " << type;
  if (failed(checkPart(*this)))
    return failure();
  int64_t offset = getOffset();
  if (offset > lwcc::maxBytes)
    return emitOpError("has the offset ") << offset << ", beyond any arena";
  if (offset < (getViewOf() ? 0 : -1))
    return emitOpError("has negative offset ") << offset;
  if (getWindow() && !getViewOf())
    return emitOpError("is a window of nothing");
  return success();
}

LogicalResult KernelOp::verify() {
  if (static_cast<int64_t>(getInputs()) < 0)
    return emitOpError("has a negative number of inputs");
  if (std::optional<Type> elements = getElements()) {
    auto type = cast<FunctionType>(*elements);
    if (type.getNumInputs() != getInputs() || type.getNumResults() != 1 ||
        !llvm::all_of(type.getInputs(), isElement) ||
        !isElement(type.getResult(0)))
      return emitOpError("has elements ")
             << type << "; expected f32, i32 or ui8 for each of " << getInputs()
             << " inputs and for the result";
  }
  return success();
}

Type lwcc::exec::KernelOp::getInputElement(uint64_t input) {
  return getElements() ? cast<FunctionType>(*getElements()).getInput(input)
                       : Float32Type::get(getContext());
}

Type lwcc::exec::KernelOp::getResultElement() {
  return getElements() ? cast<FunctionType>(*getElements()).getResult(0)
                       : Float32Type::get(getContext());
}

/// Checks that a symbol of the program is an op of this type.
template <typename OpT>
static LogicalResult checkSymbol(Operation *op, mlir::SymbolTable &symbols,
                                 FlatSymbolRefAttr name, StringRef what) {
  if (symbols.lookup<OpT>(name.getAttr()))
    return success();
  return op->emitOpError("refers to unknown ") << what << " " << name;
}

LogicalResult CallOp::verify() {
  const train::Kernel *kernel = train::findKernel(getContext(), getCallee());
  if (!kernel)
    return emitOpError("calls unknown runtime function '")
           << getCallee() << "'";
  auto check = [&](ArrayAttr tensors, train::Arity arity, StringRef what) {
    for (Attribute a : tensors)
      if (!isa<FlatSymbolRefAttr, UnitAttr>(a))
        return emitOpError("has ")
                   << "among its " << what
                   << "s what is neither a buffer nor unit: " << a,
               failure();
    if (!arity.takes(tensors.size()))
      return emitOpError("has ")
                 << tensors.size() << " " << what << "s; expected "
                 << (arity.list ? "at least " : "") << arity.single,
             failure();
    return success();
  };
  if (failed(check(getOuts(), kernel->resultArity(), "result")) ||
      failed(check(getIns(), kernel->operandArity(), "operand")))
    return failure();
  if ((getCallee() == "map") != getKernel().has_value())
    return emitOpError("needs a kernel exactly when it calls map");
  return success();
}

/// Checks that a view lies on the device of its buffer, and that this is
/// declared first, so that views form no cycle.
static LogicalResult checkView(BufferOp buffer, mlir::SymbolTable &symbols) {
  FlatSymbolRefAttr name = buffer.getViewOfAttr();
  if (!name)
    return success();
  auto parent = symbols.lookup<BufferOp>(name.getAttr());
  if (!parent)
    return buffer.emitOpError("refers to unknown buffer ") << name;
  if (!parent->isBeforeInBlock(buffer))
    return buffer.emitOpError("is a view of ")
           << name << ", which is declared after it";
  // A view of a window would need the window's strides.
  if (parent.getWindow())
    return buffer.emitOpError("is a view of ")
           << name << ", which is a window itself";
  if (auto window = buffer.getWindow()) {
    RankedTensorType whole = parent.getTensorType();
    RankedTensorType part = buffer.getTensorType();
    bool inside = whole.getRank() == part.getRank() &&
                  window->size() == static_cast<size_t>(part.getRank()) &&
                  whole.getElementType() == part.getElementType();
    for (int64_t d = 0; inside && d < part.getRank(); ++d)
      inside = (*window)[d] >= 0 &&
               (*window)[d] <= whole.getDimSize(d) - part.getDimSize(d);
    if (!inside)
      return buffer.emitOpError("is no part of ") << name;
    int64_t offset = byteOf(whole, *window);
    if (offset != static_cast<int64_t>(buffer.getOffset()))
      return buffer.emitOpError("begins at byte ")
             << offset << " of " << name << ", not at " << buffer.getOffset();
  }
  // Checked along the chain, so that distances from the root can be added.
  auto [root, distance] = rootOf(buffer, symbols);
  if (distance > root.getBytes())
    return buffer.emitOpError("begins at byte ")
           << distance << " of @" << root.getSymName() << ", which has "
           << root.getBytes();
  if (parent.getDeviceAttr() != buffer.getDeviceAttr())
    return buffer.emitOpError("is on ")
           << buffer.getDeviceAttr() << " but a view of " << name << " on "
           << parent.getDeviceAttr();
  return success();
}

/// Checks that only operands that the kernel reads with strides are windows.
static LogicalResult checkWindows(CallOp call, mlir::SymbolTable &symbols,
                                  train::Parts parts) {
  auto bufferOf = [&](Attribute tensor) {
    auto name = dyn_cast<FlatSymbolRefAttr>(tensor);
    return name ? symbols.lookup<BufferOp>(name.getAttr()) : BufferOp();
  };
  for (Attribute result : call.getOuts())
    if (BufferOp buffer = bufferOf(result); buffer && buffer.getWindow())
      return call.emitOpError("writes to ")
             << result << ", which is a window; results are dense";
  SmallVector<int64_t> common;
  for (auto [number, operand] : llvm::enumerate(call.getIns())) {
    BufferOp buffer = bufferOf(operand);
    if (!buffer)
      continue;
    BufferOp whole = buffer;
    if (auto view = buffer.getViewOfAttr(); view && buffer.getWindow())
      whole = symbols.lookup<BufferOp>(view.getAttr());
    if (whole != buffer && parts == train::Parts::never)
      return call.emitOpError("reads ")
             << operand << ", which is a window, but takes dense tensors only";
    SmallVector<int64_t> strides = stridesOf(whole.getTensorType());
    if (number == 0)
      common = strides;
    else if (parts == train::Parts::alike && strides != common)
      return call.emitOpError("reads ")
             << operand << " with other strides than " << call.getIns()[0];
  }
  return success();
}

/// Checks that a call's buffers exist and lie on its lane's device, but for
/// operands that the kernel may read elsewhere; and that a generated kernel
/// gets its inputs, then the scalars if it draws random numbers.
static LogicalResult checkCall(CallOp call, mlir::SymbolTable &symbols) {
  if (failed(checkSymbol<LaneOp>(call, symbols, call.getLaneAttr(), "lane")))
    return failure();
  auto lane = symbols.lookup<LaneOp>(call.getLaneAttr().getAttr());
  const train::Kernel *kernel =
      train::findKernel(call.getContext(), call.getCallee());
  for (ArrayAttr list : {call.getOuts(), call.getIns()})
    for (auto [number, a] : llvm::enumerate(list)) {
      auto name = dyn_cast<FlatSymbolRefAttr>(a);
      if (!name)
        continue;
      if (failed(checkSymbol<BufferOp>(call, symbols, name, "buffer")))
        return failure();
      auto buffer = symbols.lookup<BufferOp>(name.getAttr());
      bool elsewhere = list == call.getIns() && kernel->mayLieElsewhere(number);
      if (buffer.getDeviceAttr() != lane.getDeviceAttr() && !elsewhere)
        return call.emitOpError("runs on ")
               << call.getLaneAttr() << " of " << lane.getDeviceAttr()
               << " but " << name << " lies on " << buffer.getDeviceAttr();
    }
  if (failed(checkWindows(call, symbols, kernel->parts())))
    return failure();
  if (auto name = call.getKernelAttr()) {
    if (failed(
            checkSymbol<lwcc::exec::KernelOp>(call, symbols, name, "kernel")))
      return failure();
    auto generated = symbols.lookup<lwcc::exec::KernelOp>(name.getAttr());
    int64_t inputs = generated.getInputs();
    int64_t given = call.getIns().size();
    if (given != inputs && given != inputs + 1)
      return call.emitOpError("has ")
             << given << " operands, but " << name << " takes " << inputs
             << " inputs (and the scalars if it is random)";
    auto check = [&](Attribute tensor, Type element) -> LogicalResult {
      auto name = dyn_cast<FlatSymbolRefAttr>(tensor);
      auto buffer = name ? symbols.lookup<BufferOp>(name.getAttr()) : nullptr;
      if (!buffer || buffer.getTensorType().getElementType() == element)
        return success();
      return call.emitOpError("gives ")
             << name << " of type " << buffer.getType() << " to "
             << call.getKernelAttr() << ", which takes " << element << " there";
    };
    for (auto [i, tensor] :
         llvm::enumerate(call.getIns().getValue().take_front(inputs)))
      if (failed(check(tensor, generated.getInputElement(i))))
        return failure();
    return check(call.getOuts()[0], generated.getResultElement());
  }
  return success();
}

LogicalResult ProgramOp::verifyRegions() {
  mlir::SymbolTable symbols(*this);
  auto checkOp = [&](Operation *op) -> LogicalResult {
    return llvm::TypeSwitch<Operation *, LogicalResult>(op)
        .Case<LaneOp>([&](LaneOp lane) {
          return checkSymbol<DeviceOp>(op, symbols, lane.getDeviceAttr(),
                                       "device");
        })
        .Case<BufferOp>([&](BufferOp buffer) {
          if (failed(checkSymbol<DeviceOp>(op, symbols, buffer.getDeviceAttr(),
                                           "device")))
            return failure();
          return checkView(buffer, symbols);
        })
        .Case<RecordOp, WaitOp>([&](auto sync) {
          if (failed(checkSymbol<EventOp>(op, symbols, sync.getEventAttr(),
                                          "event")))
            return failure();
          return checkSymbol<LaneOp>(op, symbols, sync.getLaneAttr(), "lane");
        })
        .Case<CallOp>([&](CallOp call) { return checkCall(call, symbols); })
        .Case<DeviceOp, EventOp, lwcc::exec::KernelOp, SequenceOp>(
            [](Operation *) { return success(); })
        .Default([](Operation *other) {
          return other->emitOpError("does not belong into an exec.program");
        });
  };
  for (Operation &op : getBody().front()) {
    if (failed(checkOp(&op)))
      return failure();
    if (auto sequence = dyn_cast<SequenceOp>(op))
      for (Operation &inner : sequence.getBody().front())
        if (failed(checkOp(&inner)))
          return failure();
  }
  return success();
}
