//===- Follower.cpp - What ranks but the first do -------------------------===//
//
// Four threads: one listens, so that the end is heard whatever else happens;
// one shows that the rank is alive; one does what is asked; one waits for runs
// (Finisher.h).
//
//===----------------------------------------------------------------------===//

#include "runtime/train/ranks/Follower.h"

#include "runtime/exchange/UcxTransport.h"
#include "runtime/train/loop/Signals.h"
#include "runtime/train/loop/StepQueue.h"
#include "runtime/train/ranks/Channel.h"
#include "runtime/train/ranks/Finisher.h"
#include "runtime/train/ranks/Inbox.h"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <mutex>
#include <optional>
#include <thread>

#include <unistd.h>

namespace lwcc::rt::train {

using std::chrono::milliseconds;

namespace {

class Follower {
public:
  Follower(const Launch &launch, const Program &program)
      : launch(launch), program(program), own(describeRank(launch, program)),
        channel(connectTo(launch.host, launch.port, startPatience())) {}
  ~Follower() {
    isOver = true;
    if (beating.joinable())
      beating.join();
  }
  int run(const FollowerSetup &setup);

private:
  Received expect(MessageKind kind);
  void meet(const FollowerSetup &setup);
  void listen();
  void beat();
  void carryOut();
  void doOne(const Received &message);
  void fail(const std::string &why, int code);
  [[noreturn]] void end(const std::string &why, int code);

