//===- Mutants.cpp - Ways to damage an exec program -----------------------===//

#include "Mutants.h"

#include "ir/exec/Kernels.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallString.h"

using namespace mlir;
using namespace lwcc;
using namespace lwcc::exec;
using namespace lwcc::test;

namespace {

template <typename OpT>
std::vector<OpT> all(ProgramOp program) {
  std::vector<OpT> result;
  program.walk([&](OpT op) { result.push_back(op); });
  return result;
}
template <typename OpT>
size_t countOf(ProgramOp program) {
  return all<OpT>(program).size();
}
size_t below(size_t n, Random &random) { return random() % n; }
template <typename T>
T pick(const std::vector<T> &list, Random &random) {
  return list[below(list.size(), random)];
}
FlatSymbolRefAttr ref(BufferOp buffer) {
  return FlatSymbolRefAttr::get(buffer.getSymNameAttr());
}

/// A damage at one op of a kind.
template <typename OpT>
Mutation atEach(std::string kind,
                std::function<bool(OpT, ProgramOp, Random &)> damage,
                size_t times = 1) {
  return {kind, [times](ProgramOp p) { return times * countOf<OpT>(p); },
          [=](ProgramOp p, size_t site, Random &random) {
            return damage(all<OpT>(p)[site / times], p, random);
          }};
}

//===----------------------------------------------------------------------===//
// Order
//===----------------------------------------------------------------------===//

template <typename OpT>
bool drop(OpT op, ProgramOp, Random &) {
  op.erase();
  return true;
}

template <typename OpT>
bool toOtherLane(OpT op, ProgramOp program, Random &random) {
  LaneOp lane = pick(all<LaneOp>(program), random);
  bool other = op.getLane() != lane.getSymName();
  op.setLane(lane.getSymName());
  return other;
}

/// Anything that stands in the op's sequence.
Operation *anyIn(Block *block, Random &random) {
  return &*std::next(block->begin(),
                     below(block->getOperations().size(), random));
}

template <typename OpT>
bool toOtherPlace(OpT op, ProgramOp, Random &random) {
  Operation *other = anyIn(op->getBlock(), random);
  if (other == op)
    return false;
  if (op->isBeforeInBlock(other))
    op->moveAfter(other);
  else
    op->moveBefore(other);
  return true;
}

bool swapWithNext(Operation *op) {
  if (!op->getNextNode())
    return false;
  op->moveAfter(op->getNextNode());
  return true;
}

void exchange(Operation *a, Operation *b) {
  Operation *behind = b->getNextNode();
  if (behind == a) {
    a->moveBefore(b);
    return;
  }
  b->moveBefore(a);
  if (behind)
    a->moveBefore(behind);
  else
    a->moveAfter(&a->getBlock()->back());
}

bool exchangeWithAnother(CallOp call, ProgramOp, Random &random) {
  std::vector<CallOp> others;
  for (auto other : call->getBlock()->getOps<CallOp>())
    if (other != call)
      others.push_back(other);
  if (others.empty())
    return false;
  exchange(call, pick(others, random));
  return true;
}

bool addWait(WaitOp wait, ProgramOp program, Random &random) {
  auto copy = cast<WaitOp>(wait->clone());
  wait->getBlock()->push_back(copy);
  toOtherLane(copy, program, random);
  Operation *place = anyIn(wait->getBlock(), random);
  if (place != copy)
    copy->moveBefore(place);
  return true;
}

bool runTwice(CallOp call, ProgramOp, Random &random) {
  auto copy = call->clone();
  Operation *place =
      below(2, random) ? call.getOperation() : anyIn(call->getBlock(), random);
  place->getBlock()->getOperations().insertAfter(place->getIterator(), copy);
  return true;
}

//===----------------------------------------------------------------------===//
// What a call reads, writes and computes
//===----------------------------------------------------------------------===//

ArrayAttr replaced(ArrayAttr list, size_t index, Attribute with) {
  auto items = llvm::to_vector(list);
  items[index] = with;
  return ArrayAttr::get(list.getContext(), items);
}

/// Another buffer, mostly one that fits.
Attribute otherBuffer(Attribute old, CallOp call, ProgramOp program,
                      Random &random) {
  auto name = dyn_cast<FlatSymbolRefAttr>(old);
  std::vector<BufferOp> buffers = all<BufferOp>(program), alike;
  if (!name)
    return ref(pick(buffers, random));
  if (below(16, random) == 0)
    return UnitAttr::get(program.getContext());
  BufferOp buffer;
  for (BufferOp other : buffers)
    if (other.getSymName() == name.getValue())
      buffer = other;
  bool anyType = below(3, random) == 0, anyDevice = below(3, random) == 0;
  for (BufferOp other : buffers)
    if (other != buffer && (anyType || other.getType() == buffer.getType()) &&
        (anyDevice || other.getDevice() == buffer.getDevice()))
      alike.push_back(other);
  return alike.empty() ? Attribute() : ref(pick(alike, random));
}

bool otherOperand(CallOp call, ProgramOp program, Random &random) {
  if (call.getIns().empty())
    return false;
  size_t index = below(call.getIns().size(), random);
  Attribute other = otherBuffer(call.getIns()[index], call, program, random);
  if (other)
    call.setInsAttr(replaced(call.getIns(), index, other));
  return other != nullptr;
}

/// A part of some tensor instead of an operand, as large as the operand.
bool partAsOperand(CallOp call, ProgramOp program, Random &random) {
  if (call.getIns().empty())
    return false;
  size_t index = below(call.getIns().size(), random);
  auto name = dyn_cast<FlatSymbolRefAttr>(call.getIns()[index]);
  if (!name)
    return false;
  SymbolTable symbols(program);
  auto old = symbols.lookup<BufferOp>(name.getAttr());
  RankedTensorType type = old.getTensorType();
  std::vector<BufferOp> wholes;
  for (BufferOp other : all<BufferOp>(program)) {
    RankedTensorType whole = other.getTensorType();
    if (other.getDevice() == old.getDevice() && !other.getWindow() &&
        whole.getElementType() == type.getElementType() &&
        whole.getRank() == type.getRank() && whole != type &&
        llvm::all_of(
            llvm::zip_equal(whole.getShape(), type.getShape()),
            [](auto pair) { return std::get<0>(pair) >= std::get<1>(pair); }))
      wholes.push_back(other);
  }
  if (wholes.empty())
    return false;
  BufferOp whole = pick(wholes, random);
  std::vector<int64_t> begin;
  for (int64_t d = 0; d < type.getRank(); ++d)
    begin.push_back(below(
        whole.getTensorType().getDimSize(d) - type.getDimSize(d) + 1, random));
  auto part = cast<BufferOp>(whole->clone());
  part.setSymName("part");
  part.setType(type);
  part.setViewOf(whole.getSymName());
  part.setWindow(begin);
  part.setOffset(byteOf(whole.getTensorType(), begin));
  for (StringRef attribute : {"exec.tensor", "exec.begin", "exec.dims"})
    part->removeAttr(attribute);
  whole->getBlock()->getOperations().insertAfter(whole->getIterator(), part);
  call.setInsAttr(replaced(call.getIns(), index, ref(part)));
  return true;
}

bool otherResult(CallOp call, ProgramOp program, Random &random) {
  if (call.getOuts().empty())
    return false;
  size_t index = below(call.getOuts().size(), random);
  Attribute other = otherBuffer(call.getOuts()[index], call, program, random);
  if (other)
    call.setOutsAttr(replaced(call.getOuts(), index, other));
  return other != nullptr;
}

using Get = ArrayAttr (CallOp::*)();
using Set = void (CallOp::*)(ArrayAttr);

/// One operand (or result) of a call for one of another call, or of itself.
template <Get get, Set set>
bool exchangeTensors(CallOp call, ProgramOp, Random &random) {
  std::vector<CallOp> calls(call->getBlock()->getOps<CallOp>().begin(),
                            call->getBlock()->getOps<CallOp>().end());
  CallOp other = below(2, random) ? call : pick(calls, random);
  if ((call.*get)().empty() || (other.*get)().empty())
    return false;
  size_t i = below((call.*get)().size(), random);
  size_t j = below((other.*get)().size(), random);
  Attribute one = (call.*get)()[i], two = (other.*get)()[j];
  (call.*set)(replaced((call.*get)(), i, two));
  (other.*set)(replaced((other.*get)(), j, one));
  return one != two;
}

bool otherCallee(CallOp call, ProgramOp, Random &random) {
  std::vector<StringRef> fitting;
  auto fits = [](int count, size_t given) {
    return count >= 0 ? static_cast<size_t>(count) == given
                      : given + 1 >= static_cast<size_t>(-count);
  };
  for (const KernelSignature &row : kernelSignatures())
    if (row.name != call.getCallee() && row.name != "map" &&
        fits(row.results, call.getOuts().size()) &&
        fits(row.operands, call.getIns().size()))
      fitting.push_back(row.name);
  if (fitting.empty())
    return false;
  call.setCallee(pick(fitting, random));
  call.removeKernelAttr();
  return true;
}

bool otherKernel(CallOp call, ProgramOp program, Random &random) {
  std::vector<exec::KernelOp> kernels = all<exec::KernelOp>(program);
  if (!call.getKernel() || kernels.empty())
    return false;
  exec::KernelOp kernel = pick(kernels, random);
  bool other = kernel.getSymName() != *call.getKernel();
  call.setKernel(kernel.getSymName());
  return other;
}

bool otherExpression(exec::KernelOp kernel, ProgramOp, Random &) {
  kernel.setExpr(("1.5f * (" + kernel.getExpr() + ")").str());
  return true;
}

Attribute otherValue(Attribute value, Random &random) {
  Builder builder(value.getContext());
  int64_t step = below(2, random) ? 1 : -1;
  if (auto flag = dyn_cast<BoolAttr>(value))
    return builder.getBoolAttr(!flag.getValue());
  if (auto number = dyn_cast<IntegerAttr>(value))
    return IntegerAttr::get(number.getType(), number.getInt() + step);
  if (auto number = dyn_cast<FloatAttr>(value))
    return FloatAttr::get(number.getType(), number.getValueAsDouble() * 2 + 1);
  auto list = dyn_cast<DenseI64ArrayAttr>(value);
  if (!list || list.empty())
    return {};
  auto items = llvm::to_vector(list.asArrayRef());
  size_t at = below(items.size(), random);
  if (below(2, random))
    items[at] += step;
  else
    std::swap(items[at], items[below(items.size(), random)]);
  return ArrayRef(items) == list.asArrayRef()
             ? Attribute()
             : builder.getDenseI64ArrayAttr(items);
}

bool otherParameter(CallOp call, ProgramOp, Random &random) {
  if (!call.getParams() || call.getParams()->empty())
    return false;
  NamedAttrList list(*call.getParams());
  auto entry =
      call.getParams()->getValue()[below(call.getParams()->size(), random)];
  Attribute other = otherValue(entry.getValue(), random);
  if (!other)
    return false;
  list.set(entry.getName(), other);
  call.setParamsAttr(list.getDictionary(call.getContext()));
  return true;
}

//===----------------------------------------------------------------------===//
// Where buffers lie, and how large they are
//===----------------------------------------------------------------------===//

bool shift(BufferOp buffer, ProgramOp, Random &random) {
  static const std::vector<int64_t> shifts = {-512, -256, -128, 128,
                                              256,  512,  768};
  buffer.setOffset(buffer.getOffset() + pick(shifts, random));
  return true;
}

bool toPlaceOfAnother(BufferOp buffer, ProgramOp program, Random &random) {
  BufferOp other = pick(all<BufferOp>(program), random);
  if (other.getViewOf() || buffer.getViewOf() ||
      other.getOffset() == buffer.getOffset())
    return false;
  buffer.setOffset(other.getOffset());
  return true;
}

bool toOtherDevice(BufferOp buffer, ProgramOp program, Random &random) {
  DeviceOp device = pick(all<DeviceOp>(program), random);
  bool other = device.getSymName() != buffer.getDevice();
  buffer.setDevice(device.getSymName());
  return other;
}

bool cutArena(DeviceOp device, ProgramOp, Random &) {
  int64_t arena = device.getArena();
  device.setArena(std::max<int64_t>(0, arena - 256));
  return arena > 0;
}

bool otherExtents(BufferOp buffer, ProgramOp, Random &random) {
  RankedTensorType type = buffer.getTensorType();
  auto dims = llvm::to_vector(type.getShape());
  if (dims.empty()) {
    dims = {2};
  } else if (size_t d = below(dims.size(), random); below(2, random)) {
    std::swap(dims[d], dims[below(dims.size(), random)]);
  } else if (below(3, random) == 0) {
    dims = {type.getNumElements()};
  } else {
    dims[d] += below(2, random) && dims[d] > 1 ? -1 : 1;
  }
  buffer.setType(RankedTensorType::get(dims, type.getElementType()));
  return buffer.getType() != type;
}

/// Another part of the same buffer: moved by one element.
bool otherWindow(BufferOp buffer, ProgramOp program, Random &random) {
  if (!buffer.getWindow() || buffer.getWindow()->empty())
    return false;
  auto window = llvm::to_vector(*buffer.getWindow());
  window[below(window.size(), random)] += below(2, random) ? 1 : -1;
  SymbolTable symbols(program);
  auto whole = symbols.lookup<BufferOp>(*buffer.getViewOf());
  buffer.setWindow(window);
  buffer.setOffset(byteOf(whole.getTensorType(), window));
  return true;
}

bool otherWhole(BufferOp buffer, ProgramOp program, Random &random) {
  if (!buffer.getViewOf())
    return false;
  std::vector<BufferOp> others;
  for (BufferOp other : all<BufferOp>(program))
    if (other.getDevice() == buffer.getDevice() &&
        other->isBeforeInBlock(buffer) &&
        other.getSymName() != *buffer.getViewOf())
      others.push_back(other);
  if (others.empty())
    return false;
  buffer.setViewOf(pick(others, random).getSymName());
  return true;
}

/// Of which tensor, and which part of it, the trainer takes the buffer for.
bool otherPart(BufferOp buffer, ProgramOp program, Random &random) {
  if (below(3, random) == 0) {
    BufferOp other = pick(all<BufferOp>(program), random);
    Attribute one = buffer->getAttr("exec.tensor");
    Attribute two = other->getAttr("exec.tensor");
    if (!one || !two || one == two)
      return false;
    buffer->setAttr("exec.tensor", two);
    other->setAttr("exec.tensor", one);
    return true;
  }
  StringRef name = below(2, random) ? "exec.begin" : "exec.dims";
  Attribute old = buffer->getAttr(name);
  Attribute other = old ? otherValue(old, random) : Attribute();
  if (other)
    buffer->setAttr(name, other);
  return other != nullptr;
}

bool otherRole(BufferOp buffer, ProgramOp, Random &random) {
  auto role = static_cast<Role>(below(11, random));
  bool other = role != buffer.getRole();
  buffer.setRole(role);
  return other && !buffer.getViewOf();
}

} // namespace

