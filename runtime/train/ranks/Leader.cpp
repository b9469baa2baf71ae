//===- Leader.cpp - Rank 0 and what it asks of the others -----------------===//

#include "runtime/train/ranks/Leader.h"

#include "runtime/train/files/Text.h"
#include "runtime/train/loop/Signals.h"

#include <algorithm>
#include <cstring>
#include <fstream>
#include <set>

#include <poll.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

namespace lwcc::rt::train {

using SteadyClock = std::chrono::steady_clock;
using std::chrono::milliseconds;

/// What one message carries of a tensor.
static constexpr int64_t pieceBytes = int64_t(16) << 20;

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
  if (!ended) // what is thrown says why, where it is caught
    finish(1);
  ended = true;
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
  for (size_t rank = 1; rank < peers.size(); ++rank)
    if (peers[rank].channel)
      try {
        peers[rank].channel->send(MessageKind::end,
                                  PacketWriter().number(int32_t(code)).bytes);
      } catch (const Error &) { // it is gone: nobody waits for it
      }
}

/// They have been told; whoever does not listen is ended, at once where one
/// that is lost may stand still.
void Leader::endChildren() {
  const auto until =
      SteadyClock::now() + std::chrono::seconds(isRankLost ? 1 : 5);
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

//===----------------------------------------------------------------------===//
// Meeting
//===----------------------------------------------------------------------===//

void Leader::refuse(const std::string &why) {
  ended = true;
  for (Peer &peer : peers)
    if (peer.channel)
      try {
        peer.channel->send(MessageKind::refused, why);
      } catch (const Error &) { // it is told nothing, then
      }
  throw Error(why);
}

/// A rank that --ranks started and that is gone will not come.
void Leader::checkChildren() {
  for (size_t i = 0; i < children.size(); ++i) {
    int status = 0;
    if (peers[i + 1].channel || children[i] == 0 ||
        ::waitpid(children[i], &status, WNOHANG) != children[i])
      continue;
    children[i] = 0;
    refuse("rank " + std::to_string(i + 1) + " ended before it met the others" +
           (WIFSIGNALED(status)
                ? " (signal " + std::to_string(WTERMSIG(status)) + ")"
                : ""));
  }
}

/// Takes a connection in, if it knows the secret.
void Leader::admit(int socket, std::vector<std::string> &turnedAway) {
  Peer peer;
  peer.channel = std::make_unique<Channel>(socket);
  try {
    const Received message =
        peer.channel->receive(milliseconds(2000), mostBefore);
    if (message.kind != MessageKind::hello)
      throw Error("it does not say who it is");
    peer.hello = Hello::from(message.contents);
  } catch (const Error &error) {
    turnedAway.push_back(error.what());
    return;
  }
  const Hello &hello = peer.hello;
  std::string why;
  if (hello.secret != launch.secret)
    why = "it has another LWCC_SECRET";
  else if (hello.count != launch.count)
    why = "it is one of " + std::to_string(hello.count) + " ranks, not of " +
          std::to_string(launch.count);
  else if (hello.rank < 1 || hello.rank >= launch.count)
    why = "there is no rank " + std::to_string(hello.rank);
  if (!why.empty()) {
    turnedAway.push_back(rankText(hello.rank, hello.host) + ": " + why);
    try {
      peer.channel->send(MessageKind::refused,
                         "rank 0 turns this one away: " + why);
    } catch (const Error &) { // gone already
    }
    return;
  }
  Peer &seat = peers[hello.rank];
  if (seat.channel) {
    const std::string both = "two processes are rank " +
                             std::to_string(hello.rank) + " (" +
                             seat.hello.host + ", " + hello.host + ")";
    try {
      peer.channel->send(MessageKind::refused, both);
    } catch (const Error &) { // gone already
    }
    refuse(both);
  }
  seat = std::move(peer);
}

void Leader::meet() {
  const std::chrono::seconds patience = startPatience();
  const auto until = SteadyClock::now() + patience;
  std::vector<std::string> turnedAway;
  auto missing = [&] {
    std::string names;
    for (int rank = 1; rank < launch.count; ++rank)
      if (!peers[rank].channel)
        names += (names.empty() ? "" : ", ") + std::to_string(rank);
    return names;
  };
  while (!missing().empty()) {
    pollfd event = {listener, POLLIN, 0};
    if (::poll(&event, 1, 100) > 0)
      if (int socket = ::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
          socket >= 0)
        admit(socket, turnedAway);
    checkChildren();
    if (SteadyClock::now() < until)
      continue;
    std::string why = "of " + plural(launch.count, "rank") +
                      " these did not come to " + launch.host + ":" +
                      std::to_string(port) + " within " +
                      std::to_string(patience.count()) + " s: " + missing();
    for (const std::string &other : turnedAway)
      why += "\n  turned away: " + other;
    refuse(why);
  }
  ::close(listener);
  listener = -1;
}

/// All ranks run one binary.
void Leader::checkAlike() {
  std::string others;
  for (int rank = 1; rank < launch.count; ++rank)
    if (const Hello &hello = peers[rank].hello; hello.binary != own.binary)
      others += "\n  " + rankText(rank, hello.host) + ": another file, of " +
                hello.model + ", compiled by " + hello.compiler;
  if (!others.empty())
    refuse("all ranks must run the same program; " + rankText(0, own.host) +
           " runs one of " + own.model + ", compiled by " + own.compiler +
           others);
}

void Leader::gather(
    int64_t threads,
    const std::vector<std::pair<std::string, std::string>> &flags,
    const std::vector<DataMark> &data) {
  meet();
  checkAlike();
  std::map<std::string, int> cores{{own.kernel, own.cores}};
  for (int rank = 1; rank < launch.count; ++rank)
    cores.emplace(peers[rank].hello.kernel, peers[rank].hello.cores);
  for (const auto &[kernel, count] : cores)
    allThreads += count;
  if (threads > 0)
    allThreads = static_cast<int>(threads);
  tellAll(MessageKind::welcome, Welcome{allThreads, flags}.packed());

  // Reading a large folder takes its time, and is the same work for all.
  std::vector<std::string> addresses = {transport->address()};
  std::string problems;
  for (int rank = 1; rank < launch.count; ++rank) {
    Peer &peer = peers[rank];
    const std::string who = "\n  " + rankText(rank, peer.hello.host) + ": ";
    addresses.emplace_back();
    try {
      Received answer{};
      do
        answer = peer.channel->receive(silence, mostContents);
      while (answer.kind == MessageKind::alive);
      PacketReader reader(answer.contents);
      if (answer.kind == MessageKind::failed) {
        reader.number<int32_t>();
        problems += who + reader.text();
        continue;
      }
      addresses.back() = reader.text();
      std::vector<DataMark> found(reader.number<uint64_t>() % 8);
      for (DataMark &mark : found) {
        mark.samples = reader.number<int64_t>();
        mark.labels = reader.number<uint64_t>();
      }
      for (size_t i = 0; i < data.size(); ++i)
        if (i >= found.size() || found[i] != data[i])
          problems +=
              who +
              (i == 0 ? "its training data are" : "its validation data are") +
              " others: " + countText(i < found.size() ? found[i].samples : 0) +
              " samples, " + countText(data[i].samples) + " for rank 0" +
              (i < found.size() && found[i].samples == data[i].samples
                   ? ", with other labels"
                   : "");
    } catch (const Error &error) {
      problems += who + error.what();
    }
  }
  if (!problems.empty())
    refuse("not all ranks can train:" + problems);
  PacketWriter all;
  std::vector<UcxPeer> reached;
  for (int rank = 0; rank < launch.count; ++rank) {
    const std::string &kernel = (rank ? peers[rank].hello : own).kernel;
    all.text(addresses[rank]).text(kernel);
    reached.push_back({addresses[rank], kernel == own.kernel});
  }
  tellAll(MessageKind::peers, all.bytes);
  transport->setPeers(std::move(reached));
}

void Leader::watch(Machine &watched) {
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
  auto beat = SteadyClock::now();
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
    if (now - beat >= heartbeat) {
      beat = now;
      tellAll(MessageKind::alive);
    }
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
    const bool isLoss = reader.number<int32_t>() == RankLost::exitCode;
    stopAll("[" + rankText(rank, peers[rank].hello.host) + "] " + reader.text(),
            isLoss);
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
