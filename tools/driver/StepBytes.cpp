//===- StepBytes.cpp - The bytes of a training step -----------------------===//

#include "tools/driver/StepBytes.h"

#include "mlir/IR/SymbolTable.h"

using namespace mlir;
using namespace lwcc;

void MovedBytes::add(Phase phase, int64_t bytes) {
  (phase == Phase::forward  ? forward
   : phase == Phase::update ? update
                            : backward) += bytes;
}

StepBytes::StepBytes(exec::ProgramOp program) {
  SymbolTable symbols(program);
  auto buffers = [&](ArrayAttr list) {
    SmallVector<exec::BufferOp> found;
    for (Attribute a : list)
      if (auto name = dyn_cast<FlatSymbolRefAttr>(a))
        found.push_back(symbols.lookup<exec::BufferOp>(name.getValue()));
    return found;
  };
  auto sequence = symbols.lookup<exec::SequenceOp>("train_step");
  for (auto call : sequence.getBody().getOps<exec::CallOp>()) {
    Layer &layer = layers[call.getLayer()];
    ++layer.calls[call.getCallee()];
    auto ins = buffers(call.getIns()), outs = buffers(call.getOuts());
    StringRef here = symbols.lookup<exec::LaneOp>(call.getLane()).getDevice();
    for (exec::BufferOp b : ins)
      if (b.getDevice() != here) {
        layer.moved.add(call.getPhase(), b.getBytes());
        pairs[{b.getDevice(), here}] += b.getBytes();
      }
    if (call.getPhase() != Phase::forward)
      continue;
    for (exec::BufferOp b : ins)
      if (isWeight(b.getRole()))
        layer.parameters += b.getBytes();
    for (exec::BufferOp b : outs)
      if (b.getRole() == Role::activation)
        layer.activations += b.getBytes();
  }
}
