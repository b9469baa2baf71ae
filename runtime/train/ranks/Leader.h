//===- Leader.h - Rank 0 and what it asks of the others ---------*- C++ -*-===//
//
// Rank 0 holds the trainer: it alone decides, reads checkpoints, writes files
// and speaks. The others do what they are told (Follower.h) in the order in
// which they are told. What devices send each other during a run goes from
// rank to rank directly (exchange/); nothing of it comes by here.
//
// Whatever ends one rank ends all: the leader tells the others why.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_RUNTIME_TRAIN_RANKS_LEADER_H
#define LWCC_RUNTIME_TRAIN_RANKS_LEADER_H

#include "runtime/core/Machine.h"
#include "runtime/exchange/UcxTransport.h"
#include "runtime/train/ranks/Channel.h"
#include "runtime/train/ranks/Team.h"

#include <atomic>
#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <sys/types.h>

namespace lwcc::rt::train {

class Leader final : public RemoteDevices {
public:
  /// Listens, and starts the other ranks where --ranks asks for it: the same
  /// program with the same arguments. Throws Error.
  Leader(const Launch &launch, const Program &program);
  /// The others end, too.
  ~Leader() override;

  /// Waits for all ranks, tells them how to train, and compares what they have
  /// found. `data` are this rank's. Throws Error: who is missing, who differs.
  void gather(int64_t threads,
              const std::vector<std::pair<std::string, std::string>> &flags,
              const std::vector<DataMark> &data);
  /// Of all ranks, after gather.
  int threads() const { return allThreads; }
  const Ranks &ranks() const { return team; }
  /// From here on a lost rank stops the machine.
  void watch(Machine &machine);
  /// All went well until here: the others end with this exit code.
  void finish(int code);

  void record(const char *name) override;
  int openLoader(const std::string &settings) override;
  void stage(int loader) override;
  void run(int sequence) override;
  void measure() override;
  void write(int device, int64_t offset, const void *data,
             int64_t bytes) override;
  int64_t askFor(int device, int64_t offset, int64_t bytes) override;
  void await(int64_t request, void *data) override;
  void saved(int64_t step, const std::string &checkpoint) override;

private:
  struct Peer {
    std::unique_ptr<Channel> channel;
    Hello hello;
    std::chrono::steady_clock::time_point heard;
  };
  struct Answer {
    int64_t bytes = 0, arrived = 0;
    std::string data;
  };
  void startOthers();
  void checkChildren();
  void meet();
  void beat();
  void meetAndBeat();
  void admit(std::unique_ptr<Channel> caller,
             std::vector<std::string> &turnedAway);
  void awaitMeeting();
  void checkAlike();
  int countCores() const;
  std::vector<std::string> awaitPrepared(const std::vector<DataMark> &data);
  void endChildren();
  [[noreturn]] void refuse(const std::string &why);
  void listen();
  void hear(int rank, const Received &message);
  void tell(int rank, MessageKind kind, std::string_view contents = {});
  void tellAll(MessageKind kind, std::string_view contents = {});
  /// Those that are here, and only if they still are.
  void offerAll(MessageKind kind, std::string_view contents = {});
  void lost(int rank, const std::string &why);
  void stopAll(const std::string &text, bool isLoss);
  void throwIfLost();

  const Launch launch;
  const Hello own;
  int port = 0, listener = -1;
  std::vector<pid_t> children; ///< by rank - 1, of --ranks
  std::vector<Peer> peers;     ///< by rank; 0 is this process
  int allThreads = 0;
  std::unique_ptr<UcxTransport> transport;
  Ranks team;
  Machine *machine = nullptr;

  std::mutex mutex;
  std::condition_variable changed;
  std::map<int64_t, Answer> answers; ///< by request
  int64_t requests = 0;
  int loaders = 0;
  std::string loss; ///< what is told; "": all are there
  bool isRankLost = false, haveMet = false;
  int64_t steps = 0; ///< that are over
  std::string checkpoint;
  std::string refusal; ///< why the ranks cannot meet
  std::chrono::steady_clock::time_point beaten;
  std::atomic<bool> ended = false, isWatched = false;
  std::thread meeting, listening;
};

} // namespace lwcc::rt::train

#endif // LWCC_RUNTIME_TRAIN_RANKS_LEADER_H
