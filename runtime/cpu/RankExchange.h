//===- RankExchange.h - A CPU machine's share of an exchange ----*- C++ -*-===//
//
// Sends what lanes of this rank write and others read, keeps what arrives where
// it is read, and starts no run before all ranks have ended the one before.
// What is sent to whom is decided in exchange/Messages.h, once for each
// recorded sequence.
//
// Ranks meet between runs by a dissemination barrier (Hensgen, Finkel, Manber,
// "Two algorithms for barrier synchronization", 1988): in round i each tells
// the one 2^i ahead, log2 of their number times.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_RUNTIME_CPU_RANKEXCHANGE_H
#define LWCC_RUNTIME_CPU_RANKEXCHANGE_H

#include "runtime/core/Ranks.h"
#include "runtime/cpu/Lane.h"
#include "runtime/exchange/Messages.h"
#include "runtime/exchange/Transport.h"

#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace lwcc::rt {

/// What this rank sends and gets in one sequence.
class SequenceExchange {
public:
  SequenceExchange(Sequence &sequence, int number, const Ranks &ranks,
                   const std::vector<const CpuEvent *> &events);

  /// Sends what no step of the sequence writes.
  void begin(uint64_t run, Transport &transport);
  /// Called by a step's lane around the step; `failed` ends the waiting.
  void before(int step, uint64_t run, const std::atomic<bool> &failed);
  void after(int step, uint64_t run, Transport &transport);
  /// Wakes all who wait.
  void wake();

  void *landing(int from, uint32_t number, int64_t bytes);
  /// False if no such parcel comes from there.
  bool arrived(int from, uint32_t number, uint64_t run);

private:
  struct Outgoing {
    Parcel parcel;
    Tensor source;
    int writers = 0;           ///< 0: of news, and of what nobody writes
    std::atomic<int> left = 0; ///< writers of this run that are not through
    Arena staging;             ///< of elements that are not one run of memory
  };
  struct Incoming {
    int from = -1;
    Tensor target; ///< absent: news
    Arena staging;
    CpuEvent done;
    std::vector<CpuEvent *> events;
  };
  void send(Outgoing &outgoing, uint64_t run, Transport &transport);

  std::deque<Outgoing> outgoing;
  std::deque<Incoming> incoming; ///< by the number of message or news
  std::vector<Outgoing *> atStart;
  std::vector<std::vector<Outgoing *>> behind; ///< by step
  std::vector<std::vector<Incoming *>> awaits; ///< by step
};

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
  void wake();
  Transport &transport() { return *ranks.transport; }

  void *landing(int from, uint64_t id, int64_t bytes) override;
  void arrived(int from, uint64_t id, uint64_t run) override;
  void lost(int peer, const std::string &why) override;

private:
  struct Round {
    Parcel parcels[2]; ///< of even runs and odd ones
    CpuEvent told;
  };
  /// Parcels that only take time.
  struct Trial {
    std::deque<Parcel> parcels; ///< that were sent
    Arena block;                ///< sent, and where others land
    CpuEvent answered, landed;
    std::atomic<int> blocks = 0; ///< that have landed
  };
  void sendTrial(int peer, uint64_t number, uint64_t turn, int64_t bytes);

  const Ranks &ranks;
  std::deque<Round> rounds;
  Trial trial;
  std::mutex mutex; ///< of `sequences`, which grows while parcels may arrive
  std::vector<std::unique_ptr<SequenceExchange>> sequences;
};

} // namespace lwcc::rt

#endif // LWCC_RUNTIME_CPU_RANKEXCHANGE_H
