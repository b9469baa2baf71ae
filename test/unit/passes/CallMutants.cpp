//===- CallMutants.cpp - Damage to what calls compute ---------------------===//

#include "Mutants.h"

#include "ir/train/Interfaces.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace lwcc;
using namespace lwcc::exec;
using namespace lwcc::test;

namespace {

bool isMap(CallOp call) { return call.getKernel().has_value(); }
bool hasParameters(CallOp call) {
  return call.getParams() && !call.getParams()->empty();
}
FlatSymbolRefAttr ref(BufferOp buffer) {
  return FlatSymbolRefAttr::get(buffer.getSymNameAttr());
}

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

using Get = ArrayAttr (CallOp::*)();
using Set = void (CallOp::*)(ArrayAttr);

/// Another buffer for an operand (or result) of a call.
template <Get get, Set set>
bool otherTensor(CallOp call, ProgramOp program, Random &random) {
  ArrayAttr tensors = (call.*get)();
  if (tensors.empty())
    return false;
  size_t index = below(tensors.size(), random);
  Attribute other = otherBuffer(tensors[index], call, program, random);
  if (other)
    (call.*set)(replaced(tensors, index, other));
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
  part.removeTensorAttr();
  part.removeTileAttr();
  for (StringRef attribute : {"exec.begin", "exec.dims"})
    part->removeAttr(attribute);
  whole->getBlock()->getOperations().insertAfter(whole->getIterator(), part);
  call.setInsAttr(replaced(call.getIns(), index, ref(part)));
  return true;
}

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
  MLIRContext *context = call.getContext();
  for (StringRef name : train::kernelNames(context)) {
    const train::Kernel *kernel = train::findKernel(context, name);
    if (name != call.getCallee() && name != "map" &&
        kernel->resultArity().takes(call.getOuts().size()) &&
        kernel->operandArity().takes(call.getIns().size()))
      fitting.push_back(name);
  }
  if (fitting.empty())
    return false;
  call.setCallee(pick(fitting, random));
  call.removeKernelAttr();
  return true;
}

bool otherKernel(CallOp call, ProgramOp program, Random &random) {
  std::vector<exec::KernelOp> kernels = all<exec::KernelOp>(program);
  exec::KernelOp kernel = pick(kernels, random);
  bool other = kernel.getSymName() != *call.getKernel();
  call.setKernel(kernel.getSymName());
  return other;
}

bool otherExpression(exec::KernelOp kernel, ProgramOp, Random &) {
  kernel.setExpr(("1.5f * (" + kernel.getExpr() + ")").str());
  return true;
}

bool otherParameter(CallOp call, ProgramOp, Random &random) {
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

} // namespace

Attribute test::otherValue(Attribute value, Random &random) {
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

std::vector<Mutation> test::callMutations() {
  return {
      atEach<CallOp>("other operand",
                     otherTensor<&CallOp::getIns, &CallOp::setInsAttr>, 4),
      atEach<CallOp>("part as operand", partAsOperand),
      atEach<CallOp>("other result",
                     otherTensor<&CallOp::getOuts, &CallOp::setOutsAttr>, 3),
      atEach<CallOp>("swap operands",
                     exchangeTensors<&CallOp::getIns, &CallOp::setInsAttr>, 2),
      atEach<CallOp>("swap results",
                     exchangeTensors<&CallOp::getOuts, &CallOp::setOutsAttr>,
                     2),
      atEach<CallOp>("other callee", otherCallee),
      atEach<CallOp>("other kernel", otherKernel, 2, isMap),
      atEach<exec::KernelOp>("other expression", otherExpression),
      atEach<CallOp>("other parameter", otherParameter, 3, hasParameters),
  };
}