  const Launch &launch;
  const Program &program;
  const Hello own;
  Channel channel;
  std::unique_ptr<UcxTransport> transport;
  Ranks team;
  std::vector<const DataSet *> data;
  std::unique_ptr<Machine> machine;
  std::optional<HostBlocks> blocks; ///< of the machine
  std::vector<Sequence *> sequences;
  std::vector<std::unique_ptr<BatchLoader>> loaders;
  StopSignals signals;
  Inbox inbox;
  Kept pending; ///< since the last ticket
  std::optional<Finisher> finisher;
  int64_t pendingBytes = 0;
  std::atomic<int64_t> steps = 0;
  std::mutex checkpointMutex;
  std::string checkpoint;
  std::atomic<bool> isOver = false, haveMet = false;
  int exitCode = 0;
  std::thread beating;
};

} // namespace

/// Says why, and is gone: threads may wait for what never comes.
void Follower::end(const std::string &why, int code) {
  std::fprintf(stderr, "[%s] %s\n", rankText(launch.rank, own.host).c_str(),
               why.c_str());
  std::fflush(stderr);
  ::_exit(code);
}

/// Rank 0 says it, and ends all.
void Follower::fail(const std::string &why, int code) {
  channel.tryToSend(MessageKind::failed,
                    PacketWriter().number(int32_t(code)).text(why).bytes);
}

//===----------------------------------------------------------------------===//
// Meeting
//===----------------------------------------------------------------------===//

Received Follower::expect(MessageKind kind) {
  Received message;
  do
    message = channel.receive(silence, mostContents);
  while (message.kind == MessageKind::alive);
  if (message.kind == MessageKind::refused || message.kind == MessageKind::end)
    ::_exit(1); // rank 0 has said why
  if (message.kind != kind)
    throw Error("rank 0 sends what was not expected");
  return message;
}

void Follower::meet(const FollowerSetup &setup) {
  team.rank = launch.rank;
  team.count = launch.count;
  team.onLost = [this](int rank, const std::string &why) {
    if (!isOver)
      fail("rank " + std::to_string(rank) + " was lost: " + why,
           RankLost::exitCode);
  };
  channel.send(MessageKind::hello, own.packed());
  Welcome welcome;
  try {
    welcome = Welcome::from(expect(MessageKind::welcome).contents);
  } catch (const Error &error) {
    throw Error("rank 0 (" + launch.host + ":" + std::to_string(launch.port) +
                "): " + error.what());
  }
  beating = std::thread([this] { beat(); });
  try {
    team.ofDevice = ranksOfDevices(program.machine, launch.count);
    {
      Silenced remarks(STDERR_FILENO); // rank 0 makes them
      data = setup.openData(welcome);
    }
    transport = std::make_unique<UcxTransport>(launch.rank);
    team.transport = transport.get();
    PacketWriter prepared;
    prepared.text(transport->address()).number(uint64_t(data.size()));
    for (const DataSet *set : data) {
      const DataMark mark = markOf(program, *set->source);
      prepared.number(mark.samples).number(mark.labels);
    }
    channel.send(MessageKind::prepared, prepared.bytes);
  } catch (const Error &error) {
    fail(error.what(), 1);
  }
  const std::string all = expect(MessageKind::peers).contents;
  PacketReader reader(all);
  std::vector<UcxPeer> peers(launch.count);
  for (UcxPeer &peer : peers) {
    peer.address = reader.text();
    team.hosts.push_back(reader.text());
    peer.isNear = team.hosts.back() == own.kernel;
  }
  transport->setPeers(std::move(peers));
  try {
    machine = setup.createMachine(team, welcome.threads);
  } catch (const Error &error) {
    fail(error.what(), 1);
    listen(); // until rank 0 ends all
  }
}

//===----------------------------------------------------------------------===//
// Listening
//===----------------------------------------------------------------------===//

void Follower::listen() {
  while (true) {
    Received message;
    try {
      message = channel.receive(silence, mostContents);
    } catch (const Error &error) {
      std::string last;
      {
        std::lock_guard lock(checkpointMutex);
        last = checkpoint;
      }
      end("rank 0 (" + launch.host + ") was lost: " + error.what() +
              "; in step " + std::to_string(steps) +
              (last.empty() ? ", no checkpoint is known"
                            : ", the last checkpoint is " + last),
          RankLost::exitCode);
    }
    PacketReader reader(message.contents);
    switch (message.kind) {
    case MessageKind::alive:
      break;
    case MessageKind::abort: {
      const auto code = reader.number<int32_t>();
      if (code != RankLost::exitCode)
        ::_exit(code); // rank 0 says why
      end(reader.text(), code);
    }
    case MessageKind::saved: {
      std::lock_guard lock(checkpointMutex);
      checkpoint = reader.text();
      break;
    }
    case MessageKind::end:
      isOver = true;
      exitCode = reader.number<int32_t>();
      if (exitCode != 0)
        ::_exit(exitCode); // what is under way is not wanted any more
      inbox.add(std::move(message));
      return;
    default:
      inbox.add(std::move(message));
    }
  }
}

/// Every second a sign of life, from the meeting on, and at once a signal that
/// came: while ranks meet, rank 0 expects none.
void Follower::beat() {
  bool told = false;
  for (int i = 0; !isOver; ++i) {
    std::this_thread::sleep_for(milliseconds(50));
    if (int signal = signals.received(); signal && haveMet && !told) {
      told = true;
      channel.tryToSend(MessageKind::stop, PacketWriter().number(signal).bytes);
    }
    if (i % 20 == 0)
      channel.tryToSend(MessageKind::alive);
  }
}

//===----------------------------------------------------------------------===//
// Doing
//===----------------------------------------------------------------------===//

void Follower::doOne(const Received &message) {
  PacketReader reader(message.contents);
  switch (message.kind) {
  case MessageKind::record: {
    const bool isStep = message.contents == "train_step";
    sequences.push_back(
        machine->record(isStep ? "train_step" : "evaluate", [&] {
          (isStep ? program.trainStep : program.evaluate)(*machine);
        }));
    return;
  }
  case MessageKind::openLoader: {
    const auto settings = reader.number<BatchLoader::Settings>();
    const size_t which = settings.evaluation ? 1 : 0;
    if (which >= data.size())
      throw Error("rank 0 asks for data that were not opened");
    loaders.push_back(std::make_unique<BatchLoader>(*machine, program,
                                                    *data[which], settings));
    return;
  }
  case MessageKind::stage: {
    BatchLoader &loader = *loaders.at(reader.number<int32_t>());
    Batch &batch = loader.next();
    writeInputs(*machine, batch);
    pending.batches.emplace_back(&loader, &batch);
    return;
  }
  case MessageKind::write: {
    const auto device = reader.number<int32_t>();
    const auto offset = reader.number<int64_t>();
    const std::string_view bytes = reader.rest();
    if (device < 0 || device >= int(program.machine.devices.size()) ||
        !machine->isLocal(device) || offset < 0 ||
        offset + int64_t(bytes.size()) >
            program.machine.devices[device].arenaBytes)
      throw Error("rank 0 writes where nothing is");
    HostBlocks::Block &block =
        pending.written.emplace_back(blocks->take(int64_t(bytes.size())));
    std::copy(bytes.begin(), bytes.end(), block.data());
    machine->writeAsync(Tensor(machine->arena(device) + offset, DType::u8,
                               {int64_t(bytes.size())}, Layout::dense),
                        device, block.data());
    pendingBytes += int64_t(bytes.size());
    if (pendingBytes > int64_t(64) << 20) {
      machine->synchronize();
      pending.written.clear();
      pendingBytes = 0;
    }
    return;
  }
  case MessageKind::measure:
    machine->measureRanks();
    return;
  case MessageKind::run:
  case MessageKind::read: {
    Kept one = std::exchange(pending, {});
    pendingBytes = 0;
    int device = static_cast<int>(
        std::find(team.ofDevice.begin(), team.ofDevice.end(), launch.rank) -
        team.ofDevice.begin());
    int64_t offset = 0, bytes = 1; // of a run, only to know when it is over
    if (message.kind == MessageKind::run) {
      machine->run(sequences.at(reader.number<int32_t>()));
      ++steps;
    } else {
      one.request = reader.number<int64_t>();
      device = reader.number<int32_t>();
      offset = reader.number<int64_t>();
      bytes = reader.number<int64_t>();
    }
    one.read = blocks->take(bytes);
    one.bytes = static_cast<size_t>(bytes);
    one.ticket = machine->readAsync(Tensor(machine->arena(device) + offset,
                                           DType::u8, {bytes}, Layout::dense),
                                    device, one.read.data());
    return finisher->add(std::move(one));
  }
  default:
    throw Error("rank 0 sends what was not expected");
  }
}

void Follower::carryOut() {
  while (true) {
    const Received message = inbox.take();
    if (message.kind == MessageKind::end)
      return;
    try {
      doOne(message);
    } catch (const RankLost &) {
      ::pause(); // until rank 0 says so
    } catch (const std::exception &error) {
      fail(error.what(), 1);
      ::pause();
    }
  }
}

int Follower::run(const FollowerSetup &setup) {
  Silenced output(STDOUT_FILENO);
  meet(setup);
  blocks.emplace(*machine);
  haveMet = true;
  std::thread listening([this] { listen(); });
  finisher.emplace(*machine, channel,
                   [this](const std::string &why) { fail(why, 1); });
  carryOut();
  finisher.reset(); // when all is over
  pending = {};
  listening.join();
  loaders.clear();
  machine.reset();
  return exitCode;
}

int follow(const Launch &launch, const Program &program,
           const FollowerSetup &setup) {
  try {
    ranksOfDevices(program.machine, launch.count); // rank 0 says it and is gone
    return Follower(launch, program).run(setup);
  } catch (const Error &error) {
    std::fprintf(stderr, "[rank %d] error: %s\n", launch.rank, error.what());
    return 1;
  }
}

} // namespace lwcc::rt::train
