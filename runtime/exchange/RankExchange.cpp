//===- RankExchange.cpp - What a rank sends and gets ----------------------===//

#include "runtime/exchange/RankExchange.h"

#include <algorithm>
#include <utility>

namespace lwcc::rt {

using Clock = std::chrono::steady_clock;

/// Numbers of sequences that no program has.
static constexpr uint64_t barrierSequence = 0xffffffff,
                          trialSequence = 0xfffffffe;
static constexpr uint64_t pingNumber = 0, blockNumber = 1;
static constexpr int64_t blockBytes = int64_t(4) << 20;

RankExchange::RankExchange(const Ranks &ranks) : ranks(ranks) {
  for (int distance = 1; distance < ranks.count; distance *= 2) {
    Round &round = rounds.emplace_back();
    for (Parcel &parcel : round.parcels) {
      parcel.peer = (ranks.rank + distance) % ranks.count;
      parcel.id = parcelId(barrierSequence, rounds.size() - 1);
    }
  }
  ranks.transport->start(*this);
}

RankExchange::~RankExchange() { ranks.transport->stop(!isGivenUp); }

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
  parcel.id = parcelId(trialSequence, number);
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
  trial.block.resize(blockBytes);
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

void RankExchange::giveUp() {
  isGivenUp = true;
  trial.answered.wake();
  trial.landed.wake();
  for (Round &round : rounds)
    round.told.wake();
  {
    std::lock_guard lock(mutex);
    for (auto &sequence : sequences)
      sequence->wake();
  }
  noteArrival();
}

void RankExchange::noteArrival() {
  {
    std::lock_guard lock(arriving);
    ++arrivalCount;
  }
  hasArrived.notify_all();
}

void RankExchange::awaitArrival(uint64_t beyond,
                                std::chrono::microseconds most) {
  std::unique_lock lock(arriving);
  hasArrived.wait_for(lock, most, [&] { return arrivalCount > beyond; });
}

void *RankExchange::landing(int from, uint64_t id, int64_t bytes) {
  if (id == parcelId(trialSequence, blockNumber))
    return bytes == int64_t(trial.block.size()) ? trial.block.data() : nullptr;
  std::lock_guard lock(mutex);
  return id >> 32 < sequences.size()
             ? sequences[id >> 32]->landing(from, uint32_t(id), bytes)
             : nullptr;
}

void RankExchange::arrived(int from, uint64_t id, uint64_t run) {
  const auto number = uint32_t(id);
  if (id >> 32 == barrierSequence && number < rounds.size())
    return rounds[number].told.signalAtLeast(run);
  if (id == parcelId(trialSequence, pingNumber))
    return trial.answered.signalAtLeast(run);
  if (id == parcelId(trialSequence, blockNumber))
    return trial.landed.signalAtLeast(++trial.blocks);
  SequenceExchange *sequence = nullptr;
  {
    std::lock_guard lock(mutex);
    if (id >> 32 < sequences.size())
      sequence = sequences[id >> 32].get();
  }
  if (!sequence || !sequence->arrived(from, number, run))
    return lost(from, "it sent what this program does not send");
  noteArrival();
}

void RankExchange::lost(int peer, const std::string &why) {
  ranks.onLost(peer, why);
}

} // namespace lwcc::rt