const std::vector<Mutation> &test::mutations() {
  static const std::vector<Mutation> list = {
      atEach<RecordOp>("drop record", drop<RecordOp>),
      atEach<RecordOp>("move record", toOtherPlace<RecordOp>),
      atEach<WaitOp>("drop wait", drop<WaitOp>),
      atEach<WaitOp>("wait on another lane", toOtherLane<WaitOp>, 3),
      atEach<WaitOp>("add wait", addWait),
      {"swap neighbours",
       [](ProgramOp p) {
         size_t count = 0;
         for (auto sequence : p.getBody().getOps<SequenceOp>())
           count += sequence.getBody().front().getOperations().size();
         return count;
       },
       [](ProgramOp p, size_t site, Random &) {
         for (auto sequence : p.getBody().getOps<SequenceOp>())
           for (Operation &op : sequence.getBody().front())
             if (site-- == 0)
               return swapWithNext(&op);
         return false;
       }},
      atEach<CallOp>("call on another lane", toOtherLane<CallOp>, 3),
      atEach<CallOp>("move call", toOtherPlace<CallOp>, 2),
      atEach<CallOp>("swap calls", exchangeWithAnother, 2),
      atEach<CallOp>("drop call", drop<CallOp>),
      atEach<CallOp>("double call", runTwice, 2),
      atEach<CallOp>("other operand", otherOperand, 4),
      atEach<CallOp>("part as operand", partAsOperand),
      atEach<CallOp>("other result", otherResult, 3),
      atEach<CallOp>("swap operands",
                     exchangeTensors<&CallOp::getIns, &CallOp::setInsAttr>, 2),
      atEach<CallOp>("swap results",
                     exchangeTensors<&CallOp::getOuts, &CallOp::setOutsAttr>,
                     2),
      atEach<CallOp>("other callee", otherCallee),
      atEach<CallOp>("other kernel", otherKernel, 2),
      atEach<exec::KernelOp>("other expression", otherExpression),
      atEach<CallOp>("other parameter", otherParameter, 3),
      atEach<BufferOp>("shift buffer", shift, 7),
      atEach<BufferOp>("place of another", toPlaceOfAnother, 2),
      atEach<BufferOp>("other arena", toOtherDevice),
      atEach<DeviceOp>("cut arena", cutArena),
      atEach<BufferOp>("other extents", otherExtents, 2),
      atEach<BufferOp>("other window", otherWindow, 4),
      atEach<BufferOp>("other whole", otherWhole, 2),
      atEach<BufferOp>("other part", otherPart, 2),
      atEach<BufferOp>("other role", otherRole, 2),
  };
  return list;
}
