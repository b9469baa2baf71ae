//===- LeaderMeeting.cpp - How ranks come together ------------------------===//
//
// Rank 0's side: who may take part, what all are told, and what must be alike.
//
//===----------------------------------------------------------------------===//

#include "runtime/train/files/Text.h"
#include "runtime/train/ranks/Leader.h"

#include <algorithm>
#include <map>
#include <utility>

#include <poll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

namespace lwcc::rt::train {

using SteadyClock = std::chrono::steady_clock;
using std::chrono::milliseconds;

void Leader::refuse(const std::string &why) {
  ended = true;
  offerAll(MessageKind::refused, why);
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
void Leader::admit(std::unique_ptr<Channel> caller,
                   std::vector<std::string> &turnedAway) {
  Peer peer;
  peer.channel = std::move(caller);
  try {
    const Received message = peer.channel->receive(milliseconds(0), mostBefore);
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
    peer.channel->tryToSend(MessageKind::refused,
                            "rank 0 turns this one away: " + why);
    return;
  }
  Peer &seat = peers[hello.rank];
  if (seat.channel) {
    const std::string both = "two processes are rank " +
                             std::to_string(hello.rank) + " (" +
                             seat.hello.host + ", " + hello.host + ")";
    peer.channel->tryToSend(MessageKind::refused, both);
    refuse(both);
  }
  seat = std::move(peer);
}

void Leader::meet() {
  const std::chrono::seconds patience = startPatience();
  const auto until = SteadyClock::now() + patience;
  std::vector<std::string> turnedAway;
  // Connections that have not said who they are; each has some time for it.
  struct Caller {
    std::unique_ptr<Channel> channel;
    SteadyClock::time_point until;
  };
  std::vector<Caller> callers;
  auto hear = [&](Caller &caller) {
    if (!caller.channel->hasMessage(mostBefore) &&
        SteadyClock::now() < caller.until)
      return false;
    admit(std::move(caller.channel), turnedAway);
    return true;
  };
  auto missing = [&] {
    std::string names;
    for (int rank = 1; rank < launch.count; ++rank)
      if (!peers[rank].channel)
        names += (names.empty() ? "" : ", ") + std::to_string(rank);
    return names;
  };
  while (!missing().empty() && !ended) {
    beat();
    std::vector<pollfd> events = {{listener, POLLIN, 0}};
    for (const Caller &caller : callers)
      events.push_back({caller.channel->descriptor(), POLLIN, 0});
    ::poll(events.data(), events.size(), 100);
    if (events[0].revents)
      if (int socket = ::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
          socket >= 0)
        callers.push_back({std::make_unique<Channel>(socket),
                           SteadyClock::now() + milliseconds(2000)});
    std::erase_if(callers, hear);
    checkChildren();
    if (SteadyClock::now() < until)
      continue;
    std::string why = "of " + plural(launch.count, "rank") +
                      " these did not come to " + launch.host + ":" +
                      std::to_string(port) + " within " +
                      std::to_string(patience.count()) + " s: " + missing();
    constexpr size_t mostNamed = 8;
    for (size_t i = 0; i < std::min(turnedAway.size(), mostNamed); ++i)
      why += "\n  turned away: " + turnedAway[i];
    if (turnedAway.size() > mostNamed)
      why += "\n  turned away: " +
             countText(int64_t(turnedAway.size() - mostNamed)) + " more";
    refuse(why);
  }
  ::close(listener);
  listener = -1;
}

void Leader::offerAll(MessageKind kind, std::string_view contents) {
  for (Peer &peer : peers)
    if (peer.channel)
      peer.channel->tryToSend(kind, contents);
}

/// Every second a sign of life to those that are here.
void Leader::beat() {
  const auto now = SteadyClock::now();
  if (now - beaten < heartbeat)
    return;
  beaten = now;
  offerAll(MessageKind::alive);
}

/// From the start, so that whoever waits for rank 0 knows that it works.
void Leader::meetAndBeat() {
  std::string why;
  try {
    meet();
  } catch (const Error &error) {
    why = error.what();
  }
  {
    std::lock_guard lock(mutex);
    haveMet = why.empty() && !ended;
    refusal = why;
  }
  changed.notify_all();
  for (; !ended && !isWatched; std::this_thread::sleep_for(milliseconds(20)))
    beat();
}

/// All ranks run one binary.
void Leader::checkAlike() {
  std::string others;
  for (int rank = 1; rank < launch.count; ++rank)
    if (const Hello &hello = peers[rank].hello; hello.binary != own.binary)
      others += "\n  " + rankText(rank, hello.host) + ": another one, of " +
                hello.model + ", compiled by " + hello.compiler;
  if (!others.empty())
    refuse("all ranks must run the same program; " + rankText(0, own.host) +
           " runs one of " + own.model + ", compiled by " + own.compiler +
           others);
}

void Leader::awaitMeeting() {
  std::unique_lock lock(mutex);
  changed.wait(lock, [&] { return haveMet || !refusal.empty(); });
  if (!haveMet)
    throw Error(refusal);
}

/// Of all machines, each counted once.
int Leader::countCores() const {
  std::map<std::string, int> cores{{own.kernel, own.cores}};
  for (int rank = 1; rank < launch.count; ++rank)
    cores.emplace(peers[rank].hello.kernel, peers[rank].hello.cores);
  int all = 0;
  for (const auto &[kernel, count] : cores)
    all += count;
  return all;
}

/// How what a rank has found differs from what this one has; a line for each.
static std::string differencesOf(const std::string &who, PacketReader &reader,
                                 const std::vector<DataMark> &data) {
  std::vector<DataMark> found(reader.number<uint64_t>() % 8);
  for (DataMark &mark : found) {
    mark.samples = reader.number<int64_t>();
    mark.labels = reader.number<uint64_t>();
  }
  found.resize(data.size()); // what it has not found has no samples
  std::string text;
  for (size_t i = 0; i < data.size(); ++i)
    if (found[i] != data[i])
      text +=
          who + (i == 0 ? "its training" : "its validation") +
          " data are others: " + countText(found[i].samples) + " samples, " +
          countText(data[i].samples) + " for rank 0" +
          (found[i].samples == data[i].samples ? ", with other labels" : "");
  return text;
}

/// What all have prepared: the addresses of their transports.
std::vector<std::string>
Leader::awaitPrepared(const std::vector<DataMark> &data) {
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
      problems += differencesOf(who, reader, data);
    } catch (const Error &error) {
      problems += who + error.what();
    }
  }
  if (!problems.empty())
    refuse("not all ranks can train:" + problems);
  return addresses;
}

void Leader::gather(
    int64_t threads,
    const std::vector<std::pair<std::string, std::string>> &flags,
    const std::vector<DataMark> &data) {
  awaitMeeting();
  checkAlike();
  allThreads = threads > 0 ? static_cast<int>(threads) : countCores();
  tellAll(MessageKind::welcome, Welcome{allThreads, flags}.packed());
  const std::vector<std::string> addresses = awaitPrepared(data);
  PacketWriter all;
  std::vector<UcxPeer> reached;
  for (int rank = 0; rank < launch.count; ++rank) {
    const std::string &kernel = (rank ? peers[rank].hello : own).kernel;
    all.text(addresses[rank]).text(kernel);
    team.hosts.push_back(kernel);
    reached.push_back({addresses[rank], kernel == own.kernel});
  }
  tellAll(MessageKind::peers, all.bytes);
  transport->setPeers(std::move(reached));
}

} // namespace lwcc::rt::train
