//===- DeviceLists.cpp - Lists of devices by number -----------------------===//

#include "passes/plan/price/DeviceLists.h"

#include "llvm/ADT/STLExtras.h"

using namespace lwcc;
using namespace lwcc::plan;

DeviceLists::DeviceLists(const Machine &machine)
    : deviceCount(static_cast<int>(machine.devices())) {
  for (const LinkLevel &level : machine.links())
    groupSizes.push_back(static_cast<int>(level.devices));
  groupSizes.push_back(deviceCount);
  for (size_t level = 1; level < groupSizes.size(); ++level)
    if (groupSizes[level] % groupSizes[level - 1] != 0) {
      groupSizes.clear();
      break;
    }
  for (int size : groupSizes) {
    begin.emplace_back(deviceCount / size);
    next.emplace_back(deviceCount / size);
  }
}

int DeviceLists::number(Devices devices) {
  if (auto known = numbers.find(devices); known != numbers.end())
    return known->second;
  llvm::SmallVector<int, 64> sorted(devices);
  llvm::sort(sorted);
  const bool isOnce =
      std::adjacent_find(sorted.begin(), sorted.end()) == sorted.end();
  const int number = static_cast<int>(lists.size());
  lists.push_back({devices.copy(memory), isOnce});
  numbers[lists.back().devices] = number;
  return number;
}

int DeviceLists::joined(int first, int second) {
  auto [known, isNew] = joints.try_emplace({first, second});
  if (isNew) {
    llvm::SmallVector<int, 128> both(lists[first].devices);
    llvm::append_range(both, lists[second].devices);
    known->second = number(both);
  }
  return known->second;
}

/// Every group becomes the next one within that of the level above it, the
/// first time that one of its devices appears.
int DeviceLists::rename(int device) {
  int outer = 0;
  for (size_t level = groupSizes.size() - 1; level-- > 0;) {
    const int group = device / groupSizes[level];
    int &first = begin[level][group];
    if (first < 0) {
      int &free = next[level + 1][outer];
      first = next[level][group] = free;
      free += groupSizes[level];
    }
    outer = group;
  }
  return begin[0][device];
}

DeviceLists::Canonical DeviceLists::canonical(int list) {
  if (lists[list].canonical.names)
    return lists[list].canonical;
  for (std::vector<int> &groups : begin)
    std::fill(groups.begin(), groups.end(), -1);
  if (!next.empty())
    next.back()[0] = 0;
  int *names = memory.Allocate<int>(deviceCount);
  llvm::SmallVector<int, 128> renamed;
  for (int device : lists[list].devices) {
    renamed.push_back(groupSizes.empty() ? device : rename(device));
    names[renamed.back()] = device;
  }
  const Canonical canonical = {number(renamed), names};
  lists[list].canonical = canonical;
  return canonical;
}

void DeviceLists::clear() {
  lists.clear();
  numbers.clear();
  joints.clear();
  memory.Reset();
}
