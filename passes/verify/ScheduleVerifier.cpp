//===- ScheduleVerifier.cpp - Proof before run ----------------------------===//
//
// Layout first (Layout.h), then each sequence in the order of appending: its
// events (rule E5 of ir/exec/README.md), its accesses (Accesses.h), then what
// it left behind (Copies.h, Meaning.h).
//
//===----------------------------------------------------------------------===//

#include "passes/verify/ScheduleVerifier.h"
#include "ir/exec/HappensBefore.h"
#include "passes/Passes.h"
#include "passes/verify/Accesses.h"
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
    ok &= succeeded(layout.find());
    ok &= succeeded(verifyParts(program));
    if (ok)
      for (auto sequence : program.getBody().getOps<SequenceOp>())
        checkSequence(sequence);
    return success(ok);
  }

private:
  void number();
  void checkSequence(SequenceOp sequence);

  InFlightDiagnostic error(Operation *op) {
    ok = false;
    return op->emitOpError();
  }

  ProgramOp program;
  Layout layout;
  bool ok = true;
  llvm::DenseMap<StringAttr, int> lanes, events;
};
} // namespace

void Verifier::number() {
  for (auto lane : program.getBody().getOps<LaneOp>())
    lanes.try_emplace(lane.getSymNameAttr(), lanes.size());
  for (auto event : program.getBody().getOps<EventOp>())
    events.try_emplace(event.getSymNameAttr(), events.size());
}

void Verifier::checkSequence(SequenceOp sequence) {
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
  ok &= succeeded(verifyMeaning(sequence));
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
