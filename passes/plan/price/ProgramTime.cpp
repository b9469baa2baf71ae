//===- ProgramTime.cpp - How long a program's step takes ------------------===//

#include "passes/plan/price/ProgramTime.h"
#include "passes/plan/machine/Links.h"

#include "llvm/ADT/StringMap.h"

#include <cmath>
#include <set>
#include <utility>

using namespace lwcc;
using namespace lwcc::plan;

namespace {
/// When a lane is expected to reach a point of its work, and the variance of
/// that time. Variance that the lane shares with lanes that it has waited for
/// does not count.
struct Moment {
  double mean = 0, variance = 0;
};
} // namespace

/// When a lane that comes to a wait at `arrival` goes on. If the event comes
/// later, the lane takes `waking` to notice it. The mean is Clark's formula for
/// the expected maximum of two independent normal variables. The lane keeps its
/// own variance as far as it is the later one; else its time is the other
/// lane's.
static Moment afterWait(Moment arrival, Moment event, double waking) {
  double deviation = std::sqrt(arrival.variance + event.variance);
  double lead = arrival.mean - event.mean;
  if (deviation == 0)
    return lead >= 0 ? arrival : Moment{event.mean + waking, 0};
  double ratio = lead / deviation;
  double later = std::erfc(-ratio / std::sqrt(2)) / 2; // the lane is
  double density = std::exp(-ratio * ratio / 2) / std::sqrt(2 * M_PI);
  return {arrival.mean * later + (event.mean + waking) * (1 - later) +
              deviation * density,
          arrival.variance * later};
}

static std::vector<BusyLinks::Source> sourcesOf(const PricedCall &call,
                                                const Machine &machine) {
  std::vector<BusyLinks::Source> sources;
  for (const RemoteRead &read : call.remote)
    sources.push_back({machine.deviceOf(read.device), read.bytes});
  return sources;
}

namespace {
/// A step on its way.
class Player {
public:
  Player(ProgramTime &time, const Machine &machine, const CostModel &costs)
      : time(time), machine(machine), costs(costs), links(machine),
        free(time.program.lanes.size()), recorded(time.program.events) {}

  void play(const Program::Item &item);
  /// When the last lane is done.
  double end() const;

private:
  void call(int number, int lane);

  ProgramTime &time;
  const Machine &machine;
  const CostModel &costs;
  BusyLinks links;
  std::vector<Moment> free;     ///< of each lane: when it can go on
  std::vector<Moment> recorded; ///< of each event
  /// Of each device: what its next kernel loses to transfers beside it.
  llvm::StringMap<double> lost;
};
} // namespace

void Player::play(const Program::Item &item) {
  Moment &lane = free[item.lane];
  switch (item.kind) {
  case Program::Item::record:
    recorded[item.number] = lane;
    return;
  case Program::Item::wait:
    lane = afterWait(lane, recorded[item.number], costs.waking());
    return;
  case Program::Item::call:
    call(item.number, item.lane);
  }
}

void Player::call(int number, int at) {
  const Program::Lane &lane = time.program.lanes[at];
  const PricedCall &priced = time.program.calls[number].priced;
  CostModel::Answer answer = costs.answer(priced.work);
  // Measured times are those of calls that read elsewhere, beside others.
  if (answer.from == CostModel::Answer::analytic)
    answer.seconds =
        std::max(answer.seconds,
                 links.arrival(machine.deviceOf(priced.device),
                               sourcesOf(priced, machine), free[at].mean) -
                     free[at].mean);
  time.all += answer.seconds;
  if (answer.from == CostModel::Answer::measured)
    time.measured += answer.seconds;
  else if (answer.from == CostModel::Answer::interpolated)
    time.interpolated += answer.seconds;
  // Measured times were taken beside transfers.
  double &owed = lost[lane.device];
  if (lane.copies && answer.from == CostModel::Answer::analytic)
    owed += machine.transferSlowdown * answer.seconds;
  else if (!lane.copies)
    answer.seconds += std::exchange(owed, 0);
  time.calls.push_back({number, at, free[at].mean, answer.seconds});
  free[at].mean += answer.seconds;
  free[at].variance += answer.deviation * answer.deviation;
}

double Player::end() const {
  Moment end;
  for (const Moment &lane : free)
    end = afterWait(end, lane, 0);
  return end.mean;
}

double plan::secondsAlone(const PricedCall &call, const Machine &machine,
                          const CostModel &costs) {
  CostModel::Answer answer = costs.answer(call.work);
  if (answer.from != CostModel::Answer::analytic || call.remote.empty())
    return answer.seconds;
  return std::max(answer.seconds, BusyLinks(machine).arrival(
                                      machine.deviceOf(call.device),
                                      sourcesOf(call, machine), /*begin=*/0));
}

ProgramTime plan::timeOf(Program program, const Machine &machine,
                         const CostModel &costs) {
  ProgramTime time;
  time.program = std::move(program);
  time.source = costs.source();
  std::set<llvm::StringRef> devices;
  for (const Program::Lane &lane : time.program.lanes)
    devices.insert(lane.device);
  const CostModel own = costs.forDevices(
      static_cast<int64_t>(std::max<size_t>(1, devices.size())));
  Player player(time, machine, own);
  for (const Program::Item &item : time.program.items)
    player.play(item);
  time.step = player.end() + own.starting();
  return time;
}
