//===- Synchronize.cpp - Events between lanes -----------------------------===//
//
// One walk in the order of appending, with vector clocks
// (ir/exec/HappensBefore.h). A call waits for the earlier calls whose accesses
// conflict with its own, unless its lane knows them to be finished. Conflicts
// are tried from the latest on. Thus of several on one lane only the last is
// waited for, and of several lanes those that another one has waited for are
// skipped: the transitive reduction, as far as the walk sees it.
//
// An event is recorded right behind the call that it stands for. A later record
// would hold the waiting lane back for work that it does not need.
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

/// A call that was appended, and what is finished behind it.
struct Done {
  CallOp op;
  Knowledge knowledge;
  EventOp event; ///< null until a lane waits for the call
};

/// The bytes of a root buffer in which a buffer lies.
struct Bytes {
  Operation *root = nullptr;
  int64_t begin = 0, end = 0;
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
  /// Registers an access of a call; adds the earlier calls that conflict with
  /// it to `conflicts`.
  void touch(FlatSymbolRefAttr name, bool write, int call,
             llvm::SmallVectorImpl<int> &conflicts);
  const Bytes &bytesOf(FlatSymbolRefAttr name);
  EventOp eventOf(Done &done);

  ProgramOp program;
  SymbolTable symbols;
  llvm::DenseMap<StringAttr, int> lanes;
  llvm::DenseMap<Attribute, Bytes> known; ///< by the buffer's name
  std::vector<Done> calls;
  llvm::DenseMap<Operation *, llvm::SmallVector<Access, 4>> accesses;
};

} // namespace

const Bytes &Synchronizer::bytesOf(FlatSymbolRefAttr name) {
  auto [entry, isNew] = known.try_emplace(name);
  if (isNew) {
    auto buffer = symbols.lookup<BufferOp>(name.getAttr());
    auto [root, begin] = rootOf(buffer, symbols);
    entry->second = {root, begin, begin + spanOf(buffer, symbols)};
  }
  return entry->second;
}

void Synchronizer::touch(FlatSymbolRefAttr name, bool write, int call,
                         llvm::SmallVectorImpl<int> &conflicts) {
  const Bytes &bytes = bytesOf(name);
  Access now{bytes.begin, bytes.end, write, call};
  auto &past = accesses[bytes.root];
  for (const Access &access : past)
    if ((write || access.write) && access.call != call &&
        access.begin < now.end && now.begin < access.end)
      conflicts.push_back(access.call);
  // Accesses that a write covers are dropped: a call that is ordered behind the
  // write is ordered behind them.
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
  // Events are declared in front of the first sequence.
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

    // Latest first: its clock may include the others.
    llvm::sort(conflicts, std::greater<int>());
    for (int conflict : conflicts) {
      Done &done = calls[conflict];
      if (order.finished(done.knowledge.last, lane))
        continue;
      OpBuilder builder(op);
      WaitOp::create(builder, op.getLoc(),
                     FlatSymbolRefAttr::get(eventOf(done).getSymNameAttr()),
                     op.getLaneAttr());
      order.join(lane, done.knowledge);
    }
    order.append(lane);
    calls.push_back({op, order.knowledge(lane), {}});
  }
}

void lwcc::synchronize(ProgramOp program) {
  Synchronizer synchronizer(program);
  llvm::SmallVector<SequenceOp> sequences(
      program.getBody().getOps<SequenceOp>());
  for (SequenceOp sequence : sequences)
    synchronizer.run(sequence);
}
