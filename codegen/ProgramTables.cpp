//===- ProgramTables.cpp - What the trainer's tables are made of ----------===//

#include "codegen/ProgramTables.h"
#include "ir/Size.h"
#include "ir/train/Train.h"

#include "llvm/ADT/StringMap.h"

using namespace mlir;
using namespace lwcc;
using namespace lwcc::exec;

int64_t lwcc::tokensOf(ProgramOp program, StringRef input) {
  auto tokens = program->getAttrOfType<DictionaryAttr>("exec.tokens");
  auto count = tokens ? tokens.getAs<IntegerAttr>(input) : IntegerAttr();
  return count ? count.getInt() : 0;
}

bool lwcc::hasChannelsLast(ProgramOp program, StringRef input) {
  auto names = program->getAttrOfType<ArrayAttr>("exec.channels_last");
  return names && llvm::is_contained(
                      names, StringAttr::get(program.getContext(), input));
}

ArrayRef<int64_t> lwcc::globalDims(BufferOp buffer) {
  auto dims = buffer->getAttrOfType<DenseI64ArrayAttr>("exec.dims");
  return dims ? dims.asArrayRef() : buffer.getTensorType().getShape();
}

StringRef lwcc::elementName(BufferOp buffer) {
  Type element = buffer.getTensorType().getElementType();
  return element.isF32() ? "f32" : element.isInteger(32) ? "i32" : "u8";
}

StringRef lwcc::useName(LaneOp lane) {
  if (!lane.isCopy())
    return "compute";
  return lane.getKind().getValue() == LaneKind::small ? "urgent" : "copies";
}

int64_t lwcc::bytesOfState(BufferOp buffer) {
  return *elementCount(globalDims(buffer)) *
         train::elementBytes(buffer.getTensorType());
}

int64_t lwcc::weightsNeeded(ProgramOp program, bool exports) {
  int64_t needed = 0;
  // Neither an offset nor a tensor has more than maxBytes, so their sum does
  // not overflow.
  for (auto buffer : program.getBody().getOps<BufferOp>())
    for (StringRef name : {"exec.init", "exec.fresh"})
      if (auto init = buffer->getAttrOfType<train::InitAttr>(name);
          init && init.getKind() == "blob")
        needed = std::max(needed, init.getOffset() + bytesOfState(buffer));
  if (auto pieces = program->getAttrOfType<ArrayAttr>("exec.export");
      pieces && exports)
    for (auto literal : pieces.getAsRange<Attribute>())
      if (auto range = dyn_cast<DenseI64ArrayAttr>(literal))
        needed = std::max(needed, range[0] + range[1]);
  return needed;
}

/// Checks the recipe of the exported file: bytes {offset, bytes} of the blob,
/// or names of state tensors.
static LogicalResult checkExport(ProgramOp program,
                                 const llvm::StringMap<BufferOp> &state) {
  Attribute attribute = program->getAttr("exec.export");
  if (!attribute)
    return success();
  auto pieces = dyn_cast<ArrayAttr>(attribute);
  if (!pieces)
    return program.emitOpError("has exec.export ")
           << attribute << "; expected a list";
  bool good = true;
  int64_t all = 0;
  for (Attribute piece : pieces) {
    int64_t bytes = 0;
    if (auto name = dyn_cast<StringAttr>(piece)) {
      BufferOp buffer = state.lookup(name.getValue());
      if (!buffer || name.empty()) {
        good = false;
        program.emitOpError("exports ") << piece << ", which is no state";
        continue;
      }
      bytes = bytesOfState(buffer);
    } else {
      auto literal = dyn_cast<DenseI64ArrayAttr>(piece);
      int64_t end = literal && literal.size() == 2 ? literal[0] : -1;
      if (end < 0 || end > maxBytes || !addBytes(end, literal[1])) {
        good = false;
        program.emitOpError("exports ")
            << piece << "; expected a name, or first byte and bytes of the "
            << "weights";
        continue;
      }
      bytes = literal[1];
    }
    if (!addBytes(all, bytes))
      return program.emitOpError("exports a file of more than ")
             << (maxBytes >> 40) << " TiB";
  }
  return success(good);
}

LogicalResult lwcc::checkTables(ProgramOp program) {
  bool good = true;
  auto complain = [&](BufferOp buffer) {
    good = false;
    return buffer.emitOpError();
  };
  llvm::StringMap<BufferOp> state;
  for (auto buffer : program.getBody().getOps<BufferOp>()) {
    Role role = buffer.getRole();
    if (!isState(role) && (!isGiven(role) || role == Role::scalars))
      continue;
    StringAttr tensor = buffer.getTensorName();
    if (buffer->hasAttr("exec.begin") && !buffer->hasAttr("exec.dims"))
      complain(buffer)
          << "is a part of a tensor of unknown extents (exec.dims)";
    if (!isState(role))
      continue;
    if (!buffer->getAttrOfType<train::InitAttr>("exec.init"))
      complain(buffer) << "has no initial value (exec.init)";
    for (StringRef name : {"exec.init", "exec.fresh"})
      if (auto init = buffer->getAttrOfType<train::InitAttr>(name);
          init && (init.getKind() == "normal" || init.getKind() == "uniform") &&
          !buffer.getTensorType().getElementType().isF32())
        complain(buffer) << "has random initial values (" << name
                         << "), but is not of f32";
    BufferOp &first = state[tensor.getValue()];
    if (!first)
      first = buffer;
    else if (globalDims(first) != globalDims(buffer) ||
             elementName(first) != elementName(buffer) ||
             first.getRole() != role)
      complain(buffer)
              .append("is part of another ", tensor, " than @",
                      first.getSymName())
              .attachNote(first.getLoc())
          << "that is here";
  }
  return success(succeeded(checkExport(program, state)) && good);
}
