//===- MergeTransfers.cpp - One call per gather ---------------------------===//
//
// One walk in the order of appending. The last transfer of each lane is open:
// the next call of the lane is merged with it if it is a transfer of the same
// layer and phase, into the same root buffer. Small ones, which cost nothing
// but latency, are merged into whatever buffers, unless they bring several
// tiles from one device: these are made one after the other. Merging delays the
// open transfer, so a call on another lane that conflicts with it closes it:
// one that reads or writes bytes that it writes, or writes bytes that it reads.
// Nor is what a device fetches from its maker merged with what another one has
// fetched before: others may wait for the former, and lanes would wait for each
// other all in a row.
//
//===----------------------------------------------------------------------===//

#include "passes/schedule/MergeTransfers.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallPtrSet.h"

using namespace mlir;
using namespace lwcc;
using namespace lwcc::exec;

namespace {

/// What a call touches of a root buffer: all bytes between the first and the
/// last one of a buffer in it.
struct Range {
  Operation *root = nullptr;
  int64_t begin = 0, end = 0;
  Attribute device, tile; ///< of the buffer

  bool overlaps(const Range &other) const {
    return root == other.root && begin < other.end && other.begin < end;
  }
};
using Ranges = llvm::SmallVector<Range, 2>;

bool anyOverlap(const Range &one, const Ranges &others) {
  return llvm::any_of(others,
                      [&](const Range &other) { return one.overlaps(other); });
}

/// The last transfer of a lane with all that was merged into it, and what it
/// touches.
struct Open {
  CallOp call; ///< null: the lane's last call is none
  llvm::SmallVector<Attribute> ins, outs;
  Ranges reads, writes;
  llvm::SmallDenseMap<Attribute, Attribute>
      tileOn;                      ///< what it reads, by device
  bool bringsOneTileOfEach = true; ///< no two tiles of one device
  int hop = 0;                     ///< as `hopOf` its transfers
};

class Merger {
public:
  explicit Merger(ProgramOp program) : symbols(program) {}
  void run(SequenceOp sequence);

private:
  const Range &rangeOf(FlatSymbolRefAttr buffer);
  Ranges rangesOf(ArrayAttr buffers);
  bool isSmall(FlatSymbolRefAttr lane);
  int hopOf(CallOp transfer) const;
  bool fits(const Open &open, CallOp call, const Ranges &reads,
            const Ranges &writes);
  void add(Open &open, CallOp call, const Ranges &reads, const Ranges &writes);
  void finish(Open &open);
  void finishConflicting(Attribute lane, const Range &range, bool write);

  SymbolTable symbols;
  llvm::DenseMap<Attribute, Range> ranges; ///< by the buffer's name
  llvm::DenseMap<Attribute, Open> lanes;   ///< by the lane's name
  llvm::DenseMap<Attribute, int> hops; ///< of what transfers made, by buffer
  /// The lanes whose open transfer touches a root buffer, or did so.
  llvm::DenseMap<Operation *, llvm::SmallPtrSet<const void *, 4>> touching;
};

} // namespace

const Range &Merger::rangeOf(FlatSymbolRefAttr name) {
  auto [known, isNew] = ranges.try_emplace(name);
  if (isNew) {
    auto buffer = symbols.lookup<BufferOp>(name.getAttr());
    auto [root, begin] = rootOf(buffer, symbols);
    // The rows of a window lie apart.
    if (buffer.getWindow())
      begin = 0;
    int64_t bytes = (buffer.getWindow() ? root : buffer).getBytes();
    known->second = Range{root, begin, begin + bytes, buffer.getDeviceAttr(),
                          buffer.getTileAttr()};
  }
  return known->second;
}

Ranges Merger::rangesOf(ArrayAttr buffers) {
  Ranges ranges;
  for (Attribute a : buffers)
    if (auto name = dyn_cast<FlatSymbolRefAttr>(a))
      ranges.push_back(rangeOf(name));
  return ranges;
}

bool Merger::isSmall(FlatSymbolRefAttr lane) {
  return symbols.lookup<LaneOp>(lane.getAttr()).getKind().getValue() ==
         LaneKind::small;
}

