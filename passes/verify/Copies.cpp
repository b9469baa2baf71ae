//===- Copies.cpp - Copies of a tensor stay equal -------------------------===//

#include "passes/verify/Copies.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace lwcc;
using namespace lwcc::exec;

/// Whether two parts of one tensor have elements in common.
static bool overlap(BufferOp a, BufferOp b) {
  auto begin = [](BufferOp buffer, int64_t d) {
    auto list = buffer->getAttrOfType<DenseI64ArrayAttr>("exec.begin");
    return list ? list[d] : 0;
  };
  ArrayRef<int64_t> first = a.getTensorType().getShape();
  ArrayRef<int64_t> second = b.getTensorType().getShape();
  for (int64_t d = 0, e = first.size(); d < e; ++d)
    if (begin(a, d) + first[d] <= begin(b, d) ||
        begin(b, d) + second[d] <= begin(a, d))
      return false;
  return true;
}

/// The property in which two parts of one tensor differ, empty if in none.
static StringRef differenceOf(BufferOp a, BufferOp b) {
  auto extentsOf = [](BufferOp buffer) {
    auto list = buffer->getAttrOfType<DenseI64ArrayAttr>("exec.dims");
    return list ? list.asArrayRef() : buffer.getTensorType().getShape();
  };
  if (a.getRole() != b.getRole())
    return "role";
  if (a.getTensorType().getElementType() != b.getTensorType().getElementType())
    return "element type";
  if (extentsOf(a) != extentsOf(b))
    return "extents";
  if (a.getTensorName() != b.getTensorName())
    return "name";
  for (StringRef name : {"exec.init", "exec.fresh"})
    if (a->getAttr(name) != b->getAttr(name))
      return name;
  return "";
}

LogicalResult lwcc::verifyParts(ProgramOp program) {
  bool good = true;
  llvm::DenseMap<std::pair<Attribute, Attribute>, BufferOp> firsts;
  for (auto buffer : program.getBody().getOps<BufferOp>()) {
    StringAttr tensor = buffer.getTensorName();
    // Loss and metric are never cut. Inputs, labels and scalars are identified
    // by their role, since a parameter may have the same name, and only inputs
    // and labels of further outputs by their name, too.
    Role role = buffer.getRole();
    if (!isState(role) && !isGiven(role))
      continue;
    const std::pair<Attribute, Attribute> whole(
        isState(role) ? Attribute() : buffer.getRoleAttr(),
        isState(role) || role == Role::input || role == Role::auxiliary
            ? tensor
            : Attribute());
    BufferOp first = firsts.try_emplace(whole, buffer).first->second;
    StringRef difference = differenceOf(first, buffer);
    if (difference.empty())
      continue;
    good = false;
    (buffer.emitOpError() << "is a part of '" << tensor.getValue()
                          << "', but differs from another part, @"
                          << first.getSymName() << ", in the tensor's "
                          << difference)
            .attachNote(first->getLoc())
        << "the other part";
  }
  return success(good);
}

LogicalResult lwcc::verifyCopies(SequenceOp sequence,
                                 ArrayRef<WrittenBytes> buffers) {
  bool good = true;
  llvm::MapVector<StringAttr, SmallVector<const WrittenBytes *>> tensors;
  for (const WrittenBytes &written : buffers) {
    BufferOp buffer = written.buffer;
    StringAttr tensor = buffer.getTensorName();
    if (!isState(buffer.getRole())) // the trainer saves any copy of state
      continue;
    tensors[tensor].push_back(&written);
    if (written.bytes == 0 || written.bytes == buffer.getBytes())
      continue;
    good = false;
    sequence.emitOpError() << "writes " << written.bytes << " bytes of @"
                           << buffer.getSymName() << ", which has "
                           << buffer.getBytes();
  }
  for (auto &[tensor, parts] : tensors)
    for (const WrittenBytes *one : parts)
      for (const WrittenBytes *other : parts) {
        BufferOp updated = one->buffer, stale = other->buffer;
        if (one->bytes == 0 || other->bytes != 0 || !overlap(updated, stale))
          continue;
        good = false;
        sequence.emitOpError()
            << "writes @" << updated.getSymName() << ", but not @"
            << stale.getSymName() << ", which holds elements of '"
            << tensor.getValue() << "', too";
      }
  return success(good);
}
