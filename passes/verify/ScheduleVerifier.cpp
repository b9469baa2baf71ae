//===- ScheduleVerifier.cpp - Proof before run ----------------------------===//
//
// Layout comes first: bytes inside arenas, persistent bytes in one buffer only.
// Then each sequence is walked in the order of appending against a shadow of
// every arena (shadow memory, as in dynamic race detectors such as FastTrack,
// Flanagan and Freund 2009). The shadow is an interval map: for each byte the
// root buffer it belongs to, the last write, and the last read on every lane
// since.
//
// An access is compared with these alone, and that suffices. Happens-before is
// transitive: if the access is ordered behind the last write, and that write
// behind all accesses before it, the access is ordered behind all. If an
// earlier link is missing, it was reported there. The cost is linear in the
// accesses times the intervals that each touches.
//
//===----------------------------------------------------------------------===//

#include "passes/verify/ScheduleVerifier.h"
#include "ir/Size.h"
#include "ir/exec/HappensBefore.h"
#include "ir/train/Interfaces.h"
#include "passes/Passes.h"
#include "passes/verify/Copies.h"
#include "passes/verify/Meaning.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLExtras.h"

#include <map>

using namespace mlir;
using namespace lwcc;
using namespace lwcc::exec;

namespace lwcc {
#define GEN_PASS_DEF_VERIFYSCHEDULE
#include "passes/Passes.h.inc"
} // namespace lwcc

namespace {

/// The bytes of a buffer, views resolved.
struct Extent {
  mutable BufferOp buffer; ///< mutable: MLIR's accessors are not const
  BufferOp root;
  int device = 0;
  int64_t begin = 0; ///< in the device's arena
  int64_t end = 0;
};

/// A past access, in the shadow. (The op of the dialect is EventOp.)
struct Event {
  Stamp stamp; ///< index 0: the value at the start of the run
  CallOp call; ///< null at the start of the run
};

/// What the shadow knows about an interval of an arena. (meaning::Piece, in
/// Meaning.h, is an interval of a value.)
struct Piece {
  int64_t end = 0;
  BufferOp owner; ///< root buffer of the last write
  Event write;
  llvm::SmallVector<Event, 2> reads; ///< the last per lane since that write
};

/// The intervals of an arena that hold something, by first byte.
class Shadow {
public:
  using Map = std::map<int64_t, Piece>;

  /// Splits the interval that contains `at`, so that one begins there.
  void splitAt(int64_t at) {
    auto after = pieces.upper_bound(at);
    if (after == pieces.begin())
      return;
    auto piece = std::prev(after);
    if (piece->first == at || piece->second.end <= at)
      return;
    Piece tail = piece->second;
    piece->second.end = at;
    pieces.emplace_hint(after, at, std::move(tail));
  }

  /// The intervals inside [begin, end); those at its ends are split first.
  llvm::iterator_range<Map::iterator> inside(int64_t begin, int64_t end) {
    splitAt(begin);
    splitAt(end);
    return {pieces.lower_bound(begin), pieces.lower_bound(end)};
  }

  /// The first byte of [begin, end) that holds nothing, or `end`.
  int64_t firstHole(int64_t begin, int64_t end) {
    int64_t at = begin;
    for (auto &[start, piece] : inside(begin, end)) {
      if (start > at)
        break;
      at = piece.end;
    }
    return at;
  }

  void write(const Extent &to, const Event &event) {
    auto range = inside(to.begin, to.end);
    pieces.erase(range.begin(), range.end());
    if (to.begin < to.end)
      pieces[to.begin] = {to.end, to.root, event, {}};
  }

private:
  Map pieces;
};

class Verifier {
public:
  explicit Verifier(ProgramOp program) : program(program), symbols(program) {}

