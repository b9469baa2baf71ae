//===- PlanMemory.cpp - Memory of an exec program -------------------------===//
//
// An arena holds the persistent buffers first, one after the other. Behind them
// is one region for everything else. @train_step and @evaluate both use it, as
// their runs never overlap. MemoryProblem decides which buffers of a sequence
// share bytes; this file computes the lifetimes for it.
//
//===----------------------------------------------------------------------===//

#include "passes/memory/PlanMemory.h"
#include "ir/Parallel.h"
#include "ir/Size.h"
#include "ir/exec/Counterparts.h"
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

/// The transient buffers of one device in one sequence, as a problem.
struct Share {
  memory::MemoryProblem problem;
  llvm::SmallVector<BufferOp> buffers; ///< in the problem's order
};

/// Computes the lifetimes of buffers by a walk over a sequence, with vector
/// clocks.
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
    const Clock &before = order.clock(lane);
    const Stamp work = {lane, before[lane] + 1};
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
    order.append(lane);
    ++position;
  }
  return shares;
}

/// Places the persistent buffers of every device one after the other; returns
/// the first byte behind them, per device.
///
/// Counterparts (ir/exec/Counterparts.h) get the same offset on every device,
/// so that devices can share one function in the emitted text. A device for
/// which that costs more than a thousandth of these bytes is placed by itself.
static std::vector<int64_t>
placePersistent(llvm::ArrayRef<llvm::SmallVector<BufferOp>> devices,
                const Counterparts &counterparts) {
  auto costOf = [](BufferOp buffer) {
    return static_cast<int64_t>(
        llvm::alignTo(buffer.getBytes(), arenaAlignment));
  };
  llvm::MapVector<llvm::StringRef, int64_t> common; // largest cost by name
  for (const auto &buffers : devices)
    for (BufferOp buffer : buffers) {
      int64_t &bytes = common[counterparts.nameOf(buffer)];
      bytes = std::max(bytes, costOf(buffer));
    }
  llvm::StringMap<int64_t> offsets;
  int64_t commonEnd = 0;
  for (auto [name, bytes] : common) {
    offsets[name] = commonEnd;
    commonEnd += bytes;
  }
  std::vector<int64_t> ends;
  for (const auto &buffers : devices) {
    int64_t end = 0;
    for (BufferOp buffer : buffers) {
      buffer.setOffset(end);
      end += costOf(buffer);
    }
    if (commonEnd - end <= end / 1000) {
      for (BufferOp buffer : buffers)
        buffer.setOffset(offsets.lookup(counterparts.nameOf(buffer)));
      end = commonEnd;
    }
    ends.push_back(end);
  }
  return ends;
}

/// Rejects a program whose buffers exceed 2^63 bytes even in sum, so that the
/// sums below do not overflow.
static LogicalResult checkSum(ProgramOp program) {
  int64_t sum = 0;
  for (auto buffer : program.getBody().getOps<BufferOp>())
    if (!buffer.getViewOf() &&
        llvm::AddOverflow(
            sum, int64_t(llvm::alignTo(buffer.getBytes(), arenaAlignment)),
            sum))
      return buffer.emitOpError("makes the program larger than 2^63 bytes");
  return success();
}

LogicalResult lwcc::planMemory(ProgramOp program) {
  if (failed(checkSum(program)))
    return failure();
  Lifetimes lifetimes(program);
  // One after the other this would take most of the pass.
  std::vector<std::vector<Share>> perSequence(lifetimes.sequences.size());
  std::optional<Counterparts> known;
  inParallel(perSequence.size() + 1, [&](size_t i) {
    if (i == perSequence.size())
      known.emplace(program);
    else
      perSequence[i] = lifetimes.shares(lifetimes.sequences[i]);
  });
  const Counterparts &counterparts = *known;
  llvm::SmallPtrSet<Operation *, 32> planned;
  for (std::vector<Share> &shares : perSequence)
    for (Share &share : shares)
      for (BufferOp buffer : share.buffers)
        if (!planned.insert(buffer).second)
          return buffer.emitOpError("is used by two sequences, but keeps no "
                                    "value between runs");
  // Persistent buffers, and those that no call uses.
  std::vector<llvm::SmallVector<BufferOp>> persistent(lifetimes.devices.size());
  for (auto buffer : program.getBody().getOps<BufferOp>())
    if (!buffer.getViewOf() && !planned.contains(buffer))
      persistent[lifetimes.deviceOf(buffer)].push_back(buffer);
  std::vector<int64_t> end = placePersistent(persistent, counterparts);

  // Transient buffers ask for the offsets of their counterparts on earlier
  // devices. What was not found for these within a long search is not looked
  // for again: about the same bytes above the bound are good enough. So is an
  // arena that is a little above its bound where the search gave another device
  // as many bytes, to one per cent: a program fits where its largest arena
  // does.
  std::vector<int64_t> arena = end;
  int64_t largest = 0;
  for (std::vector<Share> &shares : perSequence) {
    struct Placed {
      int64_t offset, slack;
    };
    llvm::StringMap<Placed> placed;
    for (auto [device, share] : llvm::enumerate(shares)) {
      std::vector<int64_t> wishes(share.buffers.size(), -1);
      int64_t slack = 0;
      for (auto [buffer, wish] : llvm::zip_equal(share.buffers, wishes))
        if (auto other = placed.find(counterparts.nameOf(buffer));
            other != placed.end()) {
          wish = other->second.offset;
          slack = std::max(slack, other->second.slack);
        }
      memory::MemorySolution solution = memory::solve(
          share.problem, wishes, slack, largest + largest / 100 - end[device]);
      // What a device takes for the sake of others is no reason for the next
      // one to take more.
      if (!solution.isWished) {
        slack = solution.arena - solution.bound;
        largest = std::max(largest, end[device] + solution.arena);
      }
      for (auto [buffer, offset] :
           llvm::zip_equal(share.buffers, solution.offsets)) {
        buffer.setOffset(end[device] + offset);
        placed.try_emplace(counterparts.nameOf(buffer), Placed{offset, slack});
      }
      arena[device] = std::max(arena[device], end[device] + solution.arena);
    }
  }
  for (auto [device, bytes] : llvm::zip_equal(lifetimes.devices, arena)) {
    if (bytes > maxBytes)
      return device.second.emitOpError("needs ")
             << bytes << " bytes; no device has more than " << (maxBytes >> 40)
             << " TiB";
    device.second.setArena(bytes);
  }
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
      device.phase = phaseName(call.getPhase());
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
