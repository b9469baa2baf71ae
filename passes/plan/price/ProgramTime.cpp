//===- ProgramTime.cpp - How long a program's step takes ------------------===//

#include "passes/plan/price/ProgramTime.h"
#include "passes/plan/machine/Links.h"
#include "passes/plan/price/LaneSharing.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringMap.h"

#include <cmath>
#include <map>
#include <optional>
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
  Player(ProgramTime &time, const Machine &machine, const CostModel &costs);

  /// Plays all items.
  void play();
  /// When the last lane is done.
  double end() const;
  /// What the lanes lose before a step.
  double starting() const;

private:
  void playInOrder();
  void playByTime();
  CostModel::Answer begin(int number, int lane);
  double slowedDown(llvm::StringRef device, double begin, double seconds);
  void finish(int number, int lane, double seconds, double deviation);

  ProgramTime &time;
  const Machine &machine;
  std::vector<CostModel> costsOf; ///< of each lane
  BusyLinks links;
  std::vector<Moment> free;     ///< of each lane: when it can go on
  std::vector<Moment> recorded; ///< of each event
  /// Of each device: when its last kernel ends, transfers beside which later
  /// ones may run, from when to when, and what the next one owes to those
  /// beside kernels before.
  struct Beside {
    double busyUntil = 0;
    std::vector<std::pair<double, double>> transfers;
    double owed = 0;
  };
  llvm::StringMap<Beside> beside;
  /// Of each device: its compute lanes, and their threads.
  struct Compute {
    int lanes = 0;
    int64_t threads = 0;
  };
  llvm::StringMap<Compute> compute;
};
} // namespace

Player::Player(ProgramTime &time, const Machine &machine,
               const CostModel &costs)
    : time(time), machine(machine), links(machine),
      free(time.program.lanes.size()), recorded(time.program.events) {
  for (const Program::Lane &lane : time.program.lanes)
    if (!lane.copies) {
      compute[lane.device].lanes += 1;
      compute[lane.device].threads += lane.threads;
    }
  for (const Program::Lane &lane : time.program.lanes)
    costsOf.push_back(
        lane.copies
            ? costs
            : costs.forLane(static_cast<double>(lane.threads) /
                            static_cast<double>(compute[lane.device].threads)));
}

/// Starts a call: what it takes if no other lane of the device slows it down.
CostModel::Answer Player::begin(int number, int at) {
  const Program::Lane &lane = time.program.lanes[at];
  const PricedCall &priced = time.program.calls[number].priced;
  CostModel::Answer answer = costsOf[at].answer(priced.work);
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
  if (!lane.copies) {
    answer.seconds = slowedDown(lane.device, free[at].mean, answer.seconds);
  } else if (answer.from == CostModel::Answer::analytic) {
    Beside &other = beside[lane.device];
    const double begin = free[at].mean, end = begin + answer.seconds;
    other.owed += machine.transferSlowdown *
                  std::max(0.0, std::min(end, other.busyUntil) - begin);
    if (end > other.busyUntil)
      other.transfers.push_back({std::max(begin, other.busyUntil), end});
  }
  return answer;
}

/// How long a kernel takes beside the transfers of its device. They slow each
/// moment down once: those that kernels before have met count as what is owed.
double Player::slowedDown(llvm::StringRef device, double begin,
                          double seconds) {
  Beside &other = beside[device];
  const double end = begin + seconds;
  double together = 0;
  for (auto &[from, to] : other.transfers) {
    together += std::max(0.0, std::min(to, end) - std::max(from, begin));
    from = std::max(from, end);
  }
  llvm::erase_if(other.transfers, [](const auto &transfer) {
    return transfer.first >= transfer.second;
  });
  return seconds + std::exchange(other.owed, 0) +
         machine.transferSlowdown * together;
}

void Player::finish(int number, int lane, double seconds, double deviation) {
  time.calls.push_back({number, lane, free[lane].mean, seconds});
  free[lane].mean += seconds;
  free[lane].variance += deviation * deviation;
  if (const Program::Lane &of = time.program.lanes[lane]; !of.copies) {
    double &until = beside[of.device].busyUntil;
    until = std::max(until, free[lane].mean);
  }
}