  LogicalResult run() {
    number();
    checkLayout();
    ok &= succeeded(verifyParts(program));
    if (ok)
      for (auto sequence : program.getBody().getOps<SequenceOp>())
        checkSequence(sequence);
    return success(ok);
  }

private:
  void number();
  void checkLayout();
  void checkSequence(SequenceOp sequence);
  void checkCall(CallOp call, HappensBefore &order, std::vector<Shadow> &now);
  void checkSharing(CallOp call);
  void checkRead(CallOp call, const Extent &from, int lane,
                 const HappensBefore &order, Shadow &shadow);
  void checkWrite(CallOp call, const Extent &to, int lane,
                  const HappensBefore &order, Shadow &shadow);

  InFlightDiagnostic error(Operation *op) {
    ok = false;
    return op->emitOpError();
  }
  /// The tensors of a list that are not absent.
  llvm::SmallVector<const Extent *> present(ArrayAttr tensors) {
    llvm::SmallVector<const Extent *> result;
    for (Attribute a : tensors)
      if (auto name = dyn_cast<FlatSymbolRefAttr>(a))
        result.push_back(&extents.find(name.getAttr())->second);
    return result;
  }
  const Extent *at(ArrayAttr tensors, size_t index) {
    auto name = dyn_cast<FlatSymbolRefAttr>(tensors[index]);
    return name ? &extents.find(name.getAttr())->second : nullptr;
  }

  ProgramOp program;
  SymbolTable symbols;
  bool ok = true;
  llvm::DenseMap<StringAttr, int> devices, lanes, events;
  llvm::SmallVector<DeviceOp> deviceOps;
  llvm::DenseMap<StringAttr, Extent> extents;
};

} // namespace

void Verifier::number() {
  for (Operation &op : program.getBody().front()) {
    if (auto device = dyn_cast<DeviceOp>(op)) {
      devices[device.getSymNameAttr()] = deviceOps.size();
      deviceOps.push_back(device);
    } else if (auto lane = dyn_cast<LaneOp>(op)) {
      lanes.try_emplace(lane.getSymNameAttr(), lanes.size());
    } else if (auto event = dyn_cast<EventOp>(op)) {
      events.try_emplace(event.getSymNameAttr(), events.size());
    }
  }
}

//===----------------------------------------------------------------------===//
// Layout
//===----------------------------------------------------------------------===//

void Verifier::checkLayout() {
  // The verifiers of the exec dialect bound the sizes of buffers, and this the
  // arenas: no sum below overflows.
  for (DeviceOp device : deviceOps)
    if (static_cast<int64_t>(device.getArena()) < 0 ||
        static_cast<int64_t>(device.getArena()) > maxBytes)
      error(device) << "has an arena of "
                    << static_cast<int64_t>(device.getArena())
                    << " bytes; expected 0 to " << maxBytes;
  std::vector<llvm::SmallVector<Extent>> roots(deviceOps.size());
  for (auto buffer : program.getBody().getOps<BufferOp>()) {
    auto [root, distance] = rootOf(buffer, symbols);
    int device = devices.lookup(buffer.getDeviceAttr().getAttr());
    int64_t begin = static_cast<int64_t>(root.getOffset()) + distance;
    int64_t span = spanOf(buffer, symbols);
    Extent extent{buffer, root, device, begin, begin + span};
    extents[buffer.getSymNameAttr()] = extent;

    if (begin % arenaAlignment && !buffer.getWindow())
      error(buffer) << "starts at byte " << begin
                    << ", which is not a multiple of " << arenaAlignment;
    if (buffer != root) {
      if (distance < 0 || distance + span > root.getBytes())
        error(buffer) << "takes bytes " << distance << " to " << distance + span
                      << " of @" << root.getSymName() << ", which has "
                      << root.getBytes();
      continue;
    }
    int64_t arena = deviceOps[device].getArena();
    if (static_cast<int64_t>(buffer.getOffset()) < 0)
      error(buffer) << "has no place in memory yet";
    else if (extent.end > arena)
      error(buffer) << "ends at byte " << extent.end << " of @"
                    << deviceOps[device].getSymName() << ", whose arena has "
                    << arena;
    roots[device].push_back(extent);
  }

  // E4: persistent bytes belong to one buffer, since the next run reads them.
  for (auto &list : roots) {
    llvm::stable_sort(list, [](const Extent &a, const Extent &b) {
      return a.begin < b.begin;
    });
    const Extent *all = nullptr, *persistent = nullptr; // reaching furthest
    for (const Extent &next : list) {
      if (next.begin == next.end)
        continue;
      const Extent *other = next.buffer.isPersistent() ? all : persistent;
      if (other && other->end > next.begin)
        error(next.buffer)
                .append("shares bytes with @", other->buffer.getSymName(),
                        ", and one of them keeps its value between runs")
                .attachNote(other->buffer->getLoc())
            << "the other buffer";
      if (!all || next.end > all->end)
        all = &next;
      if (next.buffer.isPersistent() &&
          (!persistent || next.end > persistent->end))
        persistent = &next;
    }
  }
}