/// How many transfers have brought what a transfer brings, itself included.
int Merger::hopOf(CallOp transfer) const {
  int before = 0;
  for (Attribute source : transfer.getIns())
    before = std::max(before, hops.lookup(source));
  return before + 1;
}

/// Whether a transfer can be merged into the open one of its lane.
bool Merger::fits(const Open &open, CallOp call, const Ranges &reads,
                  const Ranges &writes) {
  CallOp first = open.call;
  if (!first || first.getLayer() != call.getLayer() ||
      first.getPhase() != call.getPhase() || open.hop != hopOf(call))
    return false;
  if (open.writes.front().root == writes.front().root)
    return true;
  return open.bringsOneTileOfEach && isSmall(call.getLaneAttr()) &&
         llvm::all_of(reads, [&](const Range &source) {
           auto known = open.tileOn.find(source.device);
           return known == open.tileOn.end() || known->second == source.tile;
         });
}

/// Merges a transfer into the open one, which may be empty. Its place is that
/// of the last.
void Merger::add(Open &open, CallOp call, const Ranges &reads,
                 const Ranges &writes) {
  if (open.call)
    open.call.erase();
  open.call = call;
  open.hop = hopOf(call);
  llvm::append_range(open.ins, call.getIns());
  llvm::append_range(open.outs, call.getOuts());
  llvm::append_range(open.reads, reads);
  llvm::append_range(open.writes, writes);
  for (const Range &source : reads)
    open.bringsOneTileOfEach &=
        open.tileOn.try_emplace(source.device, source.tile).first->second ==
        source.tile;
  const void *lane = call.getLaneAttr().getAsOpaquePointer();
  for (const Ranges *all : {&reads, &writes})
    for (const Range &range : *all)
      touching[range.root].insert(lane);
}

void Merger::finish(Open &open) {
  if (open.call && open.ins.size() != open.call.getIns().size()) {
    MLIRContext *context = open.call.getContext();
    open.call.setInsAttr(ArrayAttr::get(context, open.ins));
    open.call.setOutsAttr(ArrayAttr::get(context, open.outs));
  }
  open = Open();
}

/// Finishes the open transfers of other lanes that conflict with an access.
void Merger::finishConflicting(Attribute lane, const Range &range, bool write) {
  auto found = touching.find(range.root);
  if (found == touching.end())
    return;
  llvm::SmallVector<const void *, 4> others(found->second.begin(),
                                            found->second.end());
  for (const void *each : others) {
    Attribute other = Attribute::getFromOpaquePointer(each);
    if (other == lane)
      continue;
    Open &open = lanes[other];
    if (anyOverlap(range, open.writes) ||
        (write && anyOverlap(range, open.reads)))
      finish(open);
    auto isOfRoot = [&](const Range &one) { return one.root == range.root; };
    if (llvm::none_of(open.reads, isOfRoot) &&
        llvm::none_of(open.writes, isOfRoot))
      found->second.erase(each);
  }
}

void Merger::run(SequenceOp sequence) {
  for (CallOp call :
       llvm::make_early_inc_range(sequence.getBody().getOps<CallOp>())) {
    Ranges reads = rangesOf(call.getIns()), writes = rangesOf(call.getOuts());
    for (const Range &range : reads)
      finishConflicting(call.getLaneAttr(), range, /*write=*/false);
    for (const Range &range : writes)
      finishConflicting(call.getLaneAttr(), range, /*write=*/true);
    Open &open = lanes[call.getLaneAttr()];
    const bool isTransfer = call.getCallee() == "transfer";
    if (!isTransfer || !fits(open, call, reads, writes))
      finish(open);
    for (Attribute made : call.getOuts())
      hops[made] = isTransfer ? hopOf(call) : 0;
    if (isTransfer)
      add(open, call, reads, writes);
  }
  for (auto &[lane, open] : lanes)
    finish(open);
  lanes.clear();
  hops.clear();
  touching.clear();
}

void lwcc::mergeTransfers(ProgramOp program) {
  Merger merger(program);
  for (auto sequence : program.getBody().getOps<SequenceOp>())
    merger.run(sequence);
}
