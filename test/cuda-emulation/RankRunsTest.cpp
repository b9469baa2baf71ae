//===- RankRunsTest.cpp - Several CUDA machines that run one program ------===//
//
// Random programs, whose lanes read each other's devices in any way that a
// compiler might have scheduled, must leave the same bytes on emulated GPUs in
// several ranks as in one, whatever the order in which streams run and parcels
// arrive. The host's threads call CUDA one at a time, as the emulation needs
// it.
//
//===----------------------------------------------------------------------===//

#include "World.h"
#include "runtime/cuda/CudaMachine.h"
#include "runtime/exchange/LocalTransport.h"
#include "test/unit/runtime-cpu/RankPrograms.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <thread>

#include <unistd.h>

using namespace lwcc;
using namespace lwcc::rt;
using emulation::World;
using exchange::RankProgram;

namespace {

class RankRunsTest : public testing::Test {
protected:
  void SetUp() override { alarm(300); } // one that hangs is ended
  void TearDown() override { alarm(0); }
};

void append(Machine &machine, const RankProgram &program) {
  recordProgram(machine, program, [](Lane &on, const exchange::Mixing &work) {
    cuda::CudaLane &lane = cuda::cudaLane(on);
    auto mix = [work] {
      for (const unsigned char *byte : work.sources)
        emulation::read(byte, 1);
      for (const unsigned char *byte : work.targets) {
        emulation::read(byte, 1);
        emulation::write(byte, 1);
      }
      work.mix();
    };
    auto run = [&lane, mix] {
      if (lane.isRunning())
        cuda::check(emulation::enqueue(lane.stream, "mixing", {}, mix),
                    "mixing");
    };
    lane.append("mixing", work.writes, run, 0, work.reads);
  });
}

/// All ranks of a program, each with a thread that runs it.
class Team {
public:
  /// Of no `ranks`: one machine that has all devices.
  Team(const RankProgram &program, std::vector<int> ranks, uint32_t seed)
      : program(program), count(ranks.empty() ? 1 : ranks.back() + 1),
        world(seed, static_cast<int>(program.ranks.size())), hub(count) {
    std::string gpus; // a GPU for each device, whatever its rank
    for (size_t device = 0; device < program.ranks.size(); ++device) {
      spec.devices.push_back({RankProgram::deviceBytes});
      gpus += (device ? "," : "") + std::to_string(device);
    }
    for (int device : program.devices)
      spec.lanes.push_back({device, "lane"});
    spec.events = program.events();
    setenv("LWCC_DEVICES", gpus.c_str(), 1);
    for (int rank = 0; rank < count; ++rank) {
      MachineOptions options;
      if (!ranks.empty()) {
        transports.emplace_back(hub, rank);
        Ranks &own = teams.emplace_back();
        own.rank = rank;
        own.count = count;
        own.ofDevice = ranks;
        own.transport = &transports.back();
        own.onLost = [](int, const std::string &why) { ADD_FAILURE() << why; };
        options.ranks = &own;
      }
      machines.push_back(Machine::create(spec, options));
    }
    unsetenv("LWCC_DEVICES");
    std::mt19937 random(1);
    for (size_t device = 0; device < program.ranks.size(); ++device) {
      char *arena = arenaOf(static_cast<int>(device));
      for (int64_t i = 0; i < RankProgram::deviceBytes; ++i)
        arena[i] = static_cast<char>(random());
    }
    for (auto &machine : machines)
      sequences.push_back(
          machine->record("test", [&] { append(*machine, program); }));
  }

  /// Every device's bytes after so many runs, then what was found.
  std::vector<std::string> run(int runs) {
    std::vector<std::thread> threads;
    for (int rank = 0; rank < count; ++rank)
      threads.emplace_back([this, rank, runs] {
        try {
          for (int r = 0; r < runs; ++r)
            machines[rank]->run(sequences[rank]);
          machines[rank]->synchronize();
        } catch (const std::exception &error) {
          ADD_FAILURE() << error.what();
        }
      });
    for (std::thread &thread : threads)
      thread.join();
    std::vector<std::string> bytes;
    for (size_t device = 0; device < program.ranks.size(); ++device)
      bytes.emplace_back(arenaOf(static_cast<int>(device)),
                         RankProgram::deviceBytes);
    bytes.insert(bytes.end(), world.findings.begin(), world.findings.end());
    return bytes;
  }

private:
  /// Where a device's memory is.
  char *arenaOf(int device) {
    for (auto &machine : machines)
      if (machine->isLocal(device))
        return machine->arena(device);
    return nullptr;
  }

  const RankProgram &program;
  const int count;
  World world;
  LocalHub hub;
  std::deque<LocalTransport> transports;
  std::deque<Ranks> teams;
  MachineSpec spec;
  std::vector<std::unique_ptr<Machine>> machines;
  std::vector<Sequence *> sequences;
};

TEST_F(RankRunsTest, RandomProgramsLeaveTheBytesOfOneMachine) {
  exchange::Random random(3);
  for (uint32_t number = 0; number < 60; ++number) {
    const RankProgram program = exchange::randomProgram(random);
    const auto expected = Team(program, {}, 1).run(4);
    ASSERT_EQ(expected.size(), program.ranks.size()) << expected.back();
    for (uint32_t seed = 1; seed <= 3; ++seed)
      ASSERT_EQ(Team(program, program.ranks, seed + 7 * number).run(4),
                expected)
          << "program " << number << ", seed " << seed;
  }
}

} // namespace
