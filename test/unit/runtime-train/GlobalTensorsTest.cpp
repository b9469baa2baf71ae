//===- GlobalTensorsTest.cpp - Shards and the tensor they make ------------===//

#include "runtime/train/state/GlobalTensors.h"
#include "FakeMachine.h"

#include <gtest/gtest.h>

#include <numeric>

using namespace lwcc::rt;
using namespace lwcc::rt::train;

namespace {
/// Cuts [4, 6, 5, 3] at `cuts` of each dimension, one shard per tile, all on
/// one device; with `replicas` every tile twice.
GlobalTensor tiled(const std::vector<std::vector<int64_t>> &cuts,
                   MachineSpec &spec, int replicas) {
  GlobalTensor tensor{"t", {4, 6, 5, 3}, {}};
  spec.devices.resize(1);
  int64_t offset = 0;
  std::vector<size_t> tile(4, 0);
  while (true) {
    for (int copy = 0; copy < replicas; ++copy) {
      Shard shard;
      int64_t bytes = 4;
      for (int d = 0; d < 4; ++d) {
        shard.begin.push_back(cuts[d][tile[d]]);
        shard.ref.dims.push_back(cuts[d][tile[d] + 1] - shard.begin[d]);
        bytes *= shard.ref.dims[d];
      }
      shard.ref.offset = offset;
      shard.ref.layout = Layout::nhwc;
      offset += bytes;
      tensor.shards.push_back(shard);
    }
    int d = 3;
    while (d >= 0 && ++tile[d] == cuts[d].size() - 1)
      tile[d--] = 0;
    if (d < 0)
      break;
  }
  spec.devices[0].arenaBytes = offset;
  return tensor;
}
} // namespace

TEST(GlobalTensors, EveryTilingRoundTrips) {
  std::vector<std::vector<int64_t>> whole{{0, 4}, {0, 6}, {0, 5}, {0, 3}};
  std::vector<std::vector<int64_t>> cut{
      {0, 1, 4}, {0, 2, 4, 6}, {0, 3, 5}, {0, 1, 3}};
  std::vector<float> values(4 * 6 * 5 * 3);
  std::iota(values.begin(), values.end(), 1.0f);
  for (int mask = 0; mask < 16; ++mask)
    for (int replicas : {1, 2}) {
      std::vector<std::vector<int64_t>> cuts;
      for (int d = 0; d < 4; ++d)
        cuts.push_back(mask >> d & 1 ? cut[d] : whole[d]);
      MachineSpec spec;
      GlobalTensor tensor = tiled(cuts, spec, replicas);

      FakeMachine machine(spec, false);
      writeGlobal(machine, tensor, values.data());
      std::vector<float> back(values.size());
      readGlobal(machine, tensor, back.data());
      EXPECT_EQ(back, values) << mask;
      // Every replica is written: each value occurs once per copy.
      float *arena = reinterpret_cast<float *>(machine.arena(0));
      EXPECT_EQ(std::accumulate(arena, arena + values.size() * replicas, 0.0),
                replicas * std::accumulate(values.begin(), values.end(), 0.0));

      FakeMachine other(spec, true);
      StagedTensor staged(other, tensor);
      constexpr int64_t row = 6 * 5 * 3;
      for (int64_t i = 0; i < 4; ++i)
        staged.put(i, values.data() + i * row);
      staged.writeAsync(other);
      std::fill(back.begin(), back.end(), 0.0f);
      readGlobal(other, tensor, back.data());
      EXPECT_EQ(back, values) << mask;
      for (int64_t i = 0; i < 4; ++i) {
        std::vector<float> part(row);
        staged.get(i, part.data());
        EXPECT_TRUE(std::equal(part.begin(), part.end(), &values[i * row]))
            << mask;
      }
    }
}

TEST(GlobalTensors, Scalars) {
  MachineSpec spec;
  spec.devices = {{64}};
  GlobalTensor tensor{"t", {}, {{TensorRef(), {}}}};
  FakeMachine machine(spec, false);
  float value = 3, back = 0;
  writeGlobal(machine, tensor, &value);
  readGlobal(machine, tensor, &back);
  EXPECT_EQ(back, 3);
}
