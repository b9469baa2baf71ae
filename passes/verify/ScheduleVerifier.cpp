//===- ScheduleVerifier.cpp - Proof before run ----------------------------===//
//
// Layout first (Layout.h), then each sequence in the order of appending: its
// events (rule E5 of ir/exec/README.md), its accesses (Accesses.h), then what
// it left behind (Copies.h); and beside that, what it means (Meaning.h).
//
//===----------------------------------------------------------------------===//

#include "passes/verify/ScheduleVerifier.h"
#include "ir/exec/HappensBefore.h"
#include "passes/Passes.h"
#include "passes/verify/Accesses.h"
#include "passes/verify/AllInParallel.h"
#include "passes/verify/Copies.h"
#include "passes/verify/Layout.h"
#include "passes/verify/Meaning.h"

#include "llvm/ADT/DenseMap.h"

using namespace mlir;
using namespace lwcc;
using namespace lwcc::exec;
using namespace lwcc::proof;

namespace lwcc {
#define GEN_PASS_DEF_VERIFYSCHEDULE
#include "passes/Passes.h.inc"
} // namespace lwcc

namespace {
class Verifier {
public:
  explicit Verifier(ProgramOp program) : program(program), layout(program) {}

  LogicalResult run() {
    number();
    const bool fits = succeeded(layout.find());
    if (failed(verifyParts(program)) || !fits)
      return failure();
    SmallVector<SequenceOp> sequences(program.getBody().getOps<SequenceOp>());
    return allInParallel(program.getContext(), 2 * sequences.size(),
                         [&](size_t i) {
                           return i % 2 == 0 ? checkSequence(sequences[i / 2])
                                             : verifyMeaning(sequences[i / 2]);
                         });
  }

private:
  void number();
  LogicalResult checkSequence(SequenceOp sequence);

  ProgramOp program;
  Layout layout;
  llvm::DenseMap<StringAttr, int> lanes, events;
};
} // namespace

void Verifier::number() {
  for (auto lane : program.getBody().getOps<LaneOp>())
    lanes.try_emplace(lane.getSymNameAttr(), lanes.size());
  for (auto event : program.getBody().getOps<EventOp>())
    events.try_emplace(event.getSymNameAttr(), events.size());
}

LogicalResult Verifier::checkSequence(SequenceOp sequence) {
  bool ok = true;
  auto error = [&](Operation *op) {
    ok = false;
    return op->emitOpError();
  };
  HappensBefore order(lanes.size(), events.size());
  Accesses accesses(program, layout);

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
      Stamp stamp = order.append(lanes.lookup(call.getLaneAttr().getAttr()));
      ok &= succeeded(accesses.add(call, stamp, order));
    }
  }

  SmallVector<WrittenBytes> written;
  for (auto buffer : program.getBody().getOps<BufferOp>())
    if (!buffer.getViewOf() && buffer.isPersistent())
      written.push_back({buffer, accesses.written(buffer)});
  ok &= succeeded(verifyCopies(sequence, written));
  return success(ok);
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
