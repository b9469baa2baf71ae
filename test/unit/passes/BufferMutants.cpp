//===- BufferMutants.cpp - Damage to the memory of a program --------------===//

#include "Mutants.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace lwcc;
using namespace lwcc::exec;
using namespace lwcc::test;

namespace {

bool isView(BufferOp buffer) { return buffer.getViewOf().has_value(); }
bool isWindow(BufferOp buffer) { return buffer.getWindow().has_value(); }
/// What the trainer knows.
bool isPart(BufferOp buffer) { return buffer->hasAttr("exec.begin"); }
bool isInitialized(BufferOp buffer) { return buffer->hasAttr("exec.init"); }
BufferOp anyOf(ProgramOp program, bool (*fits)(BufferOp), Random &random) {
  std::vector<BufferOp> buffers = all<BufferOp>(program);
  llvm::erase_if(buffers, [&](BufferOp buffer) { return !fits(buffer); });
  return pick(buffers, random);
}

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
  if (buffer.getWindow()->empty())
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
    BufferOp other = anyOf(program, isPart, random);
    StringAttr one = buffer.getTensorName();
    StringAttr two = other.getTensorName();
    if (one == two)
      return false;
    buffer.setTensorAttr(two);
    other.setTensorAttr(one);
    return true;
  }
  StringRef name = below(2, random) ? "exec.begin" : "exec.dims";
  Attribute other = otherValue(buffer->getAttr(name), random);
  if (other)
    buffer->setAttr(name, other);
  return other != nullptr;
}

bool otherRole(BufferOp buffer, ProgramOp, Random &random) {
  auto role = allRoles[below(std::size(allRoles), random)];
  bool other = role != buffer.getRole();
  buffer.setRole(role);
  return other && !buffer.getViewOf();
}

/// With what a training begins.
bool otherInitialValue(BufferOp buffer, ProgramOp program, Random &random) {
  BufferOp other = anyOf(program, isInitialized, random);
  Attribute one = buffer->getAttr("exec.init");
  Attribute two = other->getAttr("exec.init");
  buffer->setAttr("exec.init", two);
  return one != two;
}

} // namespace

std::vector<Mutation> test::bufferMutations() {
  return {
      atEach<BufferOp>("shift buffer", shift, 7),
      atEach<BufferOp>("place of another", toPlaceOfAnother, 2),
      atEach<BufferOp>("other arena", toOtherDevice),
      atEach<DeviceOp>("cut arena", cutArena),
      atEach<BufferOp>("other extents", otherExtents, 2),
      atEach<BufferOp>("other window", otherWindow, 4, isWindow),
      atEach<BufferOp>("other whole", otherWhole, 2, isView),
      atEach<BufferOp>("other part", otherPart, 2, isPart),
      atEach<BufferOp>("other initial value", otherInitialValue, 1,
                       isInitialized),
      atEach<BufferOp>("other role", otherRole, 2),
  };
}

std::vector<Mutation> test::mutations() {
  std::vector<Mutation> result;
  for (std::vector<Mutation> some :
       {orderMutations(), callMutations(), bufferMutations()})
    result.insert(result.end(), some.begin(), some.end());
  return result;
}
