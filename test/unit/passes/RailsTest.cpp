//===- RailsTest.cpp - The ways of gradients to owners over nodes ---------===//
//
// For machines of many shapes: every part reaches its owner, in at most three
// hops; where nodes form groups, owners get few messages, and no device gets
// more bytes than without groups.
//
//===----------------------------------------------------------------------===//

#include "passes/shard/Rails.h"

#include <gtest/gtest.h>

#include <cmath>

using namespace lwcc::shard;

/// So many devices on each of so many nodes, every `step`-th of which has some.
static std::vector<int64_t> nodesOf(int64_t nodes, int64_t devices,
                                    int64_t step = 1) {
  std::vector<int64_t> result;
  for (int64_t node = 0; node < nodes; ++node)
    result.insert(result.end(), devices, node * step);
  return result;
}

namespace {
/// What each holder gets if all of them own a part.
struct Received {
  std::vector<int64_t> parts;
  int64_t mostOfAnOwner = 0; ///< messages for its own part
};
} // namespace

static Received receive(const Ways &ways, const std::vector<int64_t> &nodes) {
  const size_t holders = nodes.size();
  Received received{std::vector<int64_t>(holders, 0), 0};
  for (size_t owner = 0; owner < holders; ++owner) {
    int64_t ofOwner = 0;
    for (size_t holder = 0; holder < holders; ++holder) {
      if (holder == owner)
        continue;
      const size_t next = ways.next(holder, owner);
      EXPECT_NE(next, holder);
      ++received.parts[next];
      ofOwner += next == owner;
      size_t at = holder;
      int hops = 0;
      for (; at != owner && hops < 4; ++hops)
        at = ways.next(at, owner);
      EXPECT_EQ(at, owner);
      EXPECT_LE(hops, 3);
    }
    received.mostOfAnOwner = std::max(received.mostOfAnOwner, ofOwner);
  }
  return received;
}

TEST(Rails, EveryPartReachesItsOwner) {
  for (int64_t nodes : {1, 2, 3, 4, 25, 31, 32, 33, 37, 64})
    for (int64_t devices : {1, 2, 3, 4})
      for (int64_t step : {1, 3}) {
        SCOPED_TRACE(testing::Message()
                     << nodes << " nodes of " << devices << ", step " << step);
        std::vector<int64_t> holders = nodesOf(nodes, devices, step);
        receive(Ways(holders, 1 << 20), holders);
      }
}

/// Nodes of unlike numbers of holders, too.
TEST(Rails, NodesMayHoldUnlikeNumbersOfCopies) {
  std::vector<int64_t> holders;
  for (int64_t node = 0; node < 40; ++node)
    holders.insert(holders.end(), 1 + node % 3, node);
  receive(Ways(holders, 1 << 20), holders);
}

TEST(Rails, GroupsSaveMessagesAndCostNoBytes) {
  for (int64_t nodes : {36, 64, 100, 256}) {
    std::vector<int64_t> holders = nodesOf(nodes, 1);
    const Ways ways(holders, 1 << 18);
    const auto side = static_cast<int64_t>(std::sqrt(nodes));
    ASSERT_EQ(ways.ofGroup(), side);
    Received received = receive(ways, holders);
    EXPECT_EQ(received.mostOfAnOwner, 2 * (side - 1));
    // Equal groups: each device gets what it would get directly.
    for (int64_t parts : received.parts)
      EXPECT_EQ(parts, nodes - 1);
  }
}

TEST(Rails, GroupsAreEqualOrOfLittle) {
  EXPECT_EQ(nodesOfGroup(16, 1 << 16), 1); // few send directly
  for (int64_t bytes : {int64_t(1) << 16, int64_t(1) << 30}) {
    EXPECT_EQ(nodesOfGroup(32, bytes), 4);
    EXPECT_EQ(nodesOfGroup(64, bytes), 8);
    EXPECT_EQ(nodesOfGroup(48, bytes), 6);
  }
  // Nothing next to their root divides these.
  for (int64_t nodes : {37, 74, 51, 61, 1021}) {
    EXPECT_EQ(nodesOfGroup(nodes, 1 << 16), std::floor(std::sqrt(nodes)));
    EXPECT_EQ(nodesOfGroup(nodes, int64_t(1) << 30), 1);
  }
}
