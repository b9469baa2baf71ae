//===- KernelsTest.cu - What is found in kernels --------------------------===//
//
// For each kind of finding one small kernel that has it, and one beside it that
// has not.
//
//===----------------------------------------------------------------------===//

#include "Symbols.h"
#include "World.h"

#include <gtest/gtest.h>

using namespace lwcc;
using namespace lwcc::emulation;

namespace {

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

__device__ int globalThread() { return blockIdx.x * blockDim.x + threadIdx.x; }

__global__ void copy(int n, float *to, const float *from) {
  if (globalThread() < n)
    to[globalThread()] = from[globalThread()];
}
__global__ void copyVectors(int n, float4 *to, const float4 *from) {
  if (globalThread() < n)
    to[globalThread()] = from[globalThread()];
}
__global__ void fillBytes(int n, unsigned char *to) {
  if (globalThread() < n)
    to[globalThread()] = 7;
}
__global__ void storeEverywhere(float *to) { *to = 1; }
__global__ void storeOnce(float *to) {
  if (globalThread() == 0)
    *to = 1;
}
__global__ void count(int *to) { atomicAdd(to, 1); }

/// to[b] = sum of the block's `from`, through shared memory.
template <bool first, bool second>
__global__ void sumBlocks(float *to, const float *from, int rounds) {
  __shared__ float parts[64];
  for (int round = 0; round < rounds; ++round) {
    parts[threadIdx.x] = from[globalThread()];
    if (first)
      __syncthreads();
    if (threadIdx.x == 0) {
      float sum = 0;
      for (unsigned i = 0; i < blockDim.x; ++i)
        sum += parts[i];
      to[blockIdx.x] = sum;
    }
    if (second)
      __syncthreads();
  }
}
__global__ void readShared(float *to) {
  __shared__ float value[2];
  if (blockIdx.x == 0)
    value[threadIdx.x % 2] = 1;
  __syncthreads();
  if (threadIdx.x == 0)
    to[blockIdx.x] = value[0];
}
__global__ void runOver(float *to, int at) {
  __shared__ float values[4];
  values[at + threadIdx.x] = 1;
  to[threadIdx.x] = values[at + threadIdx.x];
}
__global__ void someWait(int who) {
  if (static_cast<int>(threadIdx.x) < who)
    __syncthreads();
}
__global__ void waitApart(float *to) {
  if (threadIdx.x % 2) {
    to[threadIdx.x] = 1;
    __syncthreads();
  } else {
    __syncthreads();
    to[threadIdx.x] = 2;
  }
}
__global__ void rotate(int *to, unsigned mask, int last) {
  int value = static_cast<int>(threadIdx.x);
  if (value <= last)
    to[threadIdx.x] = __shfl_xor_sync(mask, value, 1);
}
__global__ void votes(unsigned *to) {
  const unsigned odd = __ballot_sync(0xffffffffu, threadIdx.x % 2);
  const int all = __all_sync(0xffffffffu, threadIdx.x < 40);
  to[threadIdx.x] = odd + (all ? 0 : 1);
}

//===----------------------------------------------------------------------===//
// The bench
//===----------------------------------------------------------------------===//

class Kernels : public testing::Test {
protected:
  World world{7, 2};
  float *a = nullptr, *b = nullptr;

