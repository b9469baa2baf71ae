//===- SequenceExchange.h - A rank's share of a sequence --------*- C++ -*-===//
//
// What this rank sends in a recorded sequence, behind which steps, and what its
// steps wait for. Derived from the steps of all ranks (Messages.h), and proven
// (MessageCheck.h) as it is made.
//
// Both backends have it. One whose lanes are threads lets them wait
// (before, after); one whose lanes are queues of a GPU asks whether a step may
// be started (mayStart), and brings what leaves to the host itself.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_RUNTIME_EXCHANGE_SEQUENCEEXCHANGE_H
#define LWCC_RUNTIME_EXCHANGE_SEQUENCEEXCHANGE_H

#include "runtime/core/Ranks.h"
#include "runtime/exchange/Messages.h"
#include "runtime/exchange/RunCounter.h"
#include "runtime/exchange/Transport.h"

#include <atomic>
#include <deque>
#include <functional>
#include <vector>

namespace lwcc::rt {

/// A parcel of every run.
struct Outgoing {
  Parcel parcel;
  Transport *transport = nullptr;
  Tensor source;   ///< absent: news
  int writers = 0; ///< 0: what nobody writes in the sequence
  int lane = -1;   ///< of the last of them, in the order of appending
  /// The elements one behind the other, in memory of the host; null where the
  /// source lies there like this.
  char *staging = nullptr;
  std::atomic<int> left = 0; ///< writers of this run that are not through

  /// Its bytes are in the host's memory, and the parcel has the run's number.
  void send() { transport->send(parcel); }
};

/// A parcel's id: the sequence, then the number of the message or news in it.
inline uint64_t parcelId(uint64_t sequence, uint64_t number) {
  return sequence << 32 | number;
}

/// The same elements one behind the other, in `memory`.
inline Tensor packedAs(const Tensor &tensor, void *memory) {
  return {memory, tensor.type, tensor.dim.data(), tensor.rank, Layout::dense};
}

class SequenceExchange {
public:
  struct Setting {
    int number = 0; ///< of the sequence
    /// By number of the event; signalled where it comes from another rank.
    std::vector<RunCounter *> events;
    /// Memory of the host that lives as long as the exchange.
    std::function<char *(int64_t bytes)> allocate;
    /// Whether the host cannot read the memory of devices.
    bool stagesAll = false;
  };
  SequenceExchange(const std::vector<exchange::Step> &steps, const Ranks &ranks,
                   const Setting &setting);

  /// As all ranks count the sequences that they record.
  const int number;

  /// Sends what no step of the sequence writes.
  void begin(uint64_t run);
  /// Called by a step's lane around the step; `failed` ends the waiting.
  void before(int step, uint64_t run, const std::atomic<bool> &failed);
  void after(int step, uint64_t run);

  bool mayStart(int step, uint64_t run) const;
  const std::vector<Outgoing *> &leavingAtStart() const { return atStart; }
  const std::vector<Outgoing *> &leavingBehind(int step) const {
    return behind[step];
  }
  /// Counts a writer of this run as through; true for the last.
  static bool isLastWriter(Outgoing &out);

  /// Regions that land here: what steps of this rank read of others' devices.
  std::vector<Tensor> landings() const;

  /// Wakes all who wait.
  void wake();

  void *landing(int from, uint32_t number, int64_t bytes);
  /// False if no such parcel comes from there.
  bool arrived(int from, uint32_t number, uint64_t run);

private:
  struct Incoming {
    int from = -1;
    Tensor target; ///< absent: news
    char *staging = nullptr;
    RunCounter done;
    std::vector<RunCounter *> events;
  };

  std::deque<Outgoing> outgoing;
  std::deque<Incoming> incoming; ///< by the number of message or news
  std::vector<Outgoing *> atStart;
  std::vector<std::vector<Outgoing *>> behind; ///< by step
  std::vector<std::vector<Incoming *>> awaits; ///< by step
};

} // namespace lwcc::rt

#endif // LWCC_RUNTIME_EXCHANGE_SEQUENCEEXCHANGE_H
