//===- Synchronize.cpp - Events between lanes -----------------------------===//
//
// One walk in the order of appending, with vector clocks. A call waits for the
// earlier accesses that conflict with its own (a write after anything, a read
// after a write, of overlapping bytes of one buffer) and that its lane does not
// know to be finished. Of several on one lane the last implies the others, and
// of several lanes' the one that itself waited for the others implies them.
//
// An event is recorded right behind the call it stands for: later would make
// the waiting lane wait for more than it must.
//
//===----------------------------------------------------------------------===//

#include "passes/schedule/Synchronize.h"
#include "ir/exec/HappensBefore.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace lwcc;
using namespace lwcc::exec;

namespace {

/// A past access to bytes [begin, end) of a root buffer.
struct Access {
  int64_t begin, end;
  bool write;
  int call; ///< index of the call
};

/// A call that was appended, and what is finished when it is.
struct Done {
  CallOp op;
  Stamp stamp;
  Clock clock;
  EventOp event; ///< null until somebody waits for it
};

class Synchronizer {
public:
  explicit Synchronizer(ProgramOp program)
      : program(program), symbols(program) {
    for (auto lane : program.getBody().getOps<LaneOp>())
      lanes.try_emplace(lane.getSymNameAttr(), lanes.size());
  }

  void run(SequenceOp sequence);

private:
  /// Notes an access and returns the calls it conflicts with.
  void touch(FlatSymbolRefAttr name, bool write, int call,
             llvm::SmallVectorImpl<int> &conflicts);
  EventOp eventOf(Done &done);

  ProgramOp program;
  SymbolTable symbols;
  llvm::DenseMap<StringAttr, int> lanes;
  std::vector<Done> calls;
  llvm::DenseMap<Operation *, llvm::SmallVector<Access, 4>> accesses;
};

} // namespace

void Synchronizer::touch(FlatSymbolRefAttr name, bool write, int call,
                         llvm::SmallVectorImpl<int> &conflicts) {
  auto buffer = symbols.lookup<BufferOp>(name.getAttr());
  auto [root, begin] = rootOf(buffer, symbols);
  Access now{begin, begin + spanOf(buffer, symbols), write, call};
  auto &past = accesses[root];
  for (const Access &access : past)
    if ((write || access.write) && access.call != call &&
        access.begin < now.end && now.begin < access.end)
      conflicts.push_back(access.call);
  // What a write covers need not be looked at again: whoever is ordered behind
  // the write is ordered behind it.
  if (write)
    llvm::erase_if(past, [&](const Access &access) {
      return now.begin <= access.begin && access.end <= now.end &&
             access.call != call;
    });
  past.push_back(now);
}

EventOp Synchronizer::eventOf(Done &done) {
  if (done.event)
    return done.event;
  // Behind the last declaration that is not a sequence.
  OpBuilder builder(program.getContext());
  Operation *sequence = done.op->getParentOp();
  while (isa_and_nonnull<SequenceOp>(sequence->getPrevNode()))
    sequence = sequence->getPrevNode();
  builder.setInsertionPoint(sequence);
  done.event = EventOp::create(builder, done.op.getLoc(),
                               (done.op.getCallee() + ".done").str());
  symbols.insert(done.event); // makes the name unique
  builder.setInsertionPointAfter(done.op);
  RecordOp::create(builder, done.op.getLoc(),
                   FlatSymbolRefAttr::get(done.event.getSymNameAttr()),
                   done.op.getLaneAttr());
  return done.event;
}

void Synchronizer::run(SequenceOp sequence) {
  calls.clear();
  accesses.clear();
  HappensBefore order(lanes.size(), /*events=*/0);
  llvm::SmallVector<CallOp> ops(sequence.getBody().getOps<CallOp>());
  for (CallOp op : ops) {
    int lane = lanes.lookup(op.getLaneAttr().getAttr());
    int number = calls.size();
    llvm::SmallVector<int> conflicts;
    for (Attribute a : op.getIns())
      if (auto name = dyn_cast<FlatSymbolRefAttr>(a))
        touch(name, /*write=*/false, number, conflicts);
    for (Attribute a : op.getOuts())
      if (auto name = dyn_cast<FlatSymbolRefAttr>(a))
        touch(name, /*write=*/true, number, conflicts);

    // Latest first: it is the one that may imply the others.
    llvm::sort(conflicts, std::greater<int>());
    for (int conflict : conflicts) {
      Done &done = calls[conflict];
      if (order.finished(done.stamp, lane))
        continue;
      OpBuilder builder(op);
      WaitOp::create(builder, op.getLoc(),
                     FlatSymbolRefAttr::get(eventOf(done).getSymNameAttr()),
                     op.getLaneAttr());
      order.join(lane, done.clock);
    }
    Stamp stamp = order.append(lane);
    calls.push_back({op, stamp, order.clock(lane), {}});
  }
}

void lwcc::synchronize(ProgramOp program) {
  Synchronizer synchronizer(program);
  llvm::SmallVector<SequenceOp> sequences(
      program.getBody().getOps<SequenceOp>());
  for (SequenceOp sequence : sequences)
    synchronizer.run(sequence);
}
