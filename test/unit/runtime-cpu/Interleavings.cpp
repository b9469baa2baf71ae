//===- Interleavings.cpp - Runs ranks in an order of one's choice ---------===//

#include "Interleavings.h"

#include <algorithm>

namespace lwcc::rt::exchange {

/// In the memory of another rank nothing is known, until it is sent.
static constexpr int unknown = -1;
/// Of a message: taken, put, and arrived.
static constexpr int messageStates = 3;

Interleavings::Interleavings(const RankProgram &program,
                             const Messages &messages)
    : program(program), messages(messages) {
  const int count = static_cast<int>(program.steps.size());
  const size_t devices = program.ranks.size();
  ofLane.resize(program.devices.size());
  // In the order of appending, in memory that all share.
  Memory last(devices, std::vector<int>(RankProgram::deviceBytes, -1));
  for (int i = 0; i < count; ++i) {
    const Step &step = program.steps[i];
    ofLane[step.lane].push_back(i);
    auto &values = expected.emplace_back();
    auto &from = readPlaces.emplace_back();
    auto &to = writePlaces.emplace_back();
    for (const Region &region : step.reads) {
      from.push_back(placesOf(program, region));
      std::vector<int> &all = values.emplace_back();
      for (int at : from.back())
        all.push_back(last[region.device][at]);
    }
    for (const Region &region : step.writes) {
      to.push_back(placesOf(program, region));
      for (int at : to.back())
        last[region.device][at] = i;
    }
  }
  for (const Message &message : messages.messages)
    messagePlaces.push_back(placesOf(program, message.region));
  behind.resize(count);
  int actor = static_cast<int>(ofLane.size());
  for (const Message &message : messages.messages) {
    for (int writer : message.writers)
      behind[writer].push_back(actor);
    ++actor;
  }
  for (const News &news : messages.news)
    behind[news.record].push_back(actor++);
  int ranks = 0;
  for (int rank : program.ranks)
    ranks = std::max(ranks, rank + 1);
  memory.assign(ranks, Memory(devices, std::vector<int>(
                                           RankProgram::deviceBytes, unknown)));
}

void Interleavings::checkReads(int number) {
  const Step &step = program.steps[number];
  for (size_t r = 0; r < step.reads.size(); ++r) {
    const Region &region = step.reads[r];
    for (size_t i = 0; i < readPlaces[number][r].size(); ++i) {
      const int at = readPlaces[number][r][i];
      const int writer = expected[number][r][i];
      // What a step writes itself while it reads it is its own business.
      const int is = memory[program.rankOf(number)][region.device][at];
      const bool isOwn = is == -versionOf(number) || is == versionOf(number);
      const int wanted =
          writer >= 0 ? versionOf(writer) : before[region.device][at];
      if (is != wanted && !(isOwn && region.device == step.device))
        fault = "step " + std::to_string(number) + " reads " +
                std::to_string(is) + " instead of " + std::to_string(wanted) +
                " at byte " + std::to_string(at) + " of device " +
                std::to_string(region.device);
    }
  }
}

void Interleavings::write(int number, int version) {
  const Step &step = program.steps[number];
  for (size_t w = 0; w < step.writes.size(); ++w)
    for (int at : writePlaces[number][w])
      memory[program.rankOf(number)][step.writes[w].device][at] = version;
}

bool Interleavings::isAble(const Actor &lane) const {
  const std::vector<int> &mine = ofLane[lane.number];
  if (lane.state == static_cast<int>(2 * mine.size()))
    return false;
  if (lane.state % 2 == 1)
    return true;
  const int number = mine[lane.state / 2];
  const Step &step = program.steps[number];
  return std::all_of(messages.awaits[number].begin(),
                     messages.awaits[number].end(),
                     [&](int message) { return arrived[message]; }) &&
         (step.kind != Step::wait ||
          isRecorded[program.rankOf(number)][step.event]);
}

void Interleavings::actOfLane(Actor &lane) {
  const int number = ofLane[lane.number][lane.state / 2];
  const Step &step = program.steps[number];
  checkReads(number);
  if (lane.state++ % 2 == 0)
    return write(number, -versionOf(number)); // while it is written
  write(number, versionOf(number));
  if (step.kind == Step::record)
    isRecorded[program.rankOf(number)][step.event] = true;
  for (int actor : behind[number])
    if (--actors[actor].left == 0)
      able.push_back(actor);
}

void Interleavings::actOfMessage(Actor &actor) {
  const Message &message = messages.messages[actor.number];
  const int device = message.region.device;
  std::vector<int> &parcel = parcels[actor.number];
  const std::vector<int> &places = messagePlaces[actor.number];
  switch (actor.state++) {
  case 0: // it is taken
    for (int at : places)
      parcel.push_back(memory[message.from][device][at]);
    break;
  case 1: // and put
    for (size_t i = 0; i < places.size(); ++i)
      memory[message.to][device][places[i]] = parcel[i];
    break;
  default:
    arrived[actor.number] = true;
    for (int event : message.events)
      isRecorded[message.to][event] = true;
  }
}

void Interleavings::act(int number) {
  Actor &actor = actors[number];
  if (actor.kind == Actor::lane)
    return actOfLane(actor);
  if (actor.kind == Actor::message) {
    actOfMessage(actor);
  } else {
    const News &news = messages.news[actor.number];
    isRecorded[news.to][news.event] = true;
    actor.state = messageStates;
  }
  if (actor.state == messageStates)
    std::erase(able, number);
}

void Interleavings::begin() {
  for (size_t device = 0; device < program.ranks.size(); ++device)
    before[device] = memory[program.ranks[device]][device];
  actors.clear();
  able.clear();
  for (size_t lane = 0; lane < ofLane.size(); ++lane)
    actors.push_back({Actor::lane, static_cast<int>(lane)});
  for (size_t m = 0; m < messages.messages.size(); ++m) {
    const int left = static_cast<int>(messages.messages[m].writers.size());
    if (left == 0)
      able.push_back(static_cast<int>(actors.size()));
    actors.push_back({Actor::message, static_cast<int>(m), 0, left});
  }
  for (size_t n = 0; n < messages.news.size(); ++n)
    actors.push_back({Actor::news, static_cast<int>(n), 0, 1});
  arrived.assign(messages.messages.size(), false);
  isRecorded.assign(memory.size(), std::vector<bool>(program.events()));
  parcels.assign(messages.messages.size(), {});
  fault.clear();
}

/// `special` is an actor, or -1. A message that is late is so from a state on.
std::string Interleavings::runOnce(Random &random, int special, bool isLast,
                                   int lateFrom) {
  begin();
  size_t left = 0; // steps begun and ended
  for (const std::vector<int> &steps : ofLane)
    left += 2 * steps.size();
  std::vector<int> choices;
  while (left > 0) {
    choices = able;
    for (size_t lane = 0; lane < ofLane.size(); ++lane)
      if (isAble(actors[lane]))
        choices.push_back(static_cast<int>(lane));
    if (choices.empty())
      return "all wait for ever";
    int next = choices[draw(random, int(choices.size()))];
    auto mine = std::find(choices.begin(), choices.end(), special);
    if (mine != choices.end()) {
      const Actor &actor = actors[special];
      if (!isLast || (actor.kind == Actor::message && actor.state < lateFrom)) {
        next = special;
      } else if (choices.size() > 1) {
        choices.erase(mine);
        next = choices[draw(random, int(choices.size()))];
      }
    }
    act(next);
    left -= actors[next].kind == Actor::lane;
    if (!fault.empty())
      return fault;
  }
  for (const Actor &actor : actors)
    if (actor.kind != Actor::lane && actor.state < messageStates)
      return "something is under way when the run ends";
  return "";
}

/// Twice, as images keep what came in the run before.
std::string Interleavings::run(Random &random, int special, bool isLast,
                               int lateFrom) {
  for (size_t rank = 0; rank < memory.size(); ++rank)
    for (size_t device = 0; device < program.ranks.size(); ++device)
      std::fill(memory[rank][device].begin(), memory[rank][device].end(),
                program.ranks[device] == static_cast<int>(rank) ? 0 : unknown);
  before.assign(program.ranks.size(), {});
  for (runs = 0; runs < 2; ++runs)
    if (std::string wrong = runOnce(random, special, isLast, lateFrom);
        !wrong.empty())
      return wrong;
  return "";
}

std::string Interleavings::runRandomly(Random &random) {
  return run(random, -1, false, 0);
}

std::string Interleavings::runExtremes(Random &random) {
  const size_t all =
      ofLane.size() + messages.messages.size() + messages.news.size();
  for (size_t special = 0; special < all; ++special) {
    const bool isMessage = special >= ofLane.size() &&
                           special < ofLane.size() + messages.messages.size();
    for (int lateFrom = isMessage ? 2 : 0; lateFrom >= 0; --lateFrom)
      if (std::string wrong = run(random, int(special), true, lateFrom);
          !wrong.empty())
        return wrong;
    if (std::string wrong = run(random, int(special), false, 0); !wrong.empty())
      return wrong;
  }
  return "";
}

} // namespace lwcc::rt::exchange
