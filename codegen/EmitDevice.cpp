//===- EmitDevice.cpp - Where a device's tensors are ----------------------===//
//
// Prints struct Device, one for all devices. A member whose address or extents
// differ between devices is initialized by an expression of the device's number
// `i`. On a device that lacks it the member has some address that is never
// used.
//
//===----------------------------------------------------------------------===//

#include "codegen/Expressions.h"
#include "codegen/ProgramNames.h"
#include "codegen/ProgramTables.h"

#include "llvm/Support/FormatVariadic.h"

#include <algorithm>

using namespace mlir;
using namespace lwcc;
using namespace lwcc::exec;

static StringRef titleOf(Role role) {
  switch (role) {
  case Role::trainable:
  case Role::frozen:
    return "Parameters.";
  case Role::statistic:
    return "Running statistics.";
  case Role::average:
    return "Averages of the parameters, for inference.";
  case Role::optimizer:
    return "Optimizer state.";
  case Role::constant:
    return "Constants of the model.";
  case Role::input:
  case Role::labels:
  case Role::shares:
  case Role::auxiliary:
  case Role::scalars:
    return "Written by the trainer before each step.";
  case Role::loss:
  case Role::metric:
    return "Read by the trainer after each step.";
  case Role::scores:
    return "Read by the trainer after an evaluation.";
  case Role::activation:
    return "Activations; memory is shared where lifetimes allow.";
  case Role::gradient:
    return "Gradients; memory is shared where lifetimes allow.";
  }
  llvm_unreachable("covered switch");
}

/// An expression of `i` with the value of(d) on every device d that has a lane.
static std::string laneNumber(const DeviceMember &member, NumberTables &tables,
                              llvm::function_ref<int64_t(LaneOp)> of) {
  Variable i{"i", int64_t(member.lanes.size()), {}};
  std::vector<int64_t> values;
  LaneOp last = *llvm::find_if(member.lanes, [](LaneOp lane) { return lane; });
  for (auto [d, lane] : llvm::enumerate(member.lanes)) {
    // Lanes are looked up on every device, so that one without it gets the
    // value of another.
    last = lane ? lane : last;
    i.at.push_back(d);
    values.push_back(of(last));
  }
  return expressionFor({i}, values, tables);
}

namespace {
/// Where the tensors of a member lie: an expression for each number.
class TensorMember {
public:
  TensorMember(const DeviceMember &member, ProgramNames &names,
               NumberTables &tables)
      : member(member), names(names), tables(tables) {
    for (const auto &own : member.buffers)
      count = std::max(count, own.size());
    collect();
  }
  void print(CppWriter &out);
  BufferOp first() const { return filled.front(); }

private:
  void collect();
  std::string number(llvm::function_ref<int64_t(BufferOp)> of) {
    return number(of, tables);
  }
  std::string number(llvm::function_ref<int64_t(BufferOp)> of,
                     NumberTables &lookUps);
  bool places(CppWriter &out, const std::string &dims);

  const DeviceMember &member;
  ProgramNames &names;
  NumberTables &tables;
  size_t count = 0;             ///< of tensors on a device
  Variable i{"i", 0, {}};       ///< the device of each of `filled`
  Variable m{"m", 0, {}};       ///< its number there
  std::vector<BufferOp> filled; ///< by device and number, without holes
};
} // namespace

/// Lists the member's buffers. A device or number without one gets that of the
/// device before, or the number before, so that a table is long enough; its
/// address is never used.
void TensorMember::collect() {
  i.count = member.buffers.size();
  m.count = count;
  std::vector<BufferOp> before(count); // on the device before
  for (auto [d, own] : llvm::enumerate(member.buffers)) {
    BufferOp last;
    for (size_t n = 0; n < count; ++n) {
      BufferOp buffer = n < own.size() ? own[n] : BufferOp();
      if (!buffer)
        buffer = before[n] ? before[n] : last;
      last = before[n] = buffer;
      if (!buffer)
        continue;
      i.at.push_back(d);
      m.at.push_back(n);
      filled.push_back(buffer);
    }
  }
}

std::string TensorMember::number(llvm::function_ref<int64_t(BufferOp)> of,
                                 NumberTables &lookUps) {
  std::vector<int64_t> values;
  for (BufferOp buffer : filled)
    values.push_back(of(buffer));
  if (member.isArray())
    return expressionFor({i, m}, values, lookUps);
  return expressionFor({i}, values, lookUps);
}