  void SetUp() override {
    a = allocate(256);
    b = allocate(256);
    cudaMemset(a, 0, 256 * sizeof(float));
  }
  float *allocate(size_t count) {
    void *memory = nullptr;
    EXPECT_EQ(cudaMalloc(&memory, count * sizeof(float)), cudaSuccess);
    return static_cast<float *>(memory);
  }
  template <typename... P>
  cudaError_t launch(void (*kernel)(P...), unsigned grid, unsigned block,
                     std::type_identity_t<P>... arguments) {
    void *pointers[] = {&arguments..., nullptr};
    return cudaLaunchKernel(rt::cuda::kernelAddress(kernel), dim3(grid),
                            dim3(block), pointers, 0, nullptr);
  }
  /// Runs what was launched; what was found, together.
  std::string found() {
    cudaDeviceSynchronize();
    std::string text;
    for (const std::string &fault : faults())
      text += fault + "\n";
    clearFaults();
    return text;
  }
};

#define EXPECT_FOUND(WHAT)                                                     \
  do {                                                                         \
    std::string text = found();                                                \
    EXPECT_NE(text.find(WHAT), std::string::npos) << text;                     \
  } while (false)

TEST_F(Kernels, Compute) {
  launch(copy, 3, 32, 90, b, a);
  EXPECT_EQ(found(), "");
  std::vector<float> host(90);
  cudaMemcpy(host.data(), b, 90 * sizeof(float), cudaMemcpyDeviceToHost);
  EXPECT_EQ(host, std::vector<float>(90));
  EXPECT_EQ(found(), "");
}

TEST_F(Kernels, KnowTheirNames) {
  std::vector<std::string> names;
  for (const auto &[address, name] : kernels())
    names.push_back(name);
  EXPECT_NE(std::find(names.begin(), names.end(), "copy"), names.end());
  EXPECT_NE(std::find(names.begin(), names.end(), "sumBlocks<true, false>"),
            names.end());
}

TEST_F(Kernels, StayInTheirMemory) {
  launch(copy, 9, 32, 257, b, a);
  EXPECT_FOUND("copy reads byte 1024 of 1024 bytes of device 0, which is no "
               "tensor's (KernelsTest.cu:");
  float host[4] = {};
  launch(copy, 1, 1, 1, b, host);
  EXPECT_FOUND("copy reads memory of the host");
  void *pinned = nullptr;
  cudaHostAlloc(&pinned, 64, cudaHostAllocPortable);
  launch(copy, 1, 1, 1, b, static_cast<float *>(pinned));
  EXPECT_FOUND("of pinned memory");
  cudaFree(a);
  launch(copy, 1, 1, 1, b, a);
  EXPECT_FOUND("copy reads what");
}

TEST_F(Kernels, StayInTheirTensor) {
  forbid(a + 8, 16);
  launch(copy, 1, 12, 12, b, a);
  EXPECT_FOUND("copy reads byte 32 of 1024");
  allow(a + 8, 16);
  launch(copy, 1, 12, 12, b, a);
  EXPECT_FOUND("which nobody has written");
}

TEST_F(Kernels, ReadWhatWasWritten) {
  launch(copy, 1, 1, 1, a, b);
  EXPECT_FOUND("copy reads byte 0 of 1024 bytes of device 0, which nobody has "
               "written");
}

TEST_F(Kernels, AlignTheirVectors) {
  launch(copyVectors, 1, 4, 4, reinterpret_cast<float4 *>(b),
         reinterpret_cast<float4 *>(a));
  EXPECT_EQ(found(), "");
  launch(copyVectors, 1, 4, 4, reinterpret_cast<float4 *>(b),
         reinterpret_cast<float4 *>(a + 2));
  EXPECT_FOUND("copyVectors: an access not aligned to bytes 16 "
               "(KernelsTest.cu:");
}

TEST_F(Kernels, NeedPeerAccess) {
  cudaSetDevice(1);
  float *other = allocate(4);
  launch(copy, 1, 4, 4, other, a);
  EXPECT_FOUND("from device 1 without peer access");
  cudaDeviceEnablePeerAccess(0, 0);
  cudaSetDevice(0);
  cudaDeviceSynchronize();
  cudaSetDevice(1);
  launch(copy, 1, 4, 4, other, a);
  EXPECT_EQ(found(), "");
}

TEST_F(Kernels, MeetInGlobalMemoryOnlyByAtomics) {
  launch(storeOnce, 2, 32, b);
  EXPECT_EQ(found(), "");
  launch(storeEverywhere, 1, 32, b);
  EXPECT_FOUND("race: storeEverywhere in threads");
  launch(storeEverywhere, 2, 1, b);
  EXPECT_FOUND("race: storeEverywhere in block");
  launch(fillBytes, 2, 50, 99, reinterpret_cast<unsigned char *>(b));
  EXPECT_EQ(found(), "");
  launch(count, 3, 40, reinterpret_cast<int *>(a));
  EXPECT_EQ(found(), "");
  int counted = 0;
  cudaMemcpy(&counted, a, sizeof(int), cudaMemcpyDeviceToHost);
  EXPECT_EQ(counted, 120);
  // One that reads what other blocks write.
  launch(copy, 2, 32, 64, a, a + 16);
  EXPECT_FOUND("race: copy in");
}

TEST_F(Kernels, NeedBarriers) {
  launch(sumBlocks<true, true>, 3, 64, b, a, 3);
  launch(sumBlocks<true, false>, 3, 64, b, a, 1);
  EXPECT_EQ(found(), "");
  launch(sumBlocks<false, true>, 3, 64, b, a, 1);
  EXPECT_FOUND("__shared__ memory");
  launch(sumBlocks<true, false>, 3, 64, b, a, 2);
  EXPECT_FOUND("race: sumBlocks<true, false>: two threads");
}

TEST_F(Kernels, FindSharedMemoryUninitialised) {
  launch(readShared, 1, 2, b);
  EXPECT_EQ(found(), "");
  launch(readShared, 2, 2, b);
  EXPECT_FOUND("readShared reads __shared__ memory that this block has not "
               "written");
}

TEST_F(Kernels, StayInTheirArrays) {
  launch(runOver, 1, 4, b, 0);
  EXPECT_EQ(found(), "");
  launch(runOver, 1, 4, b, 1);
  EXPECT_FOUND("runOver: outside of an array, index 4 (KernelsTest.cu:");
}

TEST_F(Kernels, MeetAtBarriers) {
  launch(someWait, 1, 64, 64);
  EXPECT_EQ(found(), "");
  launch(someWait, 1, 64, 33);
  EXPECT_FOUND("33 of 64 threads of a block wait at a barrier, 31 have ended");
  launch(waitApart, 1, 64, b);
  EXPECT_FOUND("meet at different barriers");
}

TEST_F(Kernels, ShuffleWithinTheirMask) {
  auto *to = reinterpret_cast<int *>(b);
  launch(rotate, 1, 64, to, ~0u, 64);
  EXPECT_EQ(found(), "");
  int host[64];
  cudaMemcpy(host, b, sizeof(host), cudaMemcpyDeviceToHost);
  for (int i = 0; i < 64; ++i)
    EXPECT_EQ(host[i], i ^ 1);
  launch(rotate, 1, 32, to, 0xffffu, 15);
  EXPECT_EQ(found(), "");
  launch(rotate, 1, 32, to, 0xffffu, 31);
  EXPECT_FOUND("a lane that its own mask does not name");
  launch(rotate, 1, 32, to, ~0u, 15);
  EXPECT_FOUND("wait for a lane of their mask that does not come");
  launch(rotate, 1, 16, to, ~0u, 31);
  EXPECT_FOUND("a mask names lanes that the block does not have");
  launch(rotate, 1, 15, to, 0x7fffu, 31);
  EXPECT_FOUND("takes from a lane that the mask does not name");
  launch(votes, 1, 64, reinterpret_cast<unsigned *>(b));
  EXPECT_EQ(found(), "");
  cudaMemcpy(host, b, sizeof(host), cudaMemcpyDeviceToHost);
  EXPECT_EQ(host[3], static_cast<int>(0xaaaaaaaau));
  EXPECT_EQ(host[35], static_cast<int>(0xaaaaaaaau) + 1);
}

TEST_F(Kernels, HaveLegalGrids) {
  EXPECT_EQ(launch(copy, 0, 32, 1, b, a), cudaErrorInvalidConfiguration);
  EXPECT_EQ(launch(copy, 1, 1025, 1, b, a), cudaErrorInvalidConfiguration);
  EXPECT_EQ(cudaGetLastError(), cudaErrorInvalidConfiguration);
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
}

} // namespace
