//===- GeneratedTest.cu - Tables of programs, as nvcc reads them ----------===//
//
// What an emitted program says of its tensors is host code that nvcc rewrites
// before a compiler sees it. It once made extents {0} of the empty braces of a
// scalar, whose value the trainer then never read: the loss was 0.
//
//===----------------------------------------------------------------------===//

#include "runtime/emit/Generated.h"

#include <gtest/gtest.h>

using namespace lwcc::rt;

static_assert(RowDims({}).rank == 0 && RowDims{}.rank == 0);

static constexpr StateRow stateRows[] = {
    {"scale", Role::trainable, DType::f32, {}, blobAt(4), constantOf(1)},
    {"rows", Role::optimizer, DType::i32, {5}, constantOf(0), blobAt(0)},
    {"w", Role::trainable, DType::f32, {4, 3, 2, 1}, blobAt(8), constantOf(0)},
};
static constexpr ShardRow shardRows[] = {
    {0, 1, 1, 256, {}, {}},
    {1, 0, 1, 512, {0}, {5}},
    {2, 0, 1, 768, {2, 0, 0, 0}, {2, 3, 2, 1}},
};

using Dims = std::vector<int64_t>;

TEST(Generated, ScalarsHaveNoExtents) {
  TensorRef scalar = refOf(2, 1024, DType::f32, {});
  EXPECT_EQ(scalar.device, 2);
  EXPECT_EQ(scalar.offset, 1024);
  EXPECT_EQ(scalar.dims, Dims());
  GlobalTensor tensor;
  addTile(tensor, scalar, {});
  ASSERT_EQ(tensor.shards.size(), 1u);
  EXPECT_EQ(tensor.shards[0].begin, Dims());
  EXPECT_EQ(tensor.shards[0].ref.dims, Dims());
}

TEST(Generated, TablesKeepRanksAndExtents) {
  std::vector<StateTensor> state = stateTensors(stateRows, shardRows);
  ASSERT_EQ(state.size(), 3u);
  const Dims extents[] = {{}, {5}, {4, 3, 2, 1}};
  const Dims begins[] = {{}, {0}, {2, 0, 0, 0}};
  const Dims tiles[] = {{}, {5}, {2, 3, 2, 1}};
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(state[i].tensor.dims, extents[i]) << i;
    ASSERT_EQ(state[i].tensor.shards.size(), 1u);
    EXPECT_EQ(state[i].tensor.shards[0].begin, begins[i]) << i;
    EXPECT_EQ(state[i].tensor.shards[0].ref.dims, tiles[i]) << i;
  }
  EXPECT_EQ(state[0].tensor.shards[0].ref.device, 1);
  EXPECT_EQ(state[2].tensor.shards[0].ref.layout, Layout::nhwc);
  EXPECT_EQ(state[0].init.offset, 4);
  EXPECT_EQ(state[0].fresh.a, 1);
}

namespace {
struct OneDevice : DeviceMemory {
  explicit OneDevice(Machine &machine) : DeviceMemory(machine, 0) {}
  Tensor loss = f32(8, {});
  Tensor labels = i32(16, {7});
};
/// Only an arena.
class NoMachine : public Machine {
public:
  char *arena(int) override { return memory; }
  Lane &lane(int) override { std::abort(); }
  Event &event(int) override { std::abort(); }
  Sequence *record(const char *, const std::function<void()> &) override {
    return nullptr;
  }
  void run(Sequence *) override {}
  void synchronize() override {}
  void runObserved(Sequence *, const Observer &) override {}
  const std::vector<TracedCall> &runTraced(Sequence *) override {
    std::abort();
  }
  void read(Tensor, int, void *) override {}
  void write(Tensor, int, const void *) override {}
  void writeAsync(Tensor, int, const void *) override {}
  int64_t readAsync(Tensor, int, void *) override { return 0; }
  Clock::time_point wait(int64_t) override { return {}; }
  void *hostAlloc(int64_t) override { return nullptr; }
  std::vector<MovedBytes> movedBytes() override { return {}; }
  const char *target() const override { return ""; }
  int threads(int) const override { return 0; }
  std::string describe() const override { return ""; }
  int64_t bytesHeld(int) const override { return 0; }

  char memory[64] = {};
};
} // namespace

TEST(Generated, TensorsOfADeviceLieWhereTheProgramSays) {
  NoMachine machine;
  OneDevice device(machine);
  EXPECT_EQ(device.loss.data, machine.memory + 8);
  EXPECT_EQ(device.loss.rank, 0);
  EXPECT_EQ(device.loss.bytes(), 4);
  EXPECT_EQ(device.labels.bytes(), 28);
  TensorRef loss = refOf(0, 8, DType::f32, {});
  EXPECT_EQ(loss.on(machine).bytes(), 4);
  EXPECT_EQ(loss.on(machine).data, device.loss.data);
}
