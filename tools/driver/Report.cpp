//===- Report.cpp - What lwcc tells about an exec program -----------------===//

#include "passes/memory/PlanMemory.h"
#include "passes/plan/model/LayerGraph.h"
#include "tools/driver/Driver.h"
#include "tools/driver/StepBytes.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace lwcc;

std::string lwcc::grouped(int64_t number) {
  std::string digits = std::to_string(number);
  for (int at = static_cast<int>(digits.size()) - 3; at > 0; at -= 3)
    digits.insert(at, 1, ',');
  return digits;
}

std::string lwcc::mebibytes(int64_t bytes) {
  return llvm::formatv("{0:f1} MiB", static_cast<double>(bytes) / (1 << 20));
}

void lwcc::printLayers(exec::ProgramOp program, const plan::Plan &plan,
                       llvm::raw_ostream &out) {
  llvm::StringMap<Tiling> tilings;
  for (const plan::LayerPlan &layer : plan.layers)
    tilings[layer.layer] = layer.tiling;

  StepBytes step(program);
  constexpr auto row = "{0,-32} {1,-14} {2,-8} {3,10} {4,11} {5,9} {6,9} "
                       "{7,9}  {8}\n";
  auto bytes = [](int64_t count) {
    return count ? mebibytes(count) : std::string("-");
  };
  out << llvm::formatv(row, "layer", "tiling", "devices", "parameters",
                       "activations", "forward", "backward", "update",
                       "calls of a step");
  MovedBytes all;
  for (auto &[name, layer] : step.layers) {
    std::string calls;
    for (auto &[callee, count] : layer.calls)
      calls += (calls.empty() ? "" : " ") + callee.str() +
               (count > 1 ? "*" + std::to_string(count) : "");
    const Tiling &tiling = tilings[name];
    out << llvm::formatv(row, name, tiling.cutsText(), tiling.placesText(),
                         bytes(layer.parameters), bytes(layer.activations),
                         bytes(layer.moved.forward),
                         bytes(layer.moved.backward), bytes(layer.moved.update),
                         calls);
    all.forward += layer.moved.forward;
    all.backward += layer.moved.backward;
    all.update += layer.moved.update;
  }
  out << llvm::formatv("moved between devices in a step: {0} bytes forward, "
                       "{1} backward, {2} for updates\n",
                       grouped(all.forward), grouped(all.backward),
                       grouped(all.update));
  for (auto &[pair, count] : step.pairs)
    out << llvm::formatv("  from {0} to {1}: {2} bytes\n", pair.first,
                         pair.second, grouped(count));
  for (const MemoryReport::Device &device : reportMemory(program).devices)
    out << llvm::formatv("memory of {0}: {1}, of it {2} parameters, optimizer "
                         "state and inputs\n",
                         device.name, mebibytes(device.arena),
                         mebibytes(device.persistent));
}

void lwcc::printTransfers(exec::ProgramOp program, llvm::raw_ostream &out) {
  llvm::MapVector<StringRef, std::pair<int64_t, int64_t>> devices;
  for (auto &[pair, bytes] : StepBytes(program).pairs) {
    devices[pair.first].first += bytes;
    devices[pair.second].second += bytes;
  }
  for (auto &[name, traffic] : devices)
    out << llvm::formatv("{0}: sends {1} a step, receives {2}\n", name,
                         mebibytes(traffic.first), mebibytes(traffic.second));
}

void lwcc::printMemory(exec::ProgramOp program, llvm::raw_ostream &out,
                       StringRef only) {
  constexpr size_t shown = 8; // what is smaller is not worth a line
  for (const MemoryReport::Device &device : reportMemory(program).devices) {
    if (!only.empty() && only != device.name)
      continue;
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

void lwcc::printPrediction(exec::ProgramOp program,
                           const plan::ProgramTime &time,
                           llvm::raw_ostream &out) {
  auto batch = program->getAttrOfType<IntegerAttr>("exec.batch");
  auto share = [&](double seconds) {
    return time.all > 0 ? seconds / time.all * 100 : 0;
  };
  out << llvm::formatv(
      "predicted step of this program: {0:f3} ms, {1:f0} images/s; of its "
      "calls' time {2:f0} % measured, {3:f0} % interpolated, {4:f0} % from a "
      "roofline\n",
      time.step * 1e3,
      batch && time.step > 0 ? static_cast<double>(batch.getInt()) / time.step
                             : 0,
      share(time.measured), share(time.interpolated),
      share(time.all - time.measured - time.interpolated));
}