/// Prints an array whose tensors are at a few places, the same on every device;
/// false if it is none.
bool TensorMember::places(CppWriter &out, const std::string &dims) {
  const StringRef digits = "0123456789abcdefghijklmnopqrstuvwxyz";
  std::vector<int64_t> offsets;
  std::string pattern(count, ' ');
  for (auto [n, buffer] : llvm::enumerate(filled)) {
    int64_t offset = names.offsetOf(buffer);
    size_t place = llvm::find(offsets, offset) - offsets.begin();
    if (place == digits.size())
      return false;
    if (place == offsets.size())
      offsets.push_back(offset);
    char &digit = pattern[m.at[n]];
    if (digit != ' ' && digit != digits[place])
      return false;
    digit = digits[place];
  }
  // What no device has lies anywhere.
  llvm::replace(pattern, ' ', '0');
  out.initialization("Tensors " + member.name, elementName(first()),
                     {CppArgument(tables.nameOf(offsets)),
                      CppArgument(quoted(pattern)), CppArgument(dims)});
  return true;
}

void TensorMember::print(CppWriter &out) {
  RankedTensorType type = first().getTensorType();
  std::string make = elementName(first()).str(), dims;
  for (int64_t axis = 0; axis < type.getRank(); ++axis)
    dims += (axis ? ", " : "") + number([&](BufferOp buffer) {
              return buffer.getTensorType().getDimSize(axis);
            });
  dims = "{" + dims + "}";
  auto offsetOf = [&](BufferOp buffer) { return names.offsetOf(buffer); };
  if (!member.isArray()) {
    out.assignment("Tensor " + member.name,
                   make + "(" + number(offsetOf) + ", " + dims + ")");
    return;
  }
  bool isUniform = llvm::all_of(filled, [&](BufferOp buffer) {
    return buffer.getTensorType().getShape() == type.getShape();
  });
  // Places are for what would need a look-up.
  NumberTables lookUps;
  number(offsetOf, lookUps);
  if (isUniform && !lookUps.all().empty() && places(out, dims))
    return;
  out.lambda("Tensors " + member.name,
             "each(upTo(" + std::to_string(count) + "), [&](int64_t m)",
             make + "(" + number(offsetOf) + ", " + dims + ")");
}

void lwcc::emitDevice(ProgramNames &names, NumberTables &tables,
                      CppWriter &out) {
  const bool isMulti = names.devices.size() > 1;
  if (isMulti)
    out.line("/// The lanes and tensors of device `i`.");
  else
    out.line("/// The lanes and tensors of the device.");
  out.line("struct Device : DeviceMemory {");
  out.indent();
  out.line(isMulti ? "LWCC_ONCE Device(Machine &machine, int64_t i)"
                   : "LWCC_ONCE explicit Device(Machine &machine)");
  std::string initializers = isMulti ? "    : DeviceMemory(machine, i), i(i)"
                                     : "    : DeviceMemory(machine, 0)";
  for (DeviceMember &member : names.members) {
    if (member.lanes.empty())
      continue;
    std::string next =
        llvm::formatv("{0}(machine.lane({1}))", member.name,
                      laneNumber(member, tables, [&](LaneOp lane) {
                        return names.indexOf(lane);
                      }));
    if (initializers.size() + 2 + next.size() + 4 > 78) {
      out.line(initializers + ",");
      initializers = "      " + next;
    } else {
      initializers += ", " + next;
    }
  }
  out.line(initializers + " {}");
  out.line();
  if (isMulti)
    out.line("int64_t i;");
  for (DeviceMember &member : names.members)
    if (!member.lanes.empty())
      out.line("Lane &" + member.name + ";");

  std::vector<TensorMember> members;
  for (DeviceMember &member : names.members)
    if (member.lanes.empty())
      members.emplace_back(member, names, tables);
  StringRef title;
  for (Role role : allRoles)
    for (TensorMember &tensors : members) {
      if (tensors.first().getRole() != role)
        continue;
      if (title != titleOf(role)) {
        title = titleOf(role);
        out.line();
        out.comment(title);
      }
      tensors.print(out);
    }
  out.dedent();
  out.line("};");
  out.line();
  if (isMulti) {
    out.line("using Gpus = std::vector<Device>;");
    out.line();
  }
}
