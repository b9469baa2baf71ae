//===- Interleavings.h - Runs ranks in an order of one's choice -*- C++ -*-===//
//
// What several ranks might do, one action at a time: each rank has memory of
// its own, whose bytes say who wrote them; a step begins and ends; a parcel is
// taken from where it lies, put where it belongs, and arrives. Any order of
// these that the runtime allows (cpu/RankExchange.h) can be asked for: a random
// one, or one in which somebody does everything as late as the others let him,
// or as soon as he can. For two that are not ordered, one of these shows each
// order.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_TEST_UNIT_RUNTIME_CPU_INTERLEAVINGS_H
#define LWCC_TEST_UNIT_RUNTIME_CPU_INTERLEAVINGS_H

#include "RankPrograms.h"

namespace lwcc::rt::exchange {

class Interleavings {
public:
  Interleavings(const RankProgram &program, const Messages &messages);

  /// Runs twice in a random order; what went wrong, or nothing.
  std::string runRandomly(Random &random);
  /// The same for each lane, message and news: with it last, and first.
  std::string runExtremes(Random &random);

private:
  /// What goes on by itself: a lane, a message, or news.
  struct Actor {
    enum Kind { lane, message, news };
    Kind kind;
    int number;
    int state = 0; ///< of a lane: two for each step; of others: how far
    int left = 0;  ///< of others: steps that are not through
  };
  using Memory = std::vector<std::vector<int>>; ///< by device and place

  std::string run(Random &random, int special, bool isLast, int lateFrom);
  std::string runOnce(Random &random, int special, bool isLast, int lateFrom);
  void begin();
  bool isAble(const Actor &lane) const;
  void act(int actor);
  void actOfLane(Actor &lane);
  void actOfMessage(Actor &message);
  void checkReads(int step);
  void write(int step, int version);
  int versionOf(int step) const {
    return runs * static_cast<int>(program.steps.size()) + step + 1;
  }

  const RankProgram &program;
  const Messages &messages;
  std::vector<std::vector<int>> ofLane; ///< steps
  /// By step and region, what each byte must be: the step that wrote it, or -1.
  std::vector<std::vector<std::vector<int>>> expected;
  /// By step, where its regions lie; and of messages.
  std::vector<std::vector<std::vector<int>>> readPlaces, writePlaces;
  std::vector<std::vector<int>> messagePlaces;
  std::vector<std::vector<int>> behind; ///< actors, by step

  int runs = 0;
  std::vector<Memory> memory; ///< by rank
  Memory before;              ///< of the owners, when a run begins
  std::vector<Actor> actors;  ///< lanes first
  std::vector<int> able;      ///< those that are not lanes
  std::vector<bool> arrived;  ///< messages
  std::vector<std::vector<bool>> isRecorded; ///< by rank and event
  std::vector<std::vector<int>> parcels;     ///< by message
  std::string fault;
};

} // namespace lwcc::rt::exchange

#endif // LWCC_TEST_UNIT_RUNTIME_CPU_INTERLEAVINGS_H
