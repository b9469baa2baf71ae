//===- StreamsTest.cpp - What is found between pieces of work -------------===//
//
// Order between streams, in graphs and with the host: what CUDA refuses is
// refused, and what nothing orders is reported, whatever the order that ran.
//
//===----------------------------------------------------------------------===//

#include "World.h"

#include <gtest/gtest.h>

using namespace lwcc::emulation;

namespace {

class Streams : public testing::Test {
protected:
  World world{3, 2};
  char *memory = nullptr, *pinned = nullptr;
  cudaStream_t first = nullptr, second = nullptr;
  cudaEvent_t event = nullptr, other = nullptr;

  void SetUp() override {
    void *address = nullptr;
    cudaMalloc(&address, 64);
    memory = static_cast<char *>(address);
    cudaHostAlloc(&address, 64, cudaHostAllocPortable);
    pinned = static_cast<char *>(address);
    cudaStreamCreateWithFlags(&first, cudaStreamNonBlocking);
    cudaStreamCreateWithFlags(&second, cudaStreamNonBlocking);
    for (cudaEvent_t *each : {&event, &other})
      cudaEventCreateWithFlags(each, cudaEventDisableTiming);
  }
  void write(cudaStream_t stream) {
    EXPECT_EQ(enqueue(stream, "writer", {{memory, 64, true}}, {}), cudaSuccess);
  }
  void read(cudaStream_t stream) {
    EXPECT_EQ(enqueue(stream, "reader", {{memory, 64, false}}, {}),
              cudaSuccess);
  }
  void follow(cudaStream_t later, cudaStream_t earlier, cudaEvent_t by) {
    EXPECT_EQ(cudaEventRecord(by, earlier), cudaSuccess);
    EXPECT_EQ(cudaStreamWaitEvent(later, by, 0), cudaSuccess);
  }
  std::string found() {
    world.settle();
    std::string text;
    for (const std::string &fault : faults())
      text += fault + "\n";
    clearFaults();
    return text;
  }
  bool isRace() { return found().find("race: ") != std::string::npos; }
};

TEST_F(Streams, AreOrderedByEvents) {
  write(first);
  follow(second, first, event);
  read(second);
  read(first);
  EXPECT_EQ(found(), "");
  write(first); // the second stream's read may be to come
  EXPECT_TRUE(isRace());
}

TEST_F(Streams, AreOrderedByTheHost) {
  write(first);
  cudaStreamSynchronize(first);
  read(second);
  EXPECT_EQ(found(), "");
  write(first);
  EXPECT_TRUE(isRace());
}

TEST_F(Streams, HostFunctionsRunBehindWhatStandsBeforeThem) {
  int calls = 0;
  bool held = true;
  world.launch(first, [] {}, &held);
  EXPECT_EQ(
      cudaLaunchHostFunc(
          first, [](void *count) { ++*static_cast<int *>(count); }, &calls),
      cudaSuccess);
  EXPECT_EQ(cudaStreamQuery(second), cudaSuccess);
  for (int i = 0; i < 20; ++i)
    EXPECT_EQ(cudaStreamQuery(first), cudaErrorNotReady);
  EXPECT_EQ(calls, 0);
  held = false;
  while (cudaStreamQuery(first) == cudaErrorNotReady) {
  }
  EXPECT_EQ(calls, 1);
}

TEST_F(Streams, MemoryMayBePinnedOnceAndThenBeCopied) {
  constexpr unsigned flags = cudaHostRegisterPortable | cudaHostRegisterMapped;
  alignas(4096) static char own[4096];
  EXPECT_EQ(cudaHostRegister(own, 2048, flags), cudaSuccess);
  EXPECT_EQ(cudaHostRegister(own + 1024, 2048, flags),
            cudaErrorHostMemoryAlreadyRegistered);
  EXPECT_EQ(cudaMemcpyAsync(memory, own, 64, cudaMemcpyHostToDevice, first),
            cudaSuccess);
  EXPECT_EQ(found(), "");
  cudaMemcpyAsync(memory, own + 2040, 64, cudaMemcpyHostToDevice, first);
  EXPECT_NE(found().find("pageable"), std::string::npos);
  EXPECT_EQ(cudaHostUnregister(own), cudaSuccess);
  EXPECT_EQ(cudaHostUnregister(own), cudaErrorHostMemoryNotRegistered);
}

TEST_F(Streams, SeveralReadersAreKept) {
  write(first);
  cudaStreamSynchronize(first);
  read(first);
  read(second);
  follow(second, first, event);
  write(second);
  EXPECT_EQ(found(), "");
  read(first);
  EXPECT_TRUE(isRace());
}

TEST_F(Streams, TheDefaultStreamOrdersNothing) {
  cudaMemset(memory, 0, 64);
  read(first);
  EXPECT_NE(found(), "");
  cudaMemset(memory, 0, 64);
  cudaDeviceSynchronize();
  read(first);
  EXPECT_EQ(found(), "");
}

/// Two pieces of work on forks of one graph.
class Graphs : public Streams {
protected:
  void fork(bool ordered) {
    cudaGraph_t graph = nullptr;
    cudaStreamBeginCapture(first, cudaStreamCaptureModeRelaxed);
    follow(second, first, event);
    write(first);
    if (ordered)
      follow(second, first, event);
    read(second);
    follow(first, second, other);
    EXPECT_EQ(cudaStreamEndCapture(first, &graph), cudaSuccess);
    EXPECT_EQ(cudaGraphInstantiate(&run, graph, 0), cudaSuccess);
    cudaGraphDestroy(graph);
  }
  cudaGraphExec_t run = nullptr;
};

TEST_F(Graphs, RunManyTimes) {
  fork(/*ordered=*/true);
  for (int i = 0; i < 5; ++i)
    EXPECT_EQ(cudaGraphLaunch(run, first), cudaSuccess);
  read(first);
  EXPECT_EQ(found(), "");
  read(second);
  EXPECT_TRUE(isRace());
}

TEST_F(Graphs, WantAnOrderWithin) {
  write(first);
  cudaStreamSynchronize(first);
  fork(/*ordered=*/false);
  cudaGraphLaunch(run, first);
  EXPECT_TRUE(isRace());
}

TEST_F(Graphs, AreJoined) {
  cudaGraph_t graph = nullptr;
  cudaStreamBeginCapture(first, cudaStreamCaptureModeRelaxed);
  follow(second, first, event);
  write(second);
  EXPECT_EQ(cudaStreamEndCapture(first, &graph),
            cudaErrorStreamCaptureUnjoined);
  EXPECT_EQ(cudaStreamEndCapture(first, &graph), cudaErrorIllegalState);
}

TEST_F(Graphs, WaitForNothingOutside) {
  cudaGraph_t graph = nullptr;
  write(second);
  cudaEventRecord(event, second);
  cudaStreamBeginCapture(first, cudaStreamCaptureModeRelaxed);
  EXPECT_EQ(cudaStreamWaitEvent(first, event, 0),
            cudaErrorStreamCaptureIsolation);
  EXPECT_EQ(enqueue(first, "late", {}, {}), cudaErrorStreamCaptureInvalidated);
  EXPECT_EQ(cudaStreamEndCapture(first, &graph),
            cudaErrorStreamCaptureInvalidated);
  EXPECT_EQ(graph, nullptr);
}

TEST_F(Graphs, ForbidCalls) {
  cudaGraph_t graph = nullptr;
  void *more = nullptr;
  auto breaks = [&](auto call, cudaError_t status) {
    cudaStreamBeginCapture(first, cudaStreamCaptureModeGlobal);
    write(first);
    cudaEventRecord(event, first);
    EXPECT_EQ(call(), status);
    EXPECT_EQ(cudaStreamEndCapture(first, &graph),
              cudaErrorStreamCaptureInvalidated);
  };
  const auto unsupported = cudaErrorStreamCaptureUnsupported;
  breaks([&] { return cudaStreamSynchronize(first); }, unsupported);
  breaks([&] { return cudaDeviceSynchronize(); }, unsupported);
  breaks([&] { return cudaMalloc(&more, 8); }, unsupported);
  breaks([&] { return cudaMemset(memory, 0, 8); }, unsupported);
  breaks([&] { return cudaEventQuery(event); }, cudaErrorCapturedEvent);
  breaks([&] { return cudaEventSynchronize(event); }, cudaErrorCapturedEvent);
  EXPECT_EQ(cudaStreamBeginCapture(nullptr, cudaStreamCaptureModeGlobal),
            unsupported);
}

TEST_F(Streams, BelongToDevices) {
  cudaSetDevice(1);
  EXPECT_EQ(enqueue(first, "kernel", {}, {}), cudaErrorInvalidResourceHandle);
  cudaStream_t third = nullptr;
  cudaStreamCreateWithFlags(&third, cudaStreamNonBlocking);
  EXPECT_EQ(cudaEventRecord(event, third), cudaErrorInvalidResourceHandle);
  cudaEventRecord(event, first);
  EXPECT_EQ(cudaStreamWaitEvent(third, event, 0), cudaSuccess);
  EXPECT_EQ(cudaSetDevice(2), cudaErrorInvalidDevice);
}

TEST_F(Streams, CopiesTakeWhatTheHostLeaves) {
  auto copy = [&](void *to, const void *from, cudaMemcpyKind kind) {
    return cudaMemcpyAsync(to, from, 64, kind, first);
  };
  copy(memory, pinned, cudaMemcpyHostToDevice);
  EXPECT_EQ(found(), "");
  bool isHeld = true;
  world.launch(first, [] {}, &isHeld);
  copy(memory, pinned, cudaMemcpyHostToDevice);
  pinned[3] ^= 1;
  isHeld = false;
  EXPECT_NE(found().find("the host has changed"), std::string::npos);
  EXPECT_EQ(copy(memory, pinned, cudaMemcpyDeviceToHost),
            cudaErrorInvalidValue);
  char pageable[64] = {};
  copy(memory, pageable, cudaMemcpyHostToDevice);
  EXPECT_NE(found().find("pageable"), std::string::npos);
}

TEST_F(Streams, FindingsFailWhoWaits) {
  fault("something");
  EXPECT_EQ(cudaStreamSynchronize(first), cudaErrorIllegalAddress);
  clearFaults();
  EXPECT_EQ(cudaStreamSynchronize(first), cudaSuccess);
}

TEST_F(Streams, WorkspacesAreUninitialisedAgain) {
  enqueue(first, "library", {}, [this] { scribble(memory, 64); });
  read(first);
  EXPECT_NE(found().find("nobody has written"), std::string::npos);
}

} // namespace
