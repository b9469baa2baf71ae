//===- CpuMachine.h - The CPU backend's machine -----------------*- C++ -*-===//
//
// A device is an arena, a lane is a thread. What the trainer starts (runs of a
// sequence, copies) are items: they are numbered and queued, and no item starts
// before the one before is finished. The lanes that an item needs are handed it
// one by one. They wait asleep, since the cores belong to lanes that have work,
// and go on without a lock: there may be more lanes than cores, and one that
// loses its core while it holds a lock would hold up all others until the
// kernel sees to it.
//
// A failing operator ends the run in all lanes: who waits for an event is
// woken, the items that follow are skipped, and synchronize throws.
//
// Of a program that several ranks run (core/Ranks.h), all lanes are recorded,
// but only those of this rank's devices have threads. Runs are counted alike in
// all ranks, and begin when all have ended the one before (exchange/).
//
// Machine.cpp makes and ends a machine and describes it, Run.cpp records and
// runs sequences (RankRuns.cpp: those of several ranks), Transfer.cpp copies
// between device and host.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_RUNTIME_CPU_CPUMACHINE_H
#define LWCC_RUNTIME_CPU_CPUMACHINE_H

#include "runtime/core/Machine.h"
#include "runtime/cpu/Lane.h"
#include "runtime/exchange/RankExchange.h"

#include <atomic>
#include <condition_variable>
#include <deque>
#include <exception>
#include <latch>
#include <map>
#include <mutex>
#include <thread>

namespace lwcc::rt {

class CpuMachine final : public Machine {
public:
  CpuMachine(const MachineSpec &spec, const MachineOptions &options);
  ~CpuMachine() override;

  const Ranks *ranks() const override { return team; }
  RankLink measureRanks() override;
  void stop(std::exception_ptr exception) override { fail(exception); }

  Lane &lane(int index) override { return *lanes.at(index); }
  Event &event(int index) override { return *events.at(index); }
  char *arena(int device) override { return arenas.at(device).data(); }

  Sequence *record(const char *name,
                   const std::function<void()> &body) override;
  void run(Sequence *sequence) override;
  void synchronize() override;
  void runObserved(Sequence *sequence, const Observer &after) override;
  const std::vector<TracedCall> &runTraced(Sequence *sequence) override;

  void read(Tensor source, int device, void *host) override;
  void write(Tensor target, int device, const void *host) override;
  void writeAsync(Tensor target, int device, const void *host) override;
  int64_t readAsync(Tensor source, int device, void *host) override;
  Clock::time_point wait(int64_t ticket) override;
  void *hostAlloc(int64_t bytes) override;

  std::vector<MovedBytes> movedBytes() override;
  const char *target() const override { return "cpu"; }
  int threads(int lane) const override { return lanes.at(lane)->threads; }
  std::string describe() const override;
  int64_t bytesHeld(int device) const override;

private:
  /// A run of a sequence, or something that one lane does alone.
  struct Item {
    Sequence *sequence = nullptr;
    std::vector<TracedCall> *calls = nullptr; ///< of a traced run
    std::function<void()> action;             ///< if there is no sequence
    int actionLane = 0;
    bool isRead = false;
    uint64_t number = 0;
    uint64_t run = 0; ///< of a sequence: counts runs
  };
  /// What one lane is to do next.
  struct Mailbox {
    std::atomic<int> isFull = 0; ///< an int, as in CpuEvent
    const Item *item = nullptr;  ///< null: the thread ends
  };

  void startLanes(const MachineSpec &spec);
  void stopLanes();
  uint64_t post(Item item);
  void start(const Item &item);
  void hand(int lane, const Item *item);
  void laneMain(CpuLane &lane);
  void finish(const Item &item);
  void perform(const Item &item, CpuLane &lane);
  void fail(std::exception_ptr exception);
  void waitFor(std::unique_lock<std::mutex> &lock, uint64_t number);
  /// The number of the first item.
  uint64_t postRun(Item item);
  /// Of several ranks: the exchange of a sequence that was recorded, and a run
  /// that begins when all have ended the one before.
  void shareRecorded(Sequence &sequence);
  uint64_t postShared(Item item);
  /// Copies of other ranks' devices, by rank 0.
  int64_t postRemoteRead(int device, Tensor source, Tensor host);
  CpuLane &laneOn(int device);
  /// Copies in the device's lane; the ticket.
  int64_t postCopy(int device, Tensor to, Tensor from, bool isRead);
  int deviceOf(const void *address) const;

  const Ranks *team; ///< null: this process runs all devices
  std::vector<Arena> arenas;
  std::vector<std::unique_ptr<CpuLane>> lanes;
  std::vector<std::unique_ptr<CpuEvent>> events;
  std::vector<std::unique_ptr<Sequence>> sequences;
  std::vector<Arena> hostMemory;
  std::deque<std::vector<TracedCall>>
      traces;          ///< a deque: its items stay in place
  int allThreads = 1;  ///< over all lanes
  int mostThreads = 1; ///< if no core were busy

  std::deque<Mailbox> mailboxes;  ///< by lane
  std::atomic<int> lanesLeft = 0; ///< that have not finished the item at hand

  std::mutex mutex;
  std::condition_variable changed; ///< completed
  std::deque<Item> queue; ///< items completed + 1, which is at hand, ... posted
  uint64_t posted = 0, completed = 0;
  uint64_t runs = 0; ///< posted
  /// When reads were over, by ticket, until that or a later one is waited for.
  std::map<uint64_t, Clock::time_point> readAt;
  std::atomic<bool> failed = false;
  std::exception_ptr failure;

  std::atomic<int> missingThreads = 0; ///< of the lanes' teams
  std::latch started;                  ///< lanes whose team stands

  std::vector<std::thread> workers;       ///< they use all of the above
  std::unique_ptr<RankExchange> exchange; ///< whose threads do, too
};

} // namespace lwcc::rt

#endif // LWCC_RUNTIME_CPU_CPUMACHINE_H
