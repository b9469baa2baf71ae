//===- Report.cpp - What lwcc tells about an exec program -----------------===//

#include "passes/memory/PlanMemory.h"
#include "tools/driver/Driver.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace lwcc;

std::string lwcc::grouped(int64_t number) {
  std::string digits = std::to_string(number);
  for (int at = static_cast<int>(digits.size()) - 3; at > 0; at -= 3)
    digits.insert(at, ",");
  return digits;
}

std::string lwcc::mebibytes(int64_t bytes) {
  return llvm::formatv("{0:f1} MiB", static_cast<double>(bytes) / (1 << 20));
}

void lwcc::printTransfers(exec::ProgramOp program, llvm::raw_ostream &out) {
  struct Traffic {
    int64_t received = 0, sent = 0;
  };
  llvm::MapVector<StringRef, Traffic> devices;
  for (auto device : program.getBody().getOps<exec::DeviceOp>())
    devices[device.getSymName()];
  if (devices.size() < 2)
    return;
  mlir::SymbolTable symbols(program);
  auto buffer = [&](ArrayAttr list) {
    return symbols.lookup<exec::BufferOp>(
        cast<FlatSymbolRefAttr>(list[0]).getValue());
  };
  auto step = symbols.lookup<exec::SequenceOp>("train_step");
  for (auto call : step.getBody().getOps<exec::CallOp>())
    if (call.getCallee() == "transfer") {
      exec::BufferOp from = buffer(call.getIns()), to = buffer(call.getOuts());
      devices[from.getDevice()].sent += from.getBytes();
      devices[to.getDevice()].received += to.getBytes();
    }
  for (auto &[name, traffic] : devices)
    out << llvm::formatv("{0}: sends {1} a step, receives {2}\n", name,
                         mebibytes(traffic.sent), mebibytes(traffic.received));
}

void lwcc::printMemory(exec::ProgramOp program, llvm::raw_ostream &out) {
  constexpr size_t shown = 8; // what is smaller is not worth a line
  for (const MemoryReport::Device &device : reportMemory(program).devices) {
    out << llvm::formatv(
        "{0}: max-live {1}, arena {2}, ratio {3:f4} (persistent {4})\n",
        device.name, mebibytes(device.maxLive), mebibytes(device.arena),
        device.ratio(), mebibytes(device.persistent));
    out << llvm::formatv("  peak at {0} of {1} ({2}), {3}:\n", device.callee,
                         device.layer, device.phase, device.sequence);
    for (const MemoryReport::Alive &alive :
         llvm::ArrayRef(device.alive).take_front(shown))
      out << llvm::formatv("  {0,12}  {1}\n", mebibytes(alive.bytes),
                           alive.buffer);
    if (device.alive.size() > shown)
      out << llvm::formatv("  and {0} smaller ones\n",
                           device.alive.size() - shown);
  }
}

void lwcc::printLayers(exec::ProgramOp program, llvm::raw_ostream &out) {
  struct Layer {
    llvm::MapVector<StringRef, unsigned> calls;
    llvm::SetVector<StringRef> lanes;
    int64_t parameters = 0, activations = 0;
  };
  llvm::MapVector<StringRef, Layer> layers;
  mlir::SymbolTable symbols(program);
  auto sequence = symbols.lookup<exec::SequenceOp>("train_step");
  for (auto call : sequence.getBody().getOps<exec::CallOp>()) {
    Layer &layer = layers[call.getLayer()];
    layer.lanes.insert(call.getLane());
    ++layer.calls[call.getCallee()];
    auto sizes = [&](ArrayAttr list, auto f) {
      for (Attribute a : list)
        if (auto name = dyn_cast<FlatSymbolRefAttr>(a))
          f(symbols.lookup<exec::BufferOp>(name.getValue()));
    };
    if (call.getPhase() != "forward")
      continue;
    sizes(call.getIns(), [&](exec::BufferOp b) {
      if (b.getRole() == exec::Role::Parameter)
        layer.parameters += b.getBytes();
    });
    sizes(call.getOuts(), [&](exec::BufferOp b) {
      if (b.getRole() == exec::Role::Activation)
        layer.activations += b.getBytes();
    });
  }
  out << llvm::formatv("{0,-36} {1,12} {2,12}  {3}\n", "layer", "parameters",
                       "activations", "calls of a step, lanes");
  for (auto &[name, layer] : layers) {
    std::string calls;
    // Over several devices all lanes are listed but those of transfers.
    std::string lanes;
    for (StringRef lane : layer.lanes)
      if (layer.lanes.size() == 1 || !lane.ends_with(".transfer"))
        lanes += (lanes.empty() ? "" : ",") + lane.str();
    for (auto &[callee, count] : layer.calls)
      calls += (calls.empty() ? "" : " ") + callee.str() +
               (count > 1 ? "*" + std::to_string(count) : "");
    out << llvm::formatv("{0,-36} {1,12} {2,12}  {3} on {4}\n", name,
                         mebibytes(layer.parameters),
                         mebibytes(layer.activations), calls, lanes);
  }
}
