//===- PlanMemory.cpp - Memory of an exec program -------------------------===//
//
// An arena holds the persistent buffers first, one after the other, and behind
// them one region that the sequences use in turn: runs follow each other, so
// that the activations of @train_step and of @evaluate share it without being
// compared. What may share bytes inside a sequence is MemoryProblem's decision;
// this file only tells it the lifetimes.
//
//===----------------------------------------------------------------------===//

#include "passes/memory/PlanMemory.h"
#include "passes/Passes.h"
#include "passes/memory/MemoryProblem.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace lwcc;
using namespace lwcc::exec;

namespace lwcc {
#define GEN_PASS_DEF_PLANMEMORY
#include "passes/Passes.h.inc"
} // namespace lwcc

namespace {

/// One device's share of a sequence.
struct Share {
  memory::MemoryProblem problem;
  llvm::SmallVector<BufferOp> buffers; ///< as in the problem
};

/// Symbols of a program by number, and the lifetimes in its sequences.
class Lifetimes {
public:
  explicit Lifetimes(ProgramOp program) : program(program), symbols(program) {
    Block &body = program.getBody().front();
    for (Operation &op : body) {
      if (auto device = dyn_cast<DeviceOp>(op))
        devices.insert({device.getSymNameAttr(), device});
      else if (auto lane = dyn_cast<LaneOp>(op))
        lanes.try_emplace(lane.getSymNameAttr(), lanes.size());
      else if (auto event = dyn_cast<EventOp>(op))
        events.try_emplace(event.getSymNameAttr(), events.size());
      else if (auto sequence = dyn_cast<SequenceOp>(op))
        sequences.push_back(sequence);
    }
  }

  /// The transient buffers that a sequence uses, per device.
  std::vector<Share> shares(SequenceOp sequence);
  int deviceOf(BufferOp buffer) const {
    return devices.find(buffer.getDeviceAttr().getAttr()) - devices.begin();
  }

  ProgramOp program;
  SymbolTable symbols;
  llvm::MapVector<StringAttr, DeviceOp> devices;
  llvm::SmallVector<SequenceOp> sequences;

private:
  llvm::DenseMap<StringAttr, int> lanes, events;
};

} // namespace

std::vector<Share> Lifetimes::shares(SequenceOp sequence) {
  std::vector<Share> shares(devices.size());
  for (Share &share : shares)
    share.problem.alignment = arenaAlignment;
  llvm::DenseMap<Operation *, int> indexOf;
  HappensBefore order(lanes.size(), events.size());
  int position = 0;

  for (Operation &op : sequence.getBody().front()) {
    if (auto record = dyn_cast<RecordOp>(op))
      order.record(events.lookup(record.getEventAttr().getAttr()),
                   lanes.lookup(record.getLaneAttr().getAttr()));
    else if (auto wait = dyn_cast<WaitOp>(op))
      order.wait(events.lookup(wait.getEventAttr().getAttr()),
                 lanes.lookup(wait.getLaneAttr().getAttr()));
    auto call = dyn_cast<CallOp>(op);
    if (!call)
      continue;
    int lane = lanes.lookup(call.getLaneAttr().getAttr());
    Clock before = order.clock(lane);
    Stamp work = order.append(lane);
    for (ArrayAttr list : {call.getIns(), call.getOuts()})
      for (Attribute a : list) {
        auto name = dyn_cast<FlatSymbolRefAttr>(a);
        if (!name)
          continue;
        BufferOp root =
            rootOf(symbols.lookup<BufferOp>(name.getAttr()), symbols).first;
        if (root.isPersistent())
          continue;
        Share &share = shares[deviceOf(root)];
        auto [index, isNew] = indexOf.try_emplace(root, share.buffers.size());
        if (isNew) {
          share.buffers.push_back(root);
          share.problem.buffers.push_back(
              {root.getSymName().str(), root.getBytes(), {}});
        }
        share.problem.buffers[index->second].lifetime.add(work, before,
                                                          position);
      }
    ++position;
  }
  return shares;
}

LogicalResult lwcc::planMemory(ProgramOp program) {
  Lifetimes lifetimes(program);
  // What outlives a run, and what nobody uses.
  std::vector<int64_t> end(lifetimes.devices.size(), 0);
  auto append = [&](BufferOp buffer) {
    int64_t &at = end[lifetimes.deviceOf(buffer)];
    buffer.setOffset(at);
    at += llvm::alignTo(buffer.getBytes(), arenaAlignment);
  };
  llvm::SmallPtrSet<Operation *, 32> planned;
  std::vector<std::vector<Share>> perSequence;
  for (SequenceOp sequence : lifetimes.sequences) {
    perSequence.push_back(lifetimes.shares(sequence));
    for (Share &share : perSequence.back())
      for (BufferOp buffer : share.buffers)
        if (!planned.insert(buffer).second)
          return buffer.emitOpError("is used by two sequences, but keeps no "
                                    "value between runs");
  }
  for (auto buffer : program.getBody().getOps<BufferOp>())
    if (!buffer.getViewOf() && !planned.contains(buffer))
      append(buffer);

  std::vector<int64_t> arena = end;
  for (std::vector<Share> &shares : perSequence)
    for (auto [device, share] : llvm::enumerate(shares)) {
      memory::MemorySolution solution = memory::solve(share.problem);
      for (auto [buffer, offset] :
           llvm::zip_equal(share.buffers, solution.offsets))
        buffer.setOffset(end[device] + offset);
      arena[device] = std::max(arena[device], end[device] + solution.arena);
    }
  for (auto [device, bytes] : llvm::zip_equal(lifetimes.devices, arena))
    device.second.setArena(bytes);
  return success();
}

MemoryReport lwcc::reportMemory(ProgramOp program) {
  Lifetimes lifetimes(program);
  MemoryReport report;
  for (auto &[name, device] : lifetimes.devices) {
    report.devices.push_back({});
    report.devices.back().name = name.str();
    report.devices.back().arena = device.getArena();
  }
  for (auto buffer : program.getBody().getOps<BufferOp>())
    if (!buffer.getViewOf() && buffer.isPersistent())
      report.devices[lifetimes.deviceOf(buffer)].persistent +=
          llvm::alignTo(buffer.getBytes(), arenaAlignment);
  for (MemoryReport::Device &device : report.devices)
    device.maxLive = device.persistent;

  for (SequenceOp sequence : lifetimes.sequences) {
    llvm::SmallVector<CallOp> calls(sequence.getBody().getOps<CallOp>());
    for (auto [device, share] :
         llvm::zip_equal(report.devices, lifetimes.shares(sequence))) {
      memory::Peak peak = memory::maxLive(share.problem);
      if (device.persistent + peak.bytes <= device.maxLive)
        continue;
      device.maxLive = device.persistent + peak.bytes;
      CallOp call = calls[peak.position];
      device.sequence = sequence.getSymName();
      device.callee = call.getCallee();
      device.layer = call.getLayer();
      device.phase = call.getPhase();
      device.alive.clear();
      for (int b : peak.buffers)
        device.alive.push_back(
            {share.problem.buffers[b].name, share.problem.cost(b)});
      llvm::stable_sort(device.alive, [](const auto &a, const auto &b) {
        return a.bytes > b.bytes;
      });
    }
  }
  return report;
}

namespace {
struct PlanMemory : lwcc::impl::PlanMemoryBase<PlanMemory> {
  void runOnOperation() override {
    for (auto program : getOperation().getOps<ProgramOp>())
      if (failed(planMemory(program)))
        signalPassFailure();
  }
};
} // namespace
