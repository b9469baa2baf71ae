//===- EmitMachine.cpp - The devices and lanes of a program ---------------===//
//
// Prints what describe() says of the machine: a statement for each device and
// lane, or one for many that are alike. Numbers of devices and lanes are those
// of ProgramNames.
//
//===----------------------------------------------------------------------===//

#include "codegen/Expressions.h"
#include "codegen/ProgramNames.h"
#include "codegen/ProgramTables.h"
#include "ir/place/Place.h"

#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace lwcc;
using namespace lwcc::exec;

static void emitDevices(ProgramNames &names, NumberTables &tables,
                        CppWriter &out) {
  Variable i{"i", int64_t(names.devices.size()), {}};
  std::vector<int64_t> arenas;
  for (DeviceOp device : names.devices) {
    i.at.push_back(i.at.size());
    arenas.push_back(device.getArena());
  }
  auto add = [&](const std::string &bytes) {
    out.call("program.machine.devices.push_back",
             {CppArgument(std::vector<std::string>{".arenaBytes = " + bytes})});
  };
  if (arenas.size() < worthLoop) {
    for (int64_t bytes : arenas)
      add(std::to_string(bytes));
    return;
  }
  out.line("for (int64_t i = 0; i < " + std::to_string(arenas.size()) +
           "; ++i)");
  out.indent();
  add(expressionFor({i}, arenas, tables));
  out.dedent();
}

namespace {
/// The lanes of a device.
struct DeviceLanes {
  size_t device;
  std::vector<LaneOp> lanes;
  /// Whether their names begin with the device's usual one. Then it is left out
  /// in `fields`.
  bool isUsual = true;
  std::vector<std::string> fields; ///< braced, a lane each
};
} // namespace

/// What lanes of a device on nodes of so many are called first, as addLanes of
/// runtime/emit/Generated.h does.
static std::string usualName(int64_t device, int64_t ofNode) {
  return DeviceId{device / ofNode, device % ofNode}.name() + ".";
}

/// The fields of a lane, whose name is given.
static std::vector<std::string> fieldsOf(LaneOp lane, StringRef name) {
  std::vector<std::string> fields = {".name = " + quoted(name)};
  if (lane.isCopy())
    fields.push_back(".use = LaneUse::" + useName(lane).str());
  if (std::optional<uint64_t> threads = lane.getThreads())
    fields.push_back(".threads = " + std::to_string(*threads));
  return fields;
}

static std::vector<DeviceLanes> lanesByDevice(ProgramNames &names,
                                              size_t ofNode) {
  std::vector<DeviceLanes> all;
  for (LaneOp lane : names.lanes) {
    const size_t device = names.deviceOf(lane.getDevice());
    if (all.empty() || all.back().device != device)
      all.push_back({device, {}, true, {}});
    StringRef name = lane.getSymName();
    all.back().isUsual &= name.consume_front(usualName(device, ofNode));
    all.back().lanes.push_back(lane);
    all.back().fields.push_back("{" + llvm::join(fieldsOf(lane, name), ", ") +
                                "}");
  }
  return all;
}

static void emitLanes(ProgramNames &names, CppWriter &out) {
  size_t ofNode = 0; // devices of the first node
  while (ofNode < names.devices.size() &&
         names.devices[ofNode].getNode() == names.devices[0].getNode())
    ++ofNode;
  const std::vector<DeviceLanes> all = lanesByDevice(names, ofNode);
  for (ArrayRef<DeviceLanes> rest = all; !rest.empty();) {
    const DeviceLanes &first = rest[0];
    size_t count = 0;
    while (count < rest.size() && rest[count].isUsual &&
           rest[count].device == first.device + count &&
           rest[count].fields == first.fields)
      ++count;
    if (count >= worthLoop) {
      out.call("addLanes", {CppArgument("program.machine"),
                            CppArgument(std::to_string(first.device)),
                            CppArgument(std::to_string(first.device + count)),
                            CppArgument(std::to_string(ofNode)),
                            CppArgument(first.fields)});
    } else {
      count = 1;
      for (LaneOp lane : rest[0].lanes) {
        std::vector<std::string> fields = fieldsOf(lane, lane.getSymName());
        fields.insert(fields.begin(),
                      ".device = " + std::to_string(rest[0].device));
        out.call("program.machine.lanes.push_back", {CppArgument(fields)});
      }
    }
    rest = rest.drop_front(count);
  }
}

void lwcc::emitMachine(ProgramNames &names, NumberTables &tables,
                       CppWriter &out) {
  emitDevices(names, tables, out);
  emitLanes(names, out);
}
