//===- RankExchange.h - What a rank sends and gets --------------*- C++ -*-===//
//
// Keeps what arrives where it is read, and starts no run before all ranks have
// ended the one before. What is sent to whom is decided in Messages.h, once for
// each recorded sequence.
//
// Ranks meet between runs by a dissemination barrier (Hensgen, Finkel, Manber,
// "Two algorithms for barrier synchronization", 1988): in round i each tells
// the one 2^i ahead, log2 of their number times.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_RUNTIME_EXCHANGE_RANKEXCHANGE_H
#define LWCC_RUNTIME_EXCHANGE_RANKEXCHANGE_H

#include "runtime/core/Ranks.h"
#include "runtime/exchange/SequenceExchange.h"
#include "runtime/exchange/Transport.h"

#include <chrono>
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace lwcc::rt {

class RankExchange final : public Receiver {
public:
  explicit RankExchange(const Ranks &ranks);
  ~RankExchange() override;

  /// Of the sequence that was recorded next.
  SequenceExchange &add(std::unique_ptr<SequenceExchange> sequence);
  int size() const { return static_cast<int>(sequences.size()); }

  /// Returns when all ranks have ended the run before, or one has failed.
  void meet(uint64_t run, const std::atomic<bool> &failed);
  /// How quick parcels are between rank 0, which gets the answer, and the
  /// others, one after the other.
  RankLink measure(const std::atomic<bool> &failed);
  /// Wakes all who wait; peers need not get any more what was sent to them.
  void giveUp();
  /// How many parcels have arrived, and whether there soon are more than so
  /// many: returns when there are, when it is woken, or after `most`.
  uint64_t arrivals() const { return arrivalCount; }
  void awaitArrival(uint64_t beyond, std::chrono::microseconds most);

  void *landing(int from, uint64_t id, int64_t bytes) override;
  void arrived(int from, uint64_t id, uint64_t run) override;
  void lost(int peer, const std::string &why) override;

private:
  struct Round {
    Parcel parcels[2]; ///< of even runs and odd ones
    RunCounter told;
  };
  /// Parcels that only take time.
  struct Trial {
    std::deque<Parcel> parcels; ///< that were sent
    std::vector<char> block;    ///< sent, and where others land
    RunCounter answered, landed;
    std::atomic<int> blocks = 0; ///< that have landed
  };
  void noteArrival();
  void sendTrial(int peer, uint64_t number, uint64_t turn, int64_t bytes);

  const Ranks &ranks;
  std::deque<Round> rounds;
  Trial trial;
  std::mutex mutex; ///< of `sequences`, which grows while parcels may arrive
  std::vector<std::unique_ptr<SequenceExchange>> sequences;
  std::atomic<bool> isGivenUp = false;
  std::atomic<uint64_t> arrivalCount = 0;
  std::mutex arriving;
  std::condition_variable hasArrived;
};

} // namespace lwcc::rt

#endif // LWCC_RUNTIME_EXCHANGE_RANKEXCHANGE_H
