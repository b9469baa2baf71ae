//===- RankExchange.cpp - A CPU machine's share of an exchange ------------===//

#include "runtime/cpu/RankExchange.h"

#include "runtime/core/HostCopy.h"
#include "runtime/exchange/MessageCheck.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

namespace lwcc::rt {

/// A parcel's id: the sequence, then the number of the message or news in it.
static constexpr uint64_t barrierSequence = 0xffffffff,
                          trialSequence = 0xfffffffe;
static constexpr uint64_t pingNumber = 0, blockNumber = 1;
static constexpr int64_t blockBytes = int64_t(4) << 20;
static uint64_t idOf(uint64_t sequence, uint64_t number) {
  return sequence << 32 | number;
}

/// The same elements one behind the other, in `memory`.
static Tensor packed(const Tensor &tensor, void *memory) {
  return {memory, tensor.type, tensor.dim.data(), tensor.rank, Layout::dense};
}

/// What the derivation needs to know of a sequence.
static std::vector<exchange::Step>
stepsOf(const Sequence &sequence, const std::vector<const CpuEvent *> &events) {
  std::unordered_map<const CpuEvent *, int> numbers;
  for (const CpuEvent *event : events)
    numbers.emplace(event, static_cast<int>(numbers.size()));
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

SequenceExchange::SequenceExchange(
    Sequence &sequence, int number, const Ranks &ranks,
    const std::vector<const CpuEvent *> &events) {
  const std::vector<exchange::Step> steps = stepsOf(sequence, events);
  const exchange::Messages all =
      exchange::deriveMessages(steps, ranks.ofDevice);
  assert(exchange::checkMessages(steps, ranks.ofDevice, all).empty() &&
         "ranks may read what has not come, or wait for ever");
  behind.resize(steps.size());
  awaits.resize(steps.size());
  auto eventOf = [&](int event) {
    return const_cast<CpuEvent *>(events[event]);
  };
  uint64_t next = 0;
  auto parcelTo = [&](int peer) -> Outgoing & {
    Outgoing &out = outgoing.emplace_back();
    out.parcel.peer = peer;
    out.parcel.id = idOf(number, next);
    return out;
  };
  for (const exchange::Message &message : all.messages) {
    const Tensor &region = message.region.tensor;
    const bool isPacked = !exchange::isContiguous(region);
    Incoming &in = incoming.emplace_back();
    if (message.to == ranks.rank) {
      in.from = message.from;
      in.target = region;
      if (isPacked)
        in.staging = Arena(region.bytes());
      for (int event : message.events)
        in.events.push_back(eventOf(event));
    } else if (message.from == ranks.rank) {
      Outgoing &out = parcelTo(message.to);
      out.source = region;
      out.parcel.data = region.data;
      out.parcel.bytes = region.bytes();
      if (isPacked) {
        out.staging = Arena(region.bytes());
        out.parcel.data = out.staging.data();
      }
      out.writers = static_cast<int>(message.writers.size());
      out.left = out.writers;
      for (int writer : message.writers)
        behind[writer].push_back(&out);
      if (message.writers.empty())
        atStart.push_back(&out);
    }
    ++next;
  }
  for (const exchange::News &news : all.news) {
    Incoming &in = incoming.emplace_back();
    if (news.to == ranks.rank) {
      in.from = news.from;
      in.events.push_back(eventOf(news.event));
    } else if (news.from == ranks.rank) {
      behind[news.record].push_back(&parcelTo(news.to));
    }
    ++next;
  }
  for (size_t i = 0; i < steps.size(); ++i)
    if (ranks.isLocal(sequence.entries[i].lane->device))
      for (int message : all.awaits[i])
        awaits[i].push_back(&incoming[message]);
}

void SequenceExchange::send(Outgoing &out, uint64_t run, Transport &transport) {
  if (out.staging.bytes() > 0)
    copyOnHost(packed(out.source, out.staging.data()), out.source);
  out.left.store(out.writers, std::memory_order_relaxed);
  out.parcel.run = run;
  transport.send(out.parcel);
}

void SequenceExchange::begin(uint64_t run, Transport &transport) {
  for (Outgoing *out : atStart)
    send(*out, run, transport);
}

void SequenceExchange::before(int step, uint64_t run,
                              const std::atomic<bool> &failed) {
  for (Incoming *in : awaits[step])
    in->done.await(run, failed);
}

void SequenceExchange::after(int step, uint64_t run, Transport &transport) {
  for (Outgoing *out : behind[step])
    if (out->writers <= 1 ||
        out->left.fetch_sub(1, std::memory_order_acq_rel) == 1)
      send(*out, run, transport);
}

void SequenceExchange::wake() {
  for (Incoming &in : incoming)
    in.done.wake();
}

void *SequenceExchange::landing(int from, uint32_t number, int64_t bytes) {
  if (number >= incoming.size())
    return nullptr;
  Incoming &in = incoming[number];
  if (in.from != from || !in.target || bytes != in.target.bytes())
    return nullptr;
  return in.staging.bytes() > 0 ? in.staging.data() : in.target.data;
}

bool SequenceExchange::arrived(int from, uint32_t number, uint64_t run) {
  if (number >= incoming.size() || incoming[number].from != from)
    return false;
  Incoming &in = incoming[number];
  if (in.staging.bytes() > 0)
    copyOnHost(in.target, packed(in.target, in.staging.data()));
  in.done.signal(run);
  for (CpuEvent *event : in.events)
    event->signal(run);
  return true;
}

RankExchange::RankExchange(const Ranks &ranks) : ranks(ranks) {
  for (int distance = 1; distance < ranks.count; distance *= 2) {
    Round &round = rounds.emplace_back();
    for (Parcel &parcel : round.parcels) {
      parcel.peer = (ranks.rank + distance) % ranks.count;
      parcel.id = idOf(barrierSequence, rounds.size() - 1);
    }
  }
  ranks.transport->start(*this);
}

RankExchange::~RankExchange() { ranks.transport->stop(); }

SequenceExchange &RankExchange::add(std::unique_ptr<SequenceExchange> one) {
  std::lock_guard lock(mutex);
  return *sequences.emplace_back(std::move(one));
}

void RankExchange::meet(uint64_t run, const std::atomic<bool> &failed) {
  for (Round &round : rounds) {
    Parcel &parcel = round.parcels[run % 2];
    parcel.run = run;
    ranks.transport->send(parcel);
    round.told.awaitAtLeast(run, failed);
    if (failed) // others must not hear that all are there
      return;
  }
}

void RankExchange::sendTrial(int peer, uint64_t number, uint64_t turn,
                             int64_t bytes) {
  Parcel &parcel = trial.parcels.emplace_back();
  parcel.peer = peer;
  parcel.id = idOf(trialSequence, number);
  parcel.run = turn;
  parcel.data = trial.block.data();
  parcel.bytes = bytes;
  ranks.transport->send(parcel);
}

RankLink RankExchange::measure(const std::atomic<bool> &failed) {
  constexpr int trips = 100, warmup = 20, blocks = 16;
  using Seconds = std::chrono::duration<double>;
  // Each rank has turns of its own; the last one asks for blocks.
  auto turnOf = [](int rank, int trip) {
    return uint64_t(rank) * (trips + 2) + trip + 1;
  };
  RankLink slowest;
  if (trial.block.bytes() == 0)
    trial.block = Arena(blockBytes);
  for (int peer = 1; peer < ranks.count && ranks.rank == 0; ++peer) {
    Clock::time_point begin = Clock::now();
    for (int trip = 0; trip < trips && !failed; ++trip) {
      if (trip == warmup)
        begin = Clock::now();
      sendTrial(peer, pingNumber, turnOf(peer, trip), 0);
      trial.answered.awaitAtLeast(turnOf(peer, trip), failed);
    }
    const double latency =
        Seconds(Clock::now() - begin).count() / (2.0 * (trips - warmup));
    begin = Clock::now();
    sendTrial(peer, pingNumber, turnOf(peer, trips), 0);
    trial.landed.awaitAtLeast(uint64_t(peer) * blocks, failed);
    const double bandwidth =
        double(blocks * blockBytes) / Seconds(Clock::now() - begin).count();
    slowest.latency = std::max(slowest.latency, latency);
    slowest.bandwidth =
        peer == 1 ? bandwidth : std::min(slowest.bandwidth, bandwidth);
  }
  for (int trip = 0; trip <= trips && ranks.rank > 0 && !failed; ++trip) {
    trial.answered.awaitAtLeast(turnOf(ranks.rank, trip), failed);
    if (trip < trips)
      sendTrial(0, pingNumber, turnOf(ranks.rank, trip), 0);
    for (int block = 0; block < blocks && trip == trips; ++block)
      sendTrial(0, blockNumber, block, blockBytes);
  }
  return slowest;
}

void RankExchange::wake() {
  trial.answered.wake();
  trial.landed.wake();
  for (Round &round : rounds)
    round.told.wake();
  std::lock_guard lock(mutex);
  for (auto &sequence : sequences)
    sequence->wake();
}

void *RankExchange::landing(int from, uint64_t id, int64_t bytes) {
  if (id == idOf(trialSequence, blockNumber))
    return bytes == trial.block.bytes() ? trial.block.data() : nullptr;
  std::lock_guard lock(mutex);
  return id >> 32 < sequences.size()
             ? sequences[id >> 32]->landing(from, uint32_t(id), bytes)
             : nullptr;
}

void RankExchange::arrived(int from, uint64_t id, uint64_t run) {
  const auto number = uint32_t(id);
  if (id >> 32 == barrierSequence && number < rounds.size())
    return rounds[number].told.signalAtLeast(run);
  if (id == idOf(trialSequence, pingNumber))
    return trial.answered.signalAtLeast(run);
  if (id == idOf(trialSequence, blockNumber))
    return trial.landed.signalAtLeast(++trial.blocks);
  SequenceExchange *sequence = nullptr;
  {
    std::lock_guard lock(mutex);
    if (id >> 32 < sequences.size())
      sequence = sequences[id >> 32].get();
  }
  if (!sequence || !sequence->arrived(from, number, run))
    lost(from, "it sent what this program does not send");
}

void RankExchange::lost(int peer, const std::string &why) {
  ranks.onLost(peer, why);
}

} // namespace lwcc::rt
