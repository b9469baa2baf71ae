//===- Rails.cpp - The ways of gradients to owners over nodes -------------===//

#include "passes/shard/Rails.h"

#include <cmath>

using namespace lwcc::shard;

int64_t lwcc::shard::nodesOfGroup(int64_t nodes) {
  // Fewer send each other directly: there the second hop's latency costs more
  // than messages do.
  constexpr int64_t few = 24;
  if (nodes <= few)
    return 1;
  // Of what divides them, the number next to the root: g + N/g is least.
  for (auto size = static_cast<int64_t>(std::sqrt(nodes)); size > 2; --size)
    if (nodes % size == 0)
      return size;
  return 1;
}

Ways::Ways(const std::vector<int64_t> &nodeOf) : nodeOf(nodeOf) {
  auto enter = [](std::vector<size_t> &neighbours, size_t holder) {
    neighbours.push_back(holder);
    return neighbours.size() - 1;
  };
  for (size_t holder = 0; holder < nodeOf.size(); ++holder)
    inNode.push_back(enter(ofNode[nodeOf[holder]], holder));
  together = nodesOfGroup(nodes());
  for (size_t holder = 0; holder < nodeOf.size(); ++holder)
    inGroup.push_back(enter(ofGroups[groupOf(nodeOf[holder])], holder));
}

size_t Ways::railOfGroup(int64_t group, size_t owner) const {
  if (group == groupOf(nodeOf[owner]))
    return owner;
  const std::vector<size_t> &holders = ofGroups.at(group);
  return holders[inGroup[owner] % holders.size()];
}

size_t Ways::railOfNode(int64_t node, size_t owner) const {
  const size_t last = railOfGroup(groupOf(node), owner);
  if (node == nodeOf[last])
    return last;
  const std::vector<size_t> &holders = ofNode.at(node);
  return holders[inNode[last] % holders.size()];
}

size_t Ways::next(size_t holder, size_t owner) const {
  const int64_t node = nodeOf[holder];
  if (const size_t rail = railOfNode(node, owner); rail != holder)
    return rail;
  if (const size_t rail = railOfGroup(groupOf(node), owner); rail != holder)
    return rail;
  return owner;
}
