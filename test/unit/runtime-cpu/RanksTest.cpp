//===- RanksTest.cpp - Several machines that run one program --------------===//
//
// Machines of several ranks must leave the same bits as one machine that has
// all devices. With one thread per lane no OpenMP is used, so ThreadSanitizer
// can check all this.
//
//===----------------------------------------------------------------------===//
#include "RankPrograms.h"
#include "RankTeam.h"
#include "runtime/cpu/Map.h"

using namespace lwcc::rt;

namespace {

using RanksTest = WatchedTest;

struct RanksHalf {
  static constexpr int inputs = 2;
  static constexpr bool indexed = false;
  LWCC_HD static float at(const StepScalars &, uint64_t, float x0, float x1) {
    return 0.5f * x0 + x1;
  }
};

/// A step of data parallelism on four devices with two lanes each: maps,
/// parts of sums on each device, an update that sums the gradients of all, and
/// the results of all, put together on each. No two reads of a rank overlap in
/// part: the same bytes may come again while they are read, which is no
/// mistake, but the sanitizer cannot know that.
void trainOnFour(Machine &machine) {
  constexpr int devices = 4;
  constexpr int64_t n = 240;
  auto vector = [&](int device, int slot, int64_t length) {
    return Tensor(machine.arena(device) + 4 * n * slot, DType::f32, {length},
                  Layout::dense);
  };
  auto matrix = [&](int device, int slot) {
    return Tensor(machine.arena(device) + 4 * n * slot, DType::f32, {12, 20},
                  Layout::dense);
  };
  auto columns = [&](const Tensor &whole, int part) {
    const int64_t begin[] = {0, 5 * part}, dims[] = {12, 5};
    return windowOf(whole, begin, dims);
  };
  auto compute = [&](int device) -> Lane & { return machine.lane(2 * device); };
  auto copies = [&](int device) -> Lane & {
    return machine.lane(2 * device + 1);
  };
  int next = 0;
  auto recordOn = [&](Lane &lane) {
    machine.event(next).record(lane);
    return next++;
  };
  auto waitFor = [&](Lane &lane, const std::vector<int> &events) {
    for (int event : events)
      machine.event(event).wait(lane);
  };

  std::vector<int> mapped, summed, moved, updated;
  for (int d = 0; d < devices; ++d) { // slots 1 and 8: gradients
    map<RanksHalf>(compute(d), matrix(d, 1), {matrix(d, 0), matrix(d, 1)});
    map<RanksHalf>(compute(d), matrix(d, 8), {matrix(d, 1), matrix(d, 8)});
    mapped.push_back(recordOn(compute(d)));
  }
  for (int d = 0; d < devices; ++d) { // slot 2: part d of their sum
    waitFor(copies(d), mapped);
    const Tensor part(machine.arena(d) + 4 * n * 2, DType::f32, {12, 5},
                      Layout::dense);
    sum(copies(d), part,
        {columns(matrix(0, 1), d), columns(matrix(1, 1), d),
         columns(matrix(2, 1), d), columns(matrix(3, 1), d)});
    summed.push_back(recordOn(copies(d)));
  }
  for (int d = 0; d < devices; ++d) { // slots 3 and 4: a weight and its state
    waitFor(compute(d), mapped);
    sgd(compute(d), vector(d, 3, n), vector(d, 4, n), vector(d, 3, n),
        vector(d, 4, n),
        Tensor(machine.arena(d) + 4 * n * 10, DType::u8, {64}, Layout::dense),
        Tensor(machine.arena(d) + 4 * n * 11, DType::f32, {}, Layout::dense),
        {vector(3, 8, n), vector(d, 8, n), vector(0, 8, n)}, {});
    updated.push_back(recordOn(compute(d)));
  }
  for (int d = 0; d < devices; ++d) { // slot 5: all sums
    waitFor(copies(d), summed);
    Tensors parts;
    for (int other = 0; other < devices; ++other)
      parts.push_back(Tensor(machine.arena(other) + 4 * n * 2, DType::f32,
                             {12, 5}, Layout::dense));
    concat(copies(d), matrix(d, 5), parts, {.axis = 1});
    moved.push_back(recordOn(copies(d)));
  }
  for (int d = 0; d < devices; ++d) { // slots 6 and 7: of the neighbours'
    waitFor(copies(d), updated);
    transfer(
        copies(d), {vector(d, 6, n), vector(d, 7, n / 2)},
        {vector((d + 1) % devices, 3, n), vector((d + 2) % devices, 4, n / 2)});
    moved.push_back(recordOn(copies(d)));
  }
  for (int d = 0; d < devices; ++d) { // the next step's input, when all is read
    waitFor(compute(d), moved);
    map<RanksHalf>(compute(d), matrix(d, 0), {matrix(d, 5), matrix(d, 6)});
  }
}

/// The numbers of the step and a finite loss.
void fillForTraining(RankTeam &team) {
  team.fill(240 * 10);
  StepScalars scalars;
  scalars.lr = 1e-3f;
  scalars.momentum = 0.9f;
  std::string bytes(64, '\0');
  std::memcpy(bytes.data(), &scalars, sizeof scalars);
  for (int rank = 0; rank < team.size(); ++rank)
    for (int device = 0; device < 4; ++device)
      if (team[rank].isLocal(device))
        std::memcpy(team[rank].arena(device) + 4 * 240 * 10, bytes.data(), 64);
}

TEST_F(RanksTest, OperatorsLeaveTheBitsOfOneMachine) {
  const MachineSpec spec = rankSpecOf(4, 2, 24);
  auto train = [&](const std::vector<int> &ofDevice, int runs) {
    RankTeam team(spec, ofDevice);
    fillForTraining(team);
    team.record(trainOnFour);
    for (int r = 0; r < runs; ++r)
      team.run();
    return team.memory();
  };
  const std::vector<std::string> one = train({}, 25);
  EXPECT_FALSE(train({}, 24) == one);
  EXPECT_TRUE(train({0, 0, 1, 1}, 25) == one);
  EXPECT_TRUE(train({0, 1, 1, 2}, 25) == one);
  EXPECT_TRUE(train({0, 1, 2, 3}, 25) == one);
}

void appendMixing(Machine &machine, const exchange::RankProgram &program) {
  recordProgram(machine, program, [](Lane &lane, const exchange::Mixing &work) {
    cpuLane(lane).append(
        "mix", work.writes, [work] { work.mix(); }, work.reads);
  });
}

TEST_F(RanksTest, RandomProgramsLeaveTheBitsOfOneMachine) {
  exchange::Random random(3);
#ifdef __SANITIZE_THREAD__
  const exchange::Regions regions = exchange::Regions::apart;
#else
  const exchange::Regions regions = exchange::Regions::any;
#endif
  for (int number = 0; number < 60; ++number) {
    const exchange::RankProgram program = randomProgram(random, regions);
    MachineSpec spec =
        rankSpecOf(int(program.ranks.size()), 0, program.events());
    for (int device : program.devices)
      spec.lanes.push_back({device, "lane"});
    auto run = [&](const std::vector<int> &ofDevice) {
      RankTeam team(spec, ofDevice);
      team.fill(program.deviceBytes / 4);
      team.record([&](Machine &machine) { appendMixing(machine, program); });
      for (int r = 0; r < 10; ++r)
        team.run();
      return team.memory();
    };
    ASSERT_TRUE(run(program.ranks) == run({})) << "program " << number;
  }
}

/// Sequences that use the same events, lanes and memory, between which each
/// rank writes to its own devices.
TEST_F(RanksTest, SequencesAndCopiesTakeTurns) {
  exchange::Random random(5);
  const exchange::RankProgram program =
      randomProgram(random, exchange::Regions::apart);
  MachineSpec spec = rankSpecOf(int(program.ranks.size()), 0, program.events());
  for (int device : program.devices)
    spec.lanes.push_back({device, "lane"});
  auto run = [&](const std::vector<int> &ofDevice) {
    RankTeam team(spec, ofDevice);
    for (int half = 0; half < 2; ++half)
      team.record([&](Machine &machine) {
        if (half == 1) // so that steps have other numbers
          cpuLane(machine.lane(0)).append("none", {}, [] {});
        appendMixing(machine, program);
      });
    std::deque<Floats> values;
    for (int r = 0; r < 40; ++r) {
      team.run(r % 3 == 0 ? 1 : 0);
      for (int rank = 0; rank < team.size(); ++rank)
        for (size_t device = 0; device < program.ranks.size(); ++device)
          if (team[rank].isLocal(int(device)) && (r + device) % 2 == 0) {
            values.push_back(randomValues(6, uint32_t(100 * r + device)));
            team[rank].writeAsync(Tensor(team[rank].arena(int(device)),
                                         DType::f32, {6}, Layout::dense),
                                  int(device), values.back().data());
          }
    }
    return team.memory();
  };
  EXPECT_TRUE(run(program.ranks) == run({}));
}

} // namespace
