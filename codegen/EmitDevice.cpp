//===- EmitDevice.cpp - Where a device's tensors are ----------------------===//
//
// Prints struct Device, one for all devices. A member whose address or extents
// differ between devices is initialized by an expression of the device's number
// `i`. On a device that lacks it the member has some address that is never
// used.
//
//===----------------------------------------------------------------------===//

#include "codegen/Phrase.h"
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
  case Role::optimizer:
    return "Optimizer state.";
  case Role::constant:
    return "Constants of the model.";
  case Role::input:
  case Role::labels:
  case Role::scalars:
    return "Written by the trainer before each step.";
  case Role::loss:
  case Role::metric:
    return "Read by the trainer after each step.";
  case Role::activation:
    return "Activations; memory is shared where lifetimes allow.";
  case Role::gradient:
    return "Gradients; memory is shared where lifetimes allow.";
  }
  llvm_unreachable("covered switch");
}

/// An expression of `i` with the value of(d) on every device d that has the
/// member.
static std::string memberNumber(const DeviceMember &member,
                                NumberTables &tables,
                                llvm::function_ref<int64_t(size_t)> of) {
  std::vector<int64_t> at, values;
  size_t count = std::max(member.buffers.size(), member.lanes.size());
  auto has = [&](size_t d) {
    return member.lanes.empty() ? bool(member.buffers[d])
                                : bool(member.lanes[d]);
  };
  size_t first = 0; // device that has it
  while (!has(first))
    ++first;
  for (size_t d = 0; d < count; ++d) {
    // Devices without the member get a value, too, behind the first that has
    // it, so that a table is long enough. Lanes are looked up on every device;
    // the address of a missing tensor does not matter.
    bool needed = !member.lanes.empty() || d > first;
    if (!has(d) && !needed)
      continue;
    at.push_back(d);
    values.push_back(has(d)           ? of(d)
                     : values.empty() ? of(first)
                                      : values.back());
  }
  return expressionFor("i", at, values, tables);
}

static BufferOp firstOf(const DeviceMember &member) {
  for (BufferOp buffer : member.buffers)
    if (buffer)
      return buffer;
  return {};
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
                      memberNumber(member, tables, [&](size_t d) {
                        return names.indexOf(member.lanes[d]);
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

  StringRef title;
  for (Role role : allRoles)
    for (DeviceMember &member : names.members) {
      BufferOp first = firstOf(member);
      if (!first || first.getRole() != role)
        continue;
      if (title != titleOf(role)) {
        title = titleOf(role);
        out.line();
        out.comment(title);
      }
      RankedTensorType type = first.getTensorType();
      StringRef make = elementName(first);
      std::string dims;
      for (int64_t axis = 0; axis < type.getRank(); ++axis)
        dims +=
            (axis ? ", " : "") + memberNumber(member, tables, [&](size_t d) {
              return member.buffers[d].getTensorType().getDimSize(axis);
            });
      std::string offset = memberNumber(member, tables, [&](size_t d) {
        return names.offsetOf(member.buffers[d]);
      });
      out.assignment(
          "Tensor " + member.name,
          llvm::formatv("{0}({1}, {{{2}})", make, offset, dims).str());
    }
  out.dedent();
  out.line("};");
  out.line();
  if (isMulti) {
    out.line("using Gpus = std::vector<Device>;");
    out.line();
  }
}
