//===- TransportTest.cpp - Parcels between two ends -----------------------===//

#include "runtime/exchange/UcxTransport.h"

#include "gtest/gtest.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <sys/mman.h>
#include <thread>
#include <vector>

using namespace lwcc::rt;

namespace {

constexpr int64_t largeBytes = int64_t(1) << 20;

/// Has memory for every parcel, and may be slow to give it.
struct SlowReceiver : Receiver {
  explicit SlowReceiver(std::chrono::milliseconds delay = {}) : delay(delay) {}
  void *landing(int, uint64_t id, int64_t) override {
    std::this_thread::sleep_for(delay);
    return memory[id].data();
  }
  void arrived(int, uint64_t, uint64_t) override { ++count; }
  void lost(int, const std::string &why) override { ADD_FAILURE() << why; }

  const std::chrono::milliseconds delay;
  std::vector<std::vector<char>> memory{4, std::vector<char>(largeBytes)};
  std::atomic<int> count = 0;
};

/// Memory that nobody can read any more once it is gone.
struct Mapped {
  Mapped()
      : data(::mmap(nullptr, largeBytes, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)) {}
  ~Mapped() { ::munmap(data, largeBytes); }
  void *const data;
};

/// Two ends, which are on one machine or seem to be on two.
struct Pair {
  explicit Pair(bool isNear) {
    const std::vector<UcxPeer> peers = {{ends[0].address(), isNear},
                                        {ends[1].address(), isNear}};
    for (UcxTransport &end : ends)
      end.setPeers(peers);
  }
  UcxTransport ends[2] = {UcxTransport(0), UcxTransport(1)};
};

class UcxTransportTest : public testing::TestWithParam<bool> {};

/// Rank 0 ends its training and frees its memory as soon as its own work is
/// through; others may just then be about to read what it has sent last.
TEST_P(UcxTransportTest, SendersKeepTheirMemoryUntilSlowPeersHaveReadIt) {
  Pair pair(GetParam());
  SlowReceiver mine, other(std::chrono::milliseconds(150));
  pair.ends[0].start(mine);
  pair.ends[1].start(other);
  {
    Mapped blocks[4];
    Parcel parcels[4];
    for (int i = 0; i < 4; ++i) {
      std::memset(blocks[i].data, 'a' + i, largeBytes);
      parcels[i].peer = 1;
      parcels[i].id = i;
      parcels[i].data = blocks[i].data;
      parcels[i].bytes = largeBytes;
      pair.ends[0].send(parcels[i]);
    }
    pair.ends[0].stop(/*deliver=*/true);
  }
  for (int turn = 0; turn < 1000 && other.count < 4; ++turn)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  pair.ends[1].stop(/*deliver=*/true);
  for (int i = 0; i < 4; ++i)
    EXPECT_EQ(
        std::count(other.memory[i].begin(), other.memory[i].end(), 'a' + i),
        largeBytes);
}

/// A rank that has failed does not stay for others.
TEST_P(UcxTransportTest, WhoGivesUpDoesNotWaitForPeers) {
  Pair pair(GetParam());
  SlowReceiver mine, other;
  pair.ends[0].start(mine); // the other one never takes anything
  Parcel parcel;
  parcel.peer = 1;
  parcel.data = mine.memory[0].data();
  parcel.bytes = largeBytes;
  pair.ends[0].send(parcel);
  const auto start = std::chrono::steady_clock::now();
  pair.ends[0].stop(/*deliver=*/false);
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(5));
}

INSTANTIATE_TEST_SUITE_P(Near, UcxTransportTest, testing::Values(true));
INSTANTIATE_TEST_SUITE_P(Far, UcxTransportTest, testing::Values(false));

} // namespace