//===----------------------------------------------------------------------===//
// Sequences
//===----------------------------------------------------------------------===//

void Verifier::checkSequence(SequenceOp sequence) {
  HappensBefore order(lanes.size(), events.size());
  std::vector<Shadow> now(deviceOps.size());
  for (auto buffer : program.getBody().getOps<BufferOp>())
    if (!buffer.getViewOf() && buffer.isPersistent()) {
      const Extent &extent = extents[buffer.getSymNameAttr()];
      now[extent.device].write(extent, {});
    }

  llvm::DenseMap<int, RecordOp> records;
  for (auto record : sequence.getBody().getOps<RecordOp>()) {
    auto [first, isNew] = records.try_emplace(
        events.lookup(record.getEventAttr().getAttr()), record);
    if (!isNew)
      error(record)
              .append("records an event for the second time in a sequence")
              .attachNote(first->second.getLoc())
          << "first recorded here";
  }

  for (Operation &op : sequence.getBody().front()) {
    if (auto record = dyn_cast<RecordOp>(op)) {
      order.record(events.lookup(record.getEventAttr().getAttr()),
                   lanes.lookup(record.getLaneAttr().getAttr()));
    } else if (auto wait = dyn_cast<WaitOp>(op)) {
      int event = events.lookup(wait.getEventAttr().getAttr());
      if (order.wait(event, lanes.lookup(wait.getLaneAttr().getAttr())))
        continue;
      InFlightDiagnostic diagnostic = error(wait);
      if (auto record = records.lookup(event))
        diagnostic.append("waits for an event that is recorded later")
                .attachNote(record.getLoc())
            << "recorded here";
      else
        diagnostic << "waits for an event that the sequence never records";
    } else if (auto call = dyn_cast<CallOp>(op)) {
      checkCall(call, order, now);
    }
  }

  SmallVector<WrittenBytes> written;
  for (auto buffer : program.getBody().getOps<BufferOp>())
    if (!buffer.getViewOf() && buffer.isPersistent()) {
      const Extent &extent = extents[buffer.getSymNameAttr()];
      written.push_back({buffer});
      for (auto &[start, piece] :
           now[extent.device].inside(extent.begin, extent.end))
        if (piece.write.call)
          written.back().bytes += piece.end - start;
    }
  ok &= succeeded(verifyCopies(sequence, written));
  ok &= succeeded(verifyMeaning(sequence));
}

void Verifier::checkCall(CallOp call, HappensBefore &order,
                         std::vector<Shadow> &now) {
  checkSharing(call);
  int lane = lanes.lookup(call.getLaneAttr().getAttr());
  Event event{order.append(lane), call};
  for (const Extent *from : present(call.getIns())) {
    Shadow &shadow = now[from->device];
    checkRead(call, *from, lane, order, shadow);
    for (auto &[start, piece] : shadow.inside(from->begin, from->end)) {
      llvm::erase_if(piece.reads,
                     [&](const Event &e) { return e.stamp.lane == lane; });
      piece.reads.push_back(event);
    }
  }
  for (const Extent *to : present(call.getOuts())) {
    Shadow &shadow = now[to->device];
    checkWrite(call, *to, lane, order, shadow);
    shadow.write(*to, event);
  }
}

