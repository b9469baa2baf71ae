//===- DeviceLists.h - Lists of devices by number ---------------*- C++ -*-===//
//
// Gives lists of devices numbers: equal lists have the same one. A search asks
// for the same places of tiles again and again, and a number is looked up
// quicker than a list.
//
// Devices are equal, and so are the links of a level (../machine/Links.h). What
// some devices exchange takes as long among others, as long as the same ones of
// them are neighbours. So every list has a canonical form, in which devices are
// renamed in the order of their appearance and neighbours stay neighbours. What
// is known of one list holds for all lists of that form.
//
// Does not know what lies on the devices: that is the business of Timing.h.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_PASSES_PLAN_PRICE_DEVICELISTS_H
#define LWCC_PASSES_PLAN_PRICE_DEVICELISTS_H

#include "passes/plan/machine/Machine.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/Support/Allocator.h"

namespace lwcc::plan {

class DeviceLists {
public:
  using Devices = llvm::ArrayRef<int>;

  explicit DeviceLists(const Machine &machine);

  int number(Devices devices);
  /// The number of one list with another one behind it.
  int joined(int first, int second);
  Devices operator[](int list) const { return lists[list].devices; }
  /// Whether no device is in it twice.
  bool isOnce(int list) const { return lists[list].isOnce; }

  struct Canonical {
    int list = -1; ///< the number of the canonical form
    /// What the devices of the canonical form are called in the list.
    const int *names = nullptr;
  };
  Canonical canonical(int list);

  /// How many lists there are.
  size_t size() const { return lists.size(); }
  /// Forgets all numbers.
  void clear();

private:
  struct List {
    Devices devices;
    bool isOnce;
    Canonical canonical = {};
  };
  int rename(int device);

  const int deviceCount; ///< of the machine
  /// How many devices a group has, on each level of links from the devices' own
  /// on. Empty if a level's groups are not made of whole groups of the one
  /// before: then devices keep their names.
  llvm::SmallVector<int, 3> groupSizes;
  /// While a list is renamed, by level and group: the first device of the group
  /// that it is renamed to, or -1; and the next one of that which is not taken.
  std::vector<std::vector<int>> begin, next;

  std::vector<List> lists;
  llvm::DenseMap<Devices, int> numbers;
  llvm::DenseMap<std::pair<int, int>, int> joints;
  llvm::BumpPtrAllocator memory; ///< of the lists' devices and names
};

} // namespace lwcc::plan

#endif // LWCC_PASSES_PLAN_PRICE_DEVICELISTS_H
