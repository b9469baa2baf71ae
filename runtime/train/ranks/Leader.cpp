//===- Leader.cpp - Rank 0 and what it asks of the others -----------------===//

#include "runtime/train/ranks/Leader.h"

#include "runtime/train/files/Text.h"
#include "runtime/train/loop/Signals.h"

#include <algorithm>
#include <cstring>
#include <fstream>

#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

namespace lwcc::rt::train {

using SteadyClock = std::chrono::steady_clock;
using std::chrono::milliseconds;

//===----------------------------------------------------------------------===//
// Start and end
//===----------------------------------------------------------------------===//

Leader::Leader(const Launch &launch, const Program &program)
    : launch(launch), own(describeRank(launch, program)), port(launch.port),
      peers(launch.count) {
  team.count = launch.count;
  team.ofDevice = ranksOfDevices(program.machine, launch.count);
  team.remote = this;
  team.onLost = [this](int rank, const std::string &why) { lost(rank, why); };
  transport = std::make_unique<UcxTransport>(0);
  team.transport = transport.get();
  listener = listenAt(launch.host, port);
  if (launch.port == 0)
    startOthers();
  meeting = std::thread([this] { meetAndBeat(); });
}

/// As this process was started, which may be by lwcc-run.
static std::vector<std::string> ownArguments() {
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  std::vector<std::string> arguments;
  for (std::string argument; std::getline(file, argument, '\0');)
    arguments.push_back(argument);
  return arguments;
}

void Leader::startOthers() {
  std::vector<std::string> arguments = ownArguments();
  std::vector<char *> argv;
  for (std::string &argument : arguments)
    argv.push_back(argument.data());
  argv.push_back(nullptr);
  const std::string ours[] = {"LWCC_RANKS=" + std::to_string(launch.count),
                              "LWCC_ADDRESS=" + launch.host + ":" +
                                  std::to_string(port),
                              "LWCC_SECRET=" + launch.secret};
  for (int rank = 1; rank < launch.count; ++rank) {
    const std::string which = "LWCC_RANK=" + std::to_string(rank);
    std::vector<char *> environment;
    for (char **each = environ; *each; ++each)
      environment.push_back(*each);
    environment.push_back(const_cast<char *>(which.c_str()));
    for (const std::string &each : ours)
      environment.push_back(const_cast<char *>(each.c_str()));
    environment.push_back(nullptr);
    pid_t child = 0;
    if (int error = ::posix_spawn(&child, "/proc/self/exe", nullptr, nullptr,
                                  argv.data(), environment.data())) {
      endChildren();
      ::close(listener);
      throw Error("cannot start rank " + std::to_string(rank) + ": " +
                  std::strerror(error));
    }
    children.push_back(child);
  }
}

Leader::~Leader() {
  const bool isSaid = ended.exchange(true);
  if (meeting.joinable())
    meeting.join();
  if (!isSaid) // what is thrown says why, where it is caught
    finish(1);
  for (Peer &peer : peers)
    if (peer.channel)
      peer.channel->shut();
  if (listening.joinable())
    listening.join();
  if (listener >= 0)
    ::close(listener);
  endChildren();
}

void Leader::finish(int code) {
  ended = true;
  offerAll(MessageKind::end, PacketWriter().number(int32_t(code)).bytes);
}

/// They have been told; whoever does not listen is ended, at once where they
/// still wait to be met, or one that is lost may stand still.
void Leader::endChildren() {
  const auto until =
      SteadyClock::now() + std::chrono::seconds(!haveMet     ? 0
                                                : isRankLost ? 1
                                                             : 5);
  for (pid_t &child : children)
    while (child > 0) {
      if (::waitpid(child, nullptr, WNOHANG) != 0)
        child = 0;
      else if (SteadyClock::now() > until)
        ::kill(child, SIGKILL);
      else
        std::this_thread::sleep_for(milliseconds(5));
    }
}

void Leader::watch(Machine &watched) {
  isWatched = true;
  meeting.join();
  {
    std::lock_guard lock(mutex);
    machine = &watched;
    for (Peer &peer : peers)
      peer.heard = SteadyClock::now();
  }
  listening = std::thread([this] { listen(); });
}

//===----------------------------------------------------------------------===//
// What is heard
//===----------------------------------------------------------------------===//

void Leader::listen() {
  std::vector<pollfd> events(peers.size(), pollfd{-1, POLLIN, 0});
  for (size_t rank = 1; rank < peers.size(); ++rank)
    events[rank].fd = peers[rank].channel->descriptor();
  while (!ended) {
    ::poll(events.data(), events.size(), 200);
    const auto now = SteadyClock::now();
    for (int rank = 1; rank < launch.count && !ended; ++rank) {
      try {
        if (events[rank].fd >= 0 && events[rank].revents) {
          hear(rank, peers[rank].channel->receive(silence, mostContents));
          peers[rank].heard = SteadyClock::now();
        } else if (now - peers[rank].heard > silence) {
          throw Error("nothing was heard of it for " +
                      std::to_string(silence.count()) + " s");
        }
      } catch (const Error &error) {
        if (events[rank].fd >= 0)
          lost(rank, error.what());
        events[rank].fd = -1;
        peers[rank].heard = SteadyClock::time_point::max();
      }
    }
    beat();
  }
}

void Leader::hear(int rank, const Received &message) {
  PacketReader reader(message.contents);
  switch (message.kind) {
  case MessageKind::reply: {
    const auto request = reader.number<int64_t>();
    std::lock_guard lock(mutex);
    auto found = answers.find(request);
    if (found == answers.end())
      throw Error("it answers what nobody has asked");
    const std::string_view bytes = reader.rest();
    found->second.data += bytes;
    found->second.arrived += static_cast<int64_t>(bytes.size());
    changed.notify_all();
    return;
  }
  case MessageKind::failed: {
    const std::string who = rankText(rank, peers[rank].hello.host);
    if (reader.number<int32_t>() == RankLost::exitCode)
      stopAll(reader.text() + ", says " + who, /*isLoss=*/true);
    else
      stopAll("[" + who + "] " + reader.text(), /*isLoss=*/false);
    return;
  }
  case MessageKind::stop:
    StopSignals::request(reader.number<int32_t>());
    return;
  default:
    return; // it is alive
  }
}

void Leader::lost(int rank, const std::string &why) {
  stopAll(rankText(rank, peers[rank].hello.host) + " was lost: " + why, true);
}

/// The first reason counts.
void Leader::stopAll(const std::string &text, bool isLoss) {
  Machine *running = nullptr;
  {
    std::lock_guard lock(mutex);
    if (!loss.empty() || ended)
      return;
    loss = text;
    isRankLost = isLoss;
    if (isLoss)
      loss += "; behind step " + countText(steps) +
              (checkpoint.empty()
                   ? ", and there is no checkpoint to continue from"
                   : ", the last checkpoint is " + checkpoint +
                         " (--resume=auto continues it, on any number of "
                         "ranks)");
    running = machine;
  }
  changed.notify_all();
  if (running)
    running->stop(isLoss ? std::make_exception_ptr(RankLost(loss))
                         : std::make_exception_ptr(Error(loss)));
  tellAll(MessageKind::abort,
          PacketWriter()
              .number(int32_t(isLoss ? RankLost::exitCode : 1))
              .text(loss)
              .bytes);
}

//===----------------------------------------------------------------------===//
// What is asked
//===----------------------------------------------------------------------===//

void Leader::tell(int rank, MessageKind kind, std::string_view contents) {
  try {
    peers[rank].channel->send(kind, contents);
  } catch (const Error &error) {
    lost(rank, error.what());
  }
}

void Leader::tellAll(MessageKind kind, std::string_view contents) {
  for (int rank = 1; rank < launch.count; ++rank)
    tell(rank, kind, contents);
}

void Leader::throwIfLost() {
  std::lock_guard lock(mutex);
  if (loss.empty())
    return;
  if (isRankLost)
    throw RankLost(loss);
  throw Error(loss);
}

void Leader::record(const char *name) {
  tellAll(MessageKind::record, name);
  throwIfLost();
}

int Leader::openLoader(const std::string &settings) {
  tellAll(MessageKind::openLoader, settings);
  throwIfLost();
  return loaders++;
}

void Leader::stage(int loader) {
  tellAll(MessageKind::stage, PacketWriter().number(int32_t(loader)).bytes);
}

void Leader::run(int sequence) {
  tellAll(MessageKind::run, PacketWriter().number(int32_t(sequence)).bytes);
  throwIfLost();
}

void Leader::measure() {
  tellAll(MessageKind::measure);
  throwIfLost();
}

void Leader::write(int device, int64_t offset, const void *data,
                   int64_t bytes) {
  const auto *at = static_cast<const char *>(data);
  for (int64_t done = 0; done < bytes; done += pieceBytes) {
    const int64_t piece = std::min(pieceBytes, bytes - done);
    PacketWriter writer;
    writer.number(int32_t(device)).number(offset + done);
    writer.bytes.append(at + done, static_cast<size_t>(piece));
    tell(team.ofDevice[device], MessageKind::write, writer.bytes);
  }
  throwIfLost();
}

int64_t Leader::askFor(int device, int64_t offset, int64_t bytes) {
  int64_t request;
  {
    std::lock_guard lock(mutex);
    request = requests++;
    answers[request].bytes = bytes;
  }
  tell(team.ofDevice[device], MessageKind::read,
       PacketWriter()
           .number(request)
           .number(int32_t(device))
           .number(offset)
           .number(bytes)
           .bytes);
  return request;
}

void Leader::await(int64_t request, void *data) {
  Answer answer;
  {
    std::unique_lock lock(mutex);
    Answer &expected = answers.at(request);
    changed.wait(lock, [&] {
      return !loss.empty() || expected.arrived == expected.bytes;
    });
    answer = std::move(expected);
    answers.erase(request);
  }
  if (answer.arrived < answer.bytes)
    throwIfLost();
  std::memcpy(data, answer.data.data(), answer.data.size());
}

void Leader::saved(int64_t step, const std::string &path) {
  {
    std::lock_guard lock(mutex);
    steps = step;
    if (path == checkpoint)
      return;
    checkpoint = path;
  }
  tellAll(MessageKind::saved, PacketWriter().text(path).bytes);
}

} // namespace lwcc::rt::train
