//===- MergeTransfers.cpp - One call per gather ---------------------------===//
//
// One walk in the order of appending. The last transfer of each lane is open:
// the next call of the lane is merged with it if it is a transfer into the same
// root buffer, of the same layer and phase. Merging delays the open transfer,
// so a call on another lane that conflicts with it closes it: one that reads or
// writes what it writes, or writes what it reads.
//
//===----------------------------------------------------------------------===//

#include "passes/schedule/MergeTransfers.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace lwcc;
using namespace lwcc::exec;

namespace {

/// The last transfer of a lane, and the root buffers that it touches.
struct Open {
  CallOp call;
  llvm::SmallVector<BufferOp> reads;
  BufferOp writes;
};

class Merger {
public:
  explicit Merger(ProgramOp program) : symbols(program) {}
  void run(SequenceOp sequence);

private:
  llvm::SmallVector<BufferOp> rootsOf(ArrayAttr buffers);
  void close(CallOp call, llvm::ArrayRef<BufferOp> reads,
             llvm::ArrayRef<BufferOp> writes);

  SymbolTable symbols;
  llvm::MapVector<Attribute, Open> lanes; ///< by the lane's name
};

} // namespace

llvm::SmallVector<BufferOp> Merger::rootsOf(ArrayAttr buffers) {
  llvm::SmallVector<BufferOp> roots;
  for (Attribute a : buffers)
    if (auto name = dyn_cast<FlatSymbolRefAttr>(a))
      roots.push_back(
          rootOf(symbols.lookup<BufferOp>(name.getAttr()), symbols).first);
  return roots;
}

void Merger::close(CallOp call, llvm::ArrayRef<BufferOp> reads,
                   llvm::ArrayRef<BufferOp> writes) {
  for (auto &[lane, open] : lanes) {
    if (!open.call || lane == call.getLaneAttr())
      continue;
    bool behind = llvm::is_contained(reads, open.writes) ||
                  llvm::is_contained(writes, open.writes) ||
                  llvm::any_of(writes, [&](BufferOp buffer) {
                    return llvm::is_contained(open.reads, buffer);
                  });
    if (behind)
      open = {};
  }
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
    llvm::SmallVector<BufferOp> reads = rootsOf(call.getIns());
    llvm::SmallVector<BufferOp> writes = rootsOf(call.getOuts());
    close(call, reads, writes);
    Open &open = lanes[call.getLaneAttr()];
    if (call.getCallee() != "transfer") {
      open = {};
      continue;
    }
    if (open.call && open.writes == writes.front() &&
        open.call.getLayer() == call.getLayer() &&
        open.call.getPhase() == call.getPhase()) {
      call.setOutsAttr(joined(open.call.getOuts(), call.getOuts()));
      call.setInsAttr(joined(open.call.getIns(), call.getIns()));
      open.call.erase();
    } else {
      open = {};
    }
    open.call = call;
    open.writes = writes.front();
    llvm::append_range(open.reads, reads);
  }
}

void lwcc::mergeTransfers(ProgramOp program) {
  Merger merger(program);
  for (auto sequence : program.getBody().getOps<SequenceOp>())
    merger.run(sequence);
}
