//===- PlanReport.cpp - From a compiled model to its page -----------------===//
//
// Collects what tools/report makes a page of: what was known when the program
// was planned, and what the program itself says of bytes and memory.
//
//===----------------------------------------------------------------------===//

#include "passes/memory/PlanMemory.h"
#include "tools/driver/Driver.h"
#include "tools/driver/StepBytes.h"
#include "tools/report/Page.h"

using namespace mlir;
using namespace lwcc;

std::string lwcc::reportPage(const CompiledModel &model,
                             const plan::ProgramTime &time) {
  const Planned &planned = *model.planned;
  exec::ProgramOp program = model.program;
  report::PlanReport page{planned.graph,      *model.plan,
                          planned.machine,    time,
                          planned.comparison, versionText().str()};
  const StepBytes step(program);
  for (const plan::LayerGraph::Layer &layer : planned.graph.layers) {
    const StepBytes::Layer bytes = step.layers.lookup(layer.name);
    page.layers.push_back({bytes.parameters, bytes.activations,
                           bytes.moved.forward, bytes.moved.backward,
                           bytes.moved.update});
  }
  llvm::StringMap<int64_t> numbers;
  for (auto device : program.getBody().getOps<exec::DeviceOp>())
    numbers[device.getSymName()] =
        planned.machine.deviceOf({static_cast<int64_t>(device.getNode()),
                                  static_cast<int64_t>(device.getGpu())});
  for (const MemoryReport::Device &device : reportMemory(program).devices)
    page.devices.push_back({device.name, numbers.lookup(device.name),
                            device.arena, device.persistent});
  for (auto &[pair, bytes] : step.pairs)
    page.flows.push_back({numbers.lookup(pair.first),
                          numbers.lookup(pair.second),
                          static_cast<double>(bytes)});
  return report::pageOf(page);
}
