//===- UploadTest.cpp - Batches that are sent ahead -----------------------===//
//
// Upload with streams of this test's own in place of CUDA's: what is queued is
// run in many interleavings, in which a run must always see its own batch. Then
// each wait is left out in turn, which must be seen to go wrong, or this test
// would prove nothing. Linked without CUDA's libraries.
//
//===----------------------------------------------------------------------===//

#include "runtime/cuda/Upload.h"
#include "runtime/cuda/Check.h"

#include <gtest/gtest.h>

#include <deque>
#include <functional>
#include <map>
#include <random>

using namespace lwcc::rt::cuda;

namespace {

/// What streams do, one queue each.
class Streams {
public:
  struct Item {
    std::function<void()> work;
    cudaEvent_t event = nullptr; ///< that it waits for ...
    int64_t version = 0;         ///< ... as it was recorded then
  };

  void push(cudaStream_t stream, Item item) {
    queues[stream].push_back(std::move(item));
  }
  /// Runs the first item of a stream, if it has one that may run.
  bool step(cudaStream_t stream) {
    auto &queue = queues[stream];
    if (queue.empty() || done[queue.front().event] < queue.front().version)
      return false;
    auto work = queue.front().work;
    queue.pop_front();
    if (work)
      work();
    return true;
  }
  bool empty(cudaStream_t stream) { return queues[stream].empty(); }

  std::map<cudaStream_t, std::deque<Item>> queues;
  std::map<cudaEvent_t, int64_t> recorded, done; ///< how often
  std::deque<char> events;                       ///< their addresses
  int waits = 0, omitted = -1;                   ///< which wait is left out
};

Streams *streams = nullptr;
auto *const uploads = reinterpret_cast<cudaStream_t>(1);
auto *const inOrder = reinterpret_cast<cudaStream_t>(2);

/// Sends `batches` batches as the trainer does, with `depth` of them in use at
/// a time, by a host that is now quick and now slow. How many runs saw
/// something else than their batch.
int wrongRuns(unsigned seed, int omitted, int *waits = nullptr) {
  constexpr int batches = 12, depth = 3;
  Streams world;
  world.omitted = omitted;
  streams = &world;
  std::mt19937 random(seed);
  int target = -1, wrong = 0, over = 0;
  std::array<int, 2> memory = {-1, -1};
  std::array<int, depth> host = {-1, -1, -1};
  {
    Upload upload(&target, sizeof(int), {&memory[0], &memory[1]});
    auto anything = [&] { world.step(random() % 2 ? uploads : inOrder); };
    for (int batch = 0; batch < batches; ++batch) {
      // The loader may write where a batch lay whose run is over.
      while (over <= batch - depth)
        anything();
      host[batch % depth] = batch;
      upload.begin(&host[batch % depth], uploads);
      upload.finish(inOrder);
      world.push(inOrder, {[&, batch] {
                   wrong += target != batch;
                   ++over;
                 }});
      for (unsigned n = random() % 8; n > 0; --n)
        anything();
    }
    while (!world.empty(uploads) || !world.empty(inOrder))
      anything();
  }
  if (waits)
    *waits = world.waits;
  EXPECT_EQ(over, batches);
  return wrong;
}

TEST(Upload, EveryRunSeesItsOwnBatch) {
  for (unsigned seed = 0; seed < 2000; ++seed)
    ASSERT_EQ(wrongRuns(seed, -1), 0) << "seed " << seed;
}

TEST(Upload, EveryWaitIsNeeded) {
  int waits = 0;
  wrongRuns(0, -1, &waits);
  ASSERT_EQ(waits, 24);
  for (int omitted = 0; omitted < waits; ++omitted) {
    // The first batches find both buffers empty; of the last nobody sees
    // whether its buffer was.
    bool toEmpty = omitted % 2 == 0;
    if (toEmpty && omitted < 2 * Upload::bufferCount)
      continue;
    int wrong = 0;
    for (unsigned seed = 0; seed < 2000 && !wrong; ++seed)
      wrong = wrongRuns(seed, omitted);
    EXPECT_GT(wrong, 0) << "wait " << omitted;
  }
}

TEST(Upload, GoesOnWhileARunIsAtWork) {
  Streams world;
  streams = &world;
  int target = -1, host[3] = {0, 1, 2}, memory[2];
  Upload upload(&target, sizeof(int), {&memory[0], &memory[1]});
  for (int batch = 0; batch < 3; ++batch) {
    upload.begin(&host[batch], uploads);
    upload.finish(inOrder);
    world.push(inOrder, {[] {}});
  }
  // Nothing of the runs' stream is done: two batches arrive all the same.
  while (world.step(uploads)) {
  }
  EXPECT_EQ(memory[1], 0);
  EXPECT_EQ(memory[0], 1);
  EXPECT_FALSE(world.empty(uploads)) << "the third overwrites the first";
}

} // namespace

//===----------------------------------------------------------------------===//
// What Upload calls
//===----------------------------------------------------------------------===//

cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned) {
  *event = reinterpret_cast<cudaEvent_t>(&streams->events.emplace_back());
  return cudaSuccess;
}
cudaError_t cudaEventDestroy(cudaEvent_t) { return cudaSuccess; }
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  int64_t version = ++streams->recorded[event];
  Streams *world = streams;
  world->push(stream, {[=] { world->done[event] = version; }});
  return cudaSuccess;
}
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event,
                                unsigned) {
  if (streams->waits++ != streams->omitted)
    streams->push(stream, {{}, event, streams->recorded[event]});
  return cudaSuccess;
}
cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes,
                            cudaMemcpyKind, cudaStream_t stream) {
  EXPECT_EQ(bytes, sizeof(int));
  streams->push(stream, {[=] {
                  *static_cast<int *>(to) = *static_cast<const int *>(from);
                }});
  return cudaSuccess;
}
std::string lwcc::rt::cuda::explain(cudaError_t, const std::string &what) {
  return what;
}
