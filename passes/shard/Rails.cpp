//===- Rails.cpp - The ways of gradients to owners over nodes -------------===//

#include "passes/shard/Rails.h"

#include <cmath>

using namespace lwcc::shard;

int64_t lwcc::shard::nodesOfGroup(int64_t nodes, int64_t bytes) {
  // Fewer send each other directly: there the second hop's latency costs more
  // than messages do.
  constexpr int64_t few = 24;
  if (nodes <= few)
    return 1;
  // g + N/g is least at the root; a divisor next to it makes equal groups.
  const auto root = static_cast<int64_t>(std::sqrt(nodes));
  for (int64_t size = root; 2 * size >= root; --size)
    if (nodes % size == 0)
      return size;
  // Parts that are this much larger than the least are worth their messages.
  constexpr int64_t large = 32;
  return bytes / leastPart(nodes) >= nodes / large ? 1 : root;
}

Ways::Ways(const std::vector<int64_t> &nodeOf, int64_t bytes) : nodeOf(nodeOf) {
  auto enter = [](std::vector<size_t> &neighbours, size_t holder) {
    neighbours.push_back(holder);
    return neighbours.size() - 1;
  };
  for (size_t holder = 0; holder < nodeOf.size(); ++holder)
    inNode.push_back(enter(ofNode[nodeOf[holder]], holder));
  together = nodesOfGroup(nodes(), bytes);
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