/// In the order of appending, which tells all that a lane waits for before it
/// does: enough where no call's time depends on what other lanes do meanwhile.
void Player::playInOrder() {
  for (const Program::Item &item : time.program.items) {
    Moment &lane = free[item.lane];
    switch (item.kind) {
    case Program::Item::record:
      recorded[item.number] = lane;
      break;
    case Program::Item::wait:
      lane =
          afterWait(lane, recorded[item.number], costsOf[item.lane].waking());
      break;
    case Program::Item::call: {
      CostModel::Answer answer = begin(item.number, item.lane);
      finish(item.number, item.lane, answer.seconds, answer.deviation);
    }
    }
  }
}

/// From event to event, for devices whose lanes share them (LaneSharing.h).
void Player::playByTime() {
  const size_t lanes = free.size();
  std::map<llvm::StringRef, int> devices;
  std::vector<int> deviceOf;
  for (const Program::Lane &lane : time.program.lanes)
    deviceOf.push_back(
        devices.try_emplace(lane.device, static_cast<int>(devices.size()))
            .first->second);
  LaneSharing sharing(deviceOf);
  std::vector<std::vector<Program::Item>> items(lanes);
  for (const Program::Item &item : time.program.items)
    items[item.lane].push_back(item);
  std::vector<size_t> at(lanes, 0);
  std::vector<double> deviations(lanes, 0);
  std::vector<bool> isRecorded(time.program.events, false);
  std::vector<std::vector<int>> waiting(time.program.events);
  std::vector<bool> isWaiting(lanes, false);
  // Lets a lane, and those that it sets free, go as far as they can now.
  auto go = [&](int first) {
    llvm::SmallVector<int> ready = {first};
    while (!ready.empty()) {
      int lane = ready.pop_back_val();
      isWaiting[lane] = false;
      while (at[lane] < items[lane].size() &&
             free[lane].mean <= sharing.now()) {
        const Program::Item &item = items[lane][at[lane]];
        if (item.kind == Program::Item::call) {
          CostModel::Answer answer = begin(item.number, lane);
          deviations[lane] = answer.deviation;
          sharing.start(lane, answer.seconds,
                        time.program.lanes[lane].copies
                            ? DeviceUse()
                            : DeviceUse{answer.processors, answer.memory});
          break;
        }
        if (item.kind == Program::Item::wait && !isRecorded[item.number]) {
          waiting[item.number].push_back(lane);
          isWaiting[lane] = true;
          break;
        }
        ++at[lane];
        if (item.kind == Program::Item::wait) {
          free[lane] = afterWait(free[lane], recorded[item.number],
                                 costsOf[lane].waking());
          continue;
        }
        recorded[item.number] = free[lane];
        isRecorded[item.number] = true;
        ready.append(waiting[item.number].begin(), waiting[item.number].end());
        waiting[item.number].clear();
      }
    }
  };
  for (size_t lane = 0; lane < lanes; ++lane)
    if (!sharing.isRunning(lane) && !isWaiting[lane])
      go(static_cast<int>(lane));
  while (true) {
    // What comes next: the end of a call, or a lane that has woken up.
    std::optional<std::pair<int, double>> next = sharing.nextEnd();
    for (size_t lane = 0; lane < lanes; ++lane)
      if (at[lane] < items[lane].size() && !isWaiting[lane] &&
          !sharing.isRunning(lane) && (!next || free[lane].mean < next->second))
        next = {static_cast<int>(lane), free[lane].mean};
    if (!next)
      break;
    auto [lane, then] = *next;
    sharing.advance(std::max(then, sharing.now()));
    if (sharing.isRunning(lane)) {
      sharing.finish(lane);
      finish(items[lane][at[lane]++].number, lane, then - free[lane].mean,
             deviations[lane]);
    }
    go(lane);
  }
  llvm::sort(time.calls,
             [](const ProgramTime::TimedCall &a,
                const ProgramTime::TimedCall &b) { return a.call < b.call; });
}

void Player::play() {
  bool shared =
      !machine.oneProcessor && llvm::any_of(compute, [](const auto &device) {
        return device.second.lanes > 1;
      });
  shared ? playByTime() : playInOrder();
}

double Player::end() const {
  Moment end;
  for (const Moment &lane : free)
    end = afterWait(end, lane, 0);
  return end.mean;
}

double Player::starting() const {
  double most = 0;
  for (const CostModel &lane : costsOf)
    most = std::max(most, lane.starting());
  return most;
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
  player.play();
  time.step = player.end() + player.starting();
  return time;
}