/// E8: results overlap each other nowhere, and an operand only where the
/// kernel's `sharing` allows it.
void Verifier::checkSharing(CallOp call) {
  auto overlap = [](const Extent &a, const Extent &b) {
    return a.device == b.device && a.begin < b.end && b.begin < a.end;
  };
  const train::Kernel *kernel =
      train::findKernel(call.getContext(), call.getCallee());
  for (size_t r = 0; r < call.getOuts().size(); ++r) {
    const Extent *out = at(call.getOuts(), r);
    if (!out)
      continue;
    for (size_t o = 0; o < r; ++o)
      if (const Extent *other = at(call.getOuts(), o))
        if (overlap(*out, *other))
          error(call) << "writes two results, @" << other->buffer.getSymName()
                      << " and @" << out->buffer.getSymName()
                      << ", to the same bytes";
    for (size_t i = 0; i < call.getIns().size(); ++i) {
      const Extent *in = at(call.getIns(), i);
      if (!in)
        continue;
      bool same = out->device == in->device && out->begin == in->begin &&
                  out->buffer.getType() == in->buffer.getType();
      train::Sharing rule = kernel->sharing(r, i);
      if (rule == train::Sharing::required
              ? same
              : !overlap(*out, *in) ||
                    (same && rule == train::Sharing::allowed))
        continue;
      error(call) << "writes result @" << out->buffer.getSymName()
                  << (rule == train::Sharing::required
                          ? " elsewhere than its operand "
                          : " over its operand ")
                  << "@" << in->buffer.getSymName() << ", which '"
                  << call.getCallee() << "' does not allow";
    }
  }
}

/// E7 and half of E6: the bytes hold a value of the same root buffer, and its
/// write happens before the read.
void Verifier::checkRead(CallOp call, const Extent &from, int lane,
                         const HappensBefore &order, Shadow &shadow) {
  StringRef name = from.buffer.getSymName();
  int64_t hole = shadow.firstHole(from.begin, from.end);
  if (hole < from.end) {
    error(call) << "reads @" << name << " before it is written (byte "
                << hole - from.begin << ")";
    return;
  }
  for (auto &[start, piece] : shadow.inside(from.begin, from.end)) {
    if (piece.owner != from.root) {
      InFlightDiagnostic diagnostic = error(call);
      diagnostic << "reads @" << name << ", but its byte " << start - from.begin
                 << " holds a value of @" << piece.owner.getSymName();
      if (piece.write.call)
        diagnostic.attachNote(piece.write.call.getLoc()) << "written here";
      return;
    }
    if (!order.finished(piece.write.stamp, lane)) {
      error(call)
              .append("reads @", name, " on @", call.getLane(),
                      " while it may still be written")
              .attachNote(piece.write.call.getLoc())
          << "written here on @" << piece.write.call.getLane();
      return;
    }
  }
}

/// The other half of E6: every earlier access to the bytes happens before the
/// write.
void Verifier::checkWrite(CallOp call, const Extent &to, int lane,
                          const HappensBefore &order, Shadow &shadow) {
  StringRef name = to.buffer.getSymName();
  for (auto &[start, piece] : shadow.inside(to.begin, to.end)) {
    if (!order.finished(piece.write.stamp, lane)) {
      error(call)
              .append("writes @", name, " on @", call.getLane(), " while @",
                      piece.owner.getSymName(),
                      " may still be written in the same bytes")
              .attachNote(piece.write.call.getLoc())
          << "written here on @" << piece.write.call.getLane();
      return;
    }
    for (Event &read : piece.reads)
      if (!order.finished(read.stamp, lane)) {
        error(call)
                .append("writes @", name, " on @", call.getLane(), " while @",
                        piece.owner.getSymName(),
                        " may still be read from the same bytes")
                .attachNote(read.call.getLoc())
            << "read here on @" << read.call.getLane();
        return;
      }
  }
}

LogicalResult lwcc::verifySchedule(ProgramOp program) {
  return Verifier(program).run();
}

namespace {
struct VerifySchedule : lwcc::impl::VerifyScheduleBase<VerifySchedule> {
  void runOnOperation() override {
    for (auto program : getOperation().getOps<ProgramOp>())
      if (failed(verifySchedule(program)))
        signalPassFailure();
  }
};
} // namespace
