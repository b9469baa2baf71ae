//===- ProgramNames.cpp - The C++ names of one program --------------------===//

#include "codegen/ProgramNames.h"
#include "ir/train/Expression.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace lwcc;
using namespace lwcc::exec;

ProgramNames::ProgramNames(ProgramOp program)
    : program(program), symbols(program), counterparts(program) {
  auto add = [&](auto &list, auto op) {
    index[op] = static_cast<int>(list.size());
    list.push_back(op);
  };
  for (Operation &op : program.getBody().front())
    TypeSwitch<Operation *>(&op)
        .Case([&](DeviceOp device) { add(devices, device); })
        .Case([&](LaneOp lane) { add(lanes, lane); })
        .Case([&](EventOp event) { add(events, event); })
        .Case([&](exec::KernelOp kernel) { add(kernels, kernel); })
        .Case([&](BufferOp buffer) { add(buffers, buffer); });

  // A kernel must not have the name of a function that it calls, which its own
  // would hide.
  std::vector<StringRef> own = Expression::functionNames();
  own.insert(own.end(), {"at", "indexed", "inputs"});
  NameTable kernelNames(own);
  for (exec::KernelOp kernel : kernels)
    member[kernel] = kernelNames.get(kernel.getSymName());
  nameMembers();
}

void ProgramNames::nameMembers() {
  std::map<std::tuple<std::string, const void *, int64_t>, size_t> known;
  NameTable taken;
  auto memberFor = [&](StringRef name, const void *type,
                       int64_t rank) -> DeviceMember & {
    auto [entry, isNew] =
        known.try_emplace({name.str(), type, rank}, members.size());
    if (isNew)
      members.push_back({taken.fresh(name), {}, {}});
    return members[entry->second];
  };
  for (LaneOp lane : lanes) {
    DeviceMember &of = memberFor(counterparts.nameOf(lane), this, 0);
    of.lanes.resize(devices.size());
    of.lanes[deviceOf(lane.getDevice())] = lane;
    member[lane] = of.name;
  }
  for (BufferOp buffer : buffers) {
    if (rowsOf(buffer) || buffer.getWindow())
      continue;
    RankedTensorType type = buffer.getTensorType();
    const OfSeries &series = counterparts.seriesOf(buffer);
    DeviceMember &of =
        memberFor(series.name, type.getElementType().getAsOpaquePointer(),
                  type.getRank());
    of.buffers.resize(devices.size());
    auto &own = of.buffers[deviceOf(buffer.getDevice())];
    // Times are counted anew, as some may be no members. Tiles keep their
    // numbers: those of two tensors belong together.
    size_t number = buffer.getTileAttr() ? series.number : own.size();
    own.resize(std::max(own.size(), number + 1));
    assert(!own[number] && "unique on a device");
    own[number] = buffer;
    member[buffer] = of.name;
    elements[buffer] = number;
  }
  for (const DeviceMember &of : members)
    if (!of.isArray())
      for (const auto &own : of.buffers)
        for (BufferOp buffer : own)
          elements.erase(buffer);
}

std::optional<int64_t> ProgramNames::elementOf(BufferOp buffer) const {
  auto found = elements.find(buffer);
  if (found == elements.end())
    return std::nullopt;
  return found->second;
}

std::optional<Rows> ProgramNames::rowsOf(BufferOp buffer) {
  if (devices.size() == 1 || !buffer.getViewOf())
    return std::nullopt;
  auto [root, distance] = rootOf(buffer, symbols);
  RankedTensorType whole = root.getTensorType(), part = buffer.getTensorType();
  // A result that was made in another tensor's place keeps a name of its own.
  if (whole == part && root.getTensorName() != buffer.getTensorName())
    return std::nullopt;
  if (whole.getElementType() != part.getElementType() ||
      whole.getRank() != part.getRank() || whole.getRank() == 0 ||
      whole.getShape().drop_front() != part.getShape().drop_front())
    return std::nullopt;
  int64_t rowBytes =
      part.getDimSize(0) == 0 ? 1 : buffer.getBytes() / part.getDimSize(0);
  if (rowBytes == 0 || distance % rowBytes != 0)
    return std::nullopt;
  int64_t begin = distance / rowBytes;
  return Rows{root, begin, begin + part.getDimSize(0)};
}

int64_t ProgramNames::offsetOf(BufferOp buffer) {
  auto [root, distance] = rootOf(buffer, symbols);
  return root.getOffset() + distance;
}

std::string lwcc::textOf(ProgramOp program, StringRef attribute) {
  auto text = program->getAttrOfType<StringAttr>(attribute);
  return text ? text.str() : "";
}

int64_t lwcc::numberOf(ProgramOp program, StringRef attribute) {
  auto number = program->getAttrOfType<IntegerAttr>(attribute);
  return number ? number.getInt() : 0;
}

std::string lwcc::braced(ArrayRef<int64_t> values) {
  return "{" +
         llvm::join(llvm::map_range(
                        values, [](int64_t v) { return std::to_string(v); }),
                    ", ") +
         "}";
}
