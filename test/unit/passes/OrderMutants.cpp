//===- OrderMutants.cpp - Damage to the order of a program ----------------===//

#include "Mutants.h"

using namespace mlir;
using namespace lwcc;
using namespace lwcc::exec;
using namespace lwcc::test;

namespace {

template <typename OpT>
bool drop(OpT op, ProgramOp, Random &) {
  op.erase();
  return true;
}

template <typename OpT>
bool toOtherLane(OpT op, ProgramOp program, Random &random) {
  LaneOp lane = pick(all<LaneOp>(program), random);
  bool other = op.getLane() != lane.getSymName();
  op.setLane(lane.getSymName());
  return other;
}

/// Anything that stands in the op's sequence.
Operation *anyIn(Block *block, Random &random) {
  return &*std::next(block->begin(),
                     below(block->getOperations().size(), random));
}

template <typename OpT>
bool toOtherPlace(OpT op, ProgramOp, Random &random) {
  Operation *other = anyIn(op->getBlock(), random);
  if (other == op)
    return false;
  if (op->isBeforeInBlock(other))
    op->moveAfter(other);
  else
    op->moveBefore(other);
  return true;
}

bool swapWithNext(Operation *op) {
  if (!op->getNextNode())
    return false;
  op->moveAfter(op->getNextNode());
  return true;
}

void exchange(Operation *a, Operation *b) {
  Operation *behind = b->getNextNode();
  if (behind == a) {
    a->moveBefore(b);
    return;
  }
  b->moveBefore(a);
  if (behind)
    a->moveBefore(behind);
  else
    a->moveAfter(&a->getBlock()->back());
}

bool exchangeWithAnother(CallOp call, ProgramOp, Random &random) {
  std::vector<CallOp> others;
  for (auto other : call->getBlock()->getOps<CallOp>())
    if (other != call)
      others.push_back(other);
  if (others.empty())
    return false;
  exchange(call, pick(others, random));
  return true;
}

bool addWait(WaitOp wait, ProgramOp program, Random &random) {
  auto copy = cast<WaitOp>(wait->clone());
  wait->getBlock()->push_back(copy);
  toOtherLane(copy, program, random);
  Operation *place = anyIn(wait->getBlock(), random);
  if (place != copy)
    copy->moveBefore(place);
  return true;
}

/// Records or waits for the event of another.
template <typename OpT>
bool ofOtherEvent(OpT op, ProgramOp program, Random &random) {
  EventOp event = pick(all<EventOp>(program), random);
  bool other = op.getEvent() != event.getSymName();
  op.setEvent(event.getSymName());
  return other;
}

/// To the same place of another sequence, as near as there is one.
bool toOtherSequence(CallOp call, ProgramOp program, Random &random) {
  SequenceOp sequence = pick(all<SequenceOp>(program), random);
  Block &block = sequence.getBody().front();
  if (&block == call->getBlock() || block.empty())
    return false;
  call->moveBefore(anyIn(&block, random));
  return true;
}

bool swapSequences(SequenceOp sequence, ProgramOp program, Random &) {
  for (SequenceOp other : all<SequenceOp>(program)) {
    if (other == sequence)
      continue;
    StringAttr name = sequence.getSymNameAttr();
    sequence.setSymNameAttr(other.getSymNameAttr());
    other.setSymNameAttr(name);
    return true;
  }
  return false;
}

bool runTwice(CallOp call, ProgramOp, Random &random) {
  auto copy = call->clone();
  Operation *place =
      below(2, random) ? call.getOperation() : anyIn(call->getBlock(), random);
  place->getBlock()->getOperations().insertAfter(place->getIterator(), copy);
  return true;
}

} // namespace

std::vector<Mutation> test::orderMutations() {
  return {
      atEach<RecordOp>("drop record", drop<RecordOp>),
      atEach<RecordOp>("move record", toOtherPlace<RecordOp>),
      atEach<RecordOp>("other event", ofOtherEvent<RecordOp>),
      atEach<WaitOp>("drop wait", drop<WaitOp>),
      atEach<WaitOp>("wait on another lane", toOtherLane<WaitOp>, 3),
      atEach<WaitOp>("wait for another", ofOtherEvent<WaitOp>),
      atEach<WaitOp>("add wait", addWait),
      {"swap neighbours",
       [](ProgramOp p) {
         size_t count = 0;
         for (auto sequence : p.getBody().getOps<SequenceOp>())
           count += sequence.getBody().front().getOperations().size();
         return count;
       },
       [](ProgramOp p, size_t site, Random &) {
         for (auto sequence : p.getBody().getOps<SequenceOp>())
           for (Operation &op : sequence.getBody().front())
             if (site-- == 0)
               return swapWithNext(&op);
         return false;
       }},
      atEach<CallOp>("call on another lane", toOtherLane<CallOp>, 3),
      atEach<CallOp>("move call", toOtherPlace<CallOp>, 2),
      atEach<CallOp>("call elsewhere", toOtherSequence),
      atEach<CallOp>("swap calls", exchangeWithAnother, 2),
      atEach<CallOp>("drop call", drop<CallOp>),
      atEach<CallOp>("double call", runTwice, 2),
      atEach<SequenceOp>("swap sequences", swapSequences),
  };
}
