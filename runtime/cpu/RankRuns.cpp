//===- RankRuns.cpp - Sequences of which other ranks run a part -----------===//
//
// What a CPU machine tells the exchange of a sequence (exchange/), and how runs
// of several ranks begin.
//
//===----------------------------------------------------------------------===//

#include "runtime/cpu/CpuMachine.h"

#include <unordered_map>
#include <utility>

namespace lwcc::rt {

/// What the derivation of messages needs to know of a sequence.
static std::vector<exchange::Step>
stepsOf(const Sequence &sequence,
        const std::vector<std::unique_ptr<CpuEvent>> &events) {
  std::unordered_map<const CpuEvent *, int> numbers;
  for (auto &event : events)
    numbers.emplace(event.get(), static_cast<int>(numbers.size()));
  std::vector<exchange::Step> steps;
  for (const Entry &entry : sequence.entries) {
    exchange::Step step;
    step.lane = entry.lane->index;
    step.device = entry.lane->device;
    if (entry.kind == Entry::work) {
      for (const Tensor &y : entry.results)
        if (y)
          step.writes.push_back({step.device, y});
      for (size_t i = 0; i < entry.read.size(); ++i)
        step.reads.push_back({entry.received[i].from, entry.read[i]});
    } else {
      step.kind = entry.kind == Entry::record ? exchange::Step::record
                                              : exchange::Step::wait;
      step.event = numbers.at(entry.event);
    }
    steps.push_back(std::move(step));
  }
  return steps;
}

void CpuMachine::shareRecorded(Sequence &sequence) {
  SequenceExchange::Setting setting;
  setting.number = exchange->size();
  for (auto &event : events)
    setting.events.push_back(event.get());
  setting.allocate = [this](int64_t bytes) {
    return static_cast<char *>(hostAlloc(bytes));
  };
  sequence.exchange = &exchange->add(std::make_unique<SequenceExchange>(
      stepsOf(sequence, events), *team, setting));
  if (team->remote)
    team->remote->record(sequence.name.c_str());
}

uint64_t CpuMachine::postShared(Item item) {
  if (team->remote)
    team->remote->run(item.sequence->exchange->number);
  Item meeting;
  meeting.actionLane = laneOn(-1).index;
  meeting.action = [this, run = item.run, sequence = item.sequence] {
    exchange->meet(run, failed);
    if (!failed) // else others may be at work on the run before
      sequence->exchange->begin(run);
  };
  post(std::move(meeting));
  return post(std::move(item));
}

RankLink CpuMachine::measureRanks() {
  if (team->remote)
    team->remote->measure();
  RankLink link;
  Item item;
  item.actionLane = laneOn(-1).index;
  item.action = [&] { link = exchange->measure(failed); };
  post(std::move(item));
  synchronize();
  return link;
}

} // namespace lwcc::rt
