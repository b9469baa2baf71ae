//===- MergeTransfers.cpp - One call per gather ---------------------------===//
//
// One walk in the order of appending. The last transfer of each lane is open:
// the next call of the lane is merged with it if it is a transfer of the same
// layer and phase, into the same root buffer. Small ones, which cost nothing
// but latency, are merged into whatever buffers, unless they bring several
// tiles from one device: these are made one after the other. Merging delays the
// open transfer, so a call on another lane that conflicts with it closes it:
// one that reads or writes bytes that it writes, or writes bytes that it reads.
//
//===----------------------------------------------------------------------===//

#include "passes/schedule/MergeTransfers.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace lwcc;
using namespace lwcc::exec;

namespace {

/// Bytes of a root buffer: all that lie between the first and the last one that
/// a buffer touches.
struct Range {
  BufferOp root;
  int64_t begin = 0, end = 0;

  bool overlaps(const Range &other) const {
    return root == other.root && begin < other.end && other.begin < end;
  }
};
using Ranges = llvm::SmallVector<Range>;

bool anyOverlap(const Ranges &a, const Ranges &b) {
  return llvm::any_of(a, [&](const Range &one) {
    return llvm::any_of(
        b, [&](const Range &other) { return one.overlaps(other); });
  });
}

/// The last transfer of a lane, and what it touches.
struct Open {
  CallOp call;
  Ranges reads, writes;
};

class Merger {
public:
  explicit Merger(ProgramOp program) : symbols(program) {}
  void run(SequenceOp sequence);

private:
  Ranges rangesOf(ArrayAttr buffers);
  bool bringsOneTileOfEach(CallOp first, CallOp second);
  void close(CallOp call, const Ranges &reads, const Ranges &writes);

  SymbolTable symbols;
  llvm::MapVector<Attribute, Open> lanes; ///< by the lane's name
};

} // namespace

Ranges Merger::rangesOf(ArrayAttr buffers) {
  Ranges ranges;
  for (Attribute a : buffers)
    if (auto name = dyn_cast<FlatSymbolRefAttr>(a)) {
      auto buffer = symbols.lookup<BufferOp>(name.getAttr());
      auto [root, begin] = rootOf(buffer, symbols);
      // The rows of a window lie apart.
      ranges.push_back(buffer.getWindow()
                           ? Range{root, 0, root.getBytes()}
                           : Range{root, begin, begin + buffer.getBytes()});
    }
  return ranges;
}

void Merger::close(CallOp call, const Ranges &reads, const Ranges &writes) {
  for (auto &[lane, open] : lanes)
    if (open.call && lane != call.getLaneAttr() &&
        (anyOverlap(reads, open.writes) || anyOverlap(writes, open.writes) ||
         anyOverlap(writes, open.reads)))
      open = {};
}

/// Whether what two calls read has one tile on each device at most.
bool Merger::bringsOneTileOfEach(CallOp first, CallOp second) {
  llvm::DenseMap<Attribute, Attribute> tileOn; // by device
  for (CallOp call : {first, second})
    for (Attribute a : call.getIns()) {
      auto source =
          symbols.lookup<BufferOp>(cast<FlatSymbolRefAttr>(a).getAttr());
      Attribute tile = source.getTileAttr();
      auto known = tileOn.try_emplace(source.getDeviceAttr(), tile).first;
      if (known->second != tile)
        return false;
    }
  return true;
}

void Merger::run(SequenceOp sequence) {
  lanes.clear();
  auto joined = [](ArrayAttr list, ArrayAttr more) {
    llvm::SmallVector<Attribute> all(list.getValue());
    llvm::append_range(all, more);
    return ArrayAttr::get(list.getContext(), all);
  };
  for (CallOp call :
       llvm::make_early_inc_range(sequence.getBody().getOps<CallOp>())) {
    Ranges reads = rangesOf(call.getIns()), writes = rangesOf(call.getOuts());
    close(call, reads, writes);
    Open &open = lanes[call.getLaneAttr()];
    if (call.getCallee() != "transfer") {
      open = {};
      continue;
    }
    auto isSmall = [&] {
      return symbols.lookup<LaneOp>(call.getLane()).getKind().getValue() ==
             LaneKind::small;
    };
    if (open.call && open.call.getLayer() == call.getLayer() &&
        open.call.getPhase() == call.getPhase() &&
        (open.writes.front().root == writes.front().root ||
         (isSmall() && bringsOneTileOfEach(open.call, call)))) {
      call.setOutsAttr(joined(open.call.getOuts(), call.getOuts()));
      call.setInsAttr(joined(open.call.getIns(), call.getIns()));
      open.call.erase();
    } else {
      open = {};
    }
    open.call = call;
    llvm::append_range(open.writes, writes);
    llvm::append_range(open.reads, reads);
  }
}

void lwcc::mergeTransfers(ProgramOp program) {
  Merger merger(program);
  for (auto sequence : program.getBody().getOps<SequenceOp>())
    merger.run(sequence);
}
