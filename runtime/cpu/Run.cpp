//===- Run.cpp - Recording and running sequences on the CPU ---------------===//
//
// The queue of items, and what a lane's thread does with it.
//
//===----------------------------------------------------------------------===//

#include "runtime/core/Error.h"
#include "runtime/cpu/CpuMachine.h"
#include "runtime/cpu/Onednn.h"
#include "runtime/cpu/Parallel.h"
#include "runtime/cpu/Threads.h"

#include <algorithm>
#include <utility>

namespace lwcc::rt {

namespace {

/// The same exception, saying which operator it comes from.
std::exception_ptr inContext(const Entry &entry, std::exception_ptr cause) {
  try {
    std::rethrow_exception(cause);
  } catch (const std::exception &e) {
    return std::make_exception_ptr(Error(entry.layer + " (" + entry.phase +
                                         "), " + entry.op + ": " + e.what()));
  } catch (...) {
    return cause;
  }
}

int64_t now() {
  using namespace std::chrono;
  return duration_cast<nanoseconds>(steady_clock::now().time_since_epoch())
      .count();
}

/// In the lane's own thread, between its other operators as in every run.
void runTimed(const Entry &entry, TracedCall &call) {
  call = {entry.lane->index, entry.layer.c_str(), entry.phase.c_str(),
          entry.op};
  call.begin = now();
  entry.run();
  call.end = now();
}

} // namespace

Sequence *CpuMachine::record(const char *name,
                             const std::function<void()> &body) {
  synchronize(); // lanes may get a larger workspace
  auto sequence = std::make_unique<Sequence>();
  sequence->name = name;
  sequence->perLane.resize(lanes.size());
  for (auto &lane : lanes)
    lane->beginRecording(*sequence);
  try {
    body();
  } catch (const dnnl::error &e) {
    throw Error(std::string("cannot prepare ") + name +
                ": oneDNN: " + e.what());
  }
  for (auto &lane : lanes)
    lane->endRecording(isLocal(lane->device));

#ifndef NDEBUG
  // In appended order every event is recorded before it is waited for, so that
  // neither a run nor runObserved can wait for ever.
  std::vector<const CpuEvent *> recorded;
  for (const Entry &entry : sequence->entries) {
    bool known = std::find(recorded.begin(), recorded.end(), entry.event) !=
                 recorded.end();
    assert((entry.kind != Entry::record || !known) &&
           "event recorded twice in a sequence");
    assert((entry.kind != Entry::wait || known) &&
           "event waited for before it is recorded");
    if (entry.kind == Entry::record)
      recorded.push_back(entry.event);
  }
#endif
  if (team)
    shareRecorded(*sequence);
  sequences.push_back(std::move(sequence));
  return sequences.back().get();
}

uint64_t CpuMachine::post(Item item) {
  const Item *next = nullptr;
  uint64_t number;
  {
    std::lock_guard lock(mutex);
    number = item.number = ++posted;
    queue.push_back(std::move(item));
    if (queue.size() == 1)
      next = &queue.front();
  }
  if (next)
    start(*next);
  return number;
}

/// Lets the lanes that an item needs do their share of it.
void CpuMachine::start(const Item &item) {
  if (!item.sequence) {
    lanesLeft = 1;
    return hand(item.actionLane, &item);
  }
  lanesLeft = static_cast<int>(workers.size());
  for (auto &lane : lanes)
    if (isLocal(lane->device))
      hand(lane->index, &item);
}

void CpuMachine::hand(int lane, const Item *item) {
  Mailbox &mailbox = mailboxes[lane];
  mailbox.item = item;
  mailbox.isFull.store(1, std::memory_order_release);
  mailbox.isFull.notify_one();
}

uint64_t CpuMachine::postRun(Item item) {
  item.run = ++runs;
  return team ? postShared(std::move(item)) : post(std::move(item));
}

void CpuMachine::run(Sequence *sequence) {
  Item item;
  item.sequence = sequence;
  postRun(std::move(item));
}

const std::vector<TracedCall> &CpuMachine::runTraced(Sequence *sequence) {
  Item item;
  item.sequence = sequence;
  item.calls = &traces.emplace_back(sequence->operators);
  std::vector<TracedCall> &calls = *item.calls;
  postRun(std::move(item));
  return calls;
}

void CpuMachine::laneMain(CpuLane &lane) {
  missingThreads += lane.threads - startTeam(lane.threads);
  started.count_down();
  Mailbox &mailbox = mailboxes[lane.index];
  while (true) {
    while (!mailbox.isFull.load(std::memory_order_acquire))
      mailbox.isFull.wait(0, std::memory_order_acquire);
    const Item *item = mailbox.item;
    // The next one may be handed over as soon as this one is finished.
    mailbox.isFull.store(0, std::memory_order_relaxed);
    if (!item)
      return;
    perform(*item, lane);
    if (lanesLeft.fetch_sub(1, std::memory_order_acq_rel) == 1)
      finish(*item);
  }
}

/// Ends the item at hand, whose lanes are through, and starts the next one.
void CpuMachine::finish(const Item &item) {
  const Item *next = nullptr;
  {
    std::lock_guard lock(mutex);
    completed = item.number;
    if (item.isRead)
      readAt[completed] = Clock::now();
    queue.pop_front();
    if (!queue.empty())
      next = &queue.front();
  }
  changed.notify_all();
  if (next)
    start(*next);
}

void CpuMachine::perform(const Item &item, CpuLane &lane) {
  if (failed)
    return;
  const Entry *current = nullptr;
  try {
    if (!item.sequence)
      return item.action();
    SequenceExchange *others = item.sequence->exchange;
    for (int index : item.sequence->perLane[lane.index]) {
      const Entry &entry = item.sequence->entries[index];
      if (others) {
        others->before(index, item.run, failed);
        if (failed)
          return;
      }
      switch (entry.kind) {
      case Entry::work:
        current = &entry;
        if (item.calls)
          runTimed(entry, (*item.calls)[entry.number]);
        else
          entry.run();
        for (const MovedBytes &read : entry.received)
          lane.received[read.from] += read.bytes;
        break;
      case Entry::record:
        entry.event->signal(item.run);
        break;
      case Entry::wait:
        entry.event->await(item.run, failed);
        break;
      }
      if (failed)
        return;
      if (others)
        others->after(index, item.run);
    }
  } catch (...) {
    fail(current ? inContext(*current, std::current_exception())
                 : std::current_exception());
  }
}

void CpuMachine::fail(std::exception_ptr exception) {
  {
    std::lock_guard lock(mutex);
    if (!failure)
      failure = exception;
    failed = true;
  }
  for (auto &event : events)
    event->wake(); // whoever waits sees `failed`
  if (exchange)
    exchange->giveUp();
}

void CpuMachine::waitFor(std::unique_lock<std::mutex> &lock, uint64_t number) {
  changed.wait(lock, [&] { return completed >= number; });
}

void CpuMachine::synchronize() {
  std::unique_lock lock(mutex);
  waitFor(lock, posted);
  if (failed) {
    std::exception_ptr exception = failure;
    if (!team) { // else other ranks do not go on, either
      failure = nullptr;
      failed = false;
    }
    std::rethrow_exception(exception);
  }
}

void CpuMachine::runObserved(Sequence *sequence, const Observer &after) {
  synchronize();
  for (const Entry &entry : sequence->entries) {
    if (entry.kind != Entry::work)
      continue;
    {
      ThreadScope scope(entry.lane->threads);
      try {
        entry.run();
      } catch (...) {
        std::rethrow_exception(inContext(entry, std::current_exception()));
      }
    }
    after(entry.layer.c_str(), entry.phase.c_str(), entry.op,
          entry.results.data(), static_cast<int>(entry.results.size()));
  }
}

} // namespace lwcc::rt
