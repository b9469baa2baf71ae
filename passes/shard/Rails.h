//===- Rails.h - The ways of gradients to owners over nodes -----*- C++ -*-===//
//
// Decides by which devices a part of a gradient reaches its owner, where it
// goes over levels (Updates.h, isTwoLevel). On every other node one device, the
// node's *rail*, sums what its node has of it. Many nodes also form
// groups of neighbours: in every other group than the owner's one rail sums
// what its group's rails have. New values go the same ways back.
//
// With groups of g of N nodes, an owner gets g + N/g messages for a part and
// not N. So parts may be smaller and have more owners, and as many bytes cross
// each node's link as before (Cho et al., "BlueConnect", 2019, section 3;
// theirs are rings). In groups of unlike sizes some rails sum for more parts
// than others, so that what is large is sent directly there. (Predicted, on 37
// nodes: AlexNet 84 ms directly, 109 with groups of 6; on 61: GoogLeNet 76 ms
// directly, 66 with groups of 6, LeNet-5 19 and 7 ms.)
//
// train-shard sends that way (Updates.cpp), and the planner prices it
// (passes/plan/price/Exchanges.cpp). Knows holders of a region by their numbers
// only. Does not decide who owns a part.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_PASSES_SHARD_RAILS_H
#define LWCC_PASSES_SHARD_RAILS_H

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

namespace lwcc::shard {

/// The least bytes of a part that so many messages bring to its owner.
/// (Inception-v3, predicted: 8 KiB for each are quicker than 2 and 4 on 4 nodes
/// of 4 and on 16 nodes of 4, and than 16 on the former.)
inline int64_t leastPart(int64_t messages) { return messages * (8 << 10); }

/// How many of so many nodes, with consecutive numbers, are a group for a
/// region of so many bytes. 1: nodes do not form groups.
int64_t nodesOfGroup(int64_t nodes, int64_t bytes);

/// The ways between the holders of copies of a region.
class Ways {
public:
  /// The node of each holder; the region's bytes.
  Ways(const std::vector<int64_t> &nodeOf, int64_t bytes);

  int64_t nodes() const { return static_cast<int64_t>(ofNode.size()); }
  int64_t ofGroup() const { return together; } ///< nodes of a group
  int64_t groups() const { return static_cast<int64_t>(ofGroups.size()); }

  /// The holder that has the sum of a node, or of a group, of a part that
  /// `owner` owns. Of its own node and group that is the owner. Elsewhere it is
  /// the holder of the same position among its neighbours, so that these share
  /// the work of all parts.
  size_t railOfNode(int64_t node, size_t owner) const;
  size_t railOfGroup(int64_t group, size_t owner) const;
  /// The holder to which one passes on its sum; the owner has it in the end.
  size_t next(size_t holder, size_t owner) const;

  int64_t groupOf(int64_t node) const { return node / together; }
  const std::map<int64_t, std::vector<size_t>> &byNode() const {
    return ofNode;
  }
  const std::map<int64_t, std::vector<size_t>> &byGroup() const {
    return ofGroups;
  }

private:
  std::vector<int64_t> nodeOf;
  std::map<int64_t, std::vector<size_t>> ofNode, ofGroups; ///< holders
  int64_t together = 1;
  std::vector<size_t> inNode, inGroup; ///< a holder's position
};

} // namespace lwcc::shard

#endif // LWCC_PASSES_SHARD_RAILS_H
