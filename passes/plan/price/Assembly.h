//===- Assembly.h - The calls that deliver a tensor -------------*- C++ -*-===//
//
// Which calls deliver the regions of a tensor that tiles read, given those that
// tiles made: the data movements that the sharder decides on
// (../../shard/Assembler.h), less those that need no bytes moved
// (../../schedule/Storage.h, ../../../ir/exec/Views.h):
//
//   - A part that is dense in memory is a view.
//   - Parts that are dense in what they are joined to are made or sent there.
//   - Concats and sums read with strides, and read other devices' memory, so
//     that nothing is cut or sent for them.
//
// How long the calls take is the business of Timing.h. Knows nothing of other
// tensors: what two layers read in the same way counts for each.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_PASSES_PLAN_PRICE_ASSEMBLY_H
#define LWCC_PASSES_PLAN_PRICE_ASSEMBLY_H

#include "passes/plan/model/LayerGraph.h"

#include "llvm/ADT/SmallVector.h"

namespace lwcc::plan {

/// A region of the tensor, on a device.
struct PlacedRegion {
  tiling::Box region;
  int64_t device;
  bool operator==(const PlacedRegion &) const = default;
};

/// What a device gets from another one.
struct Flow {
  int64_t from, to;
  double bytes;
};

struct Assembly {
  /// A slice, concat, pad, fill or sum, on the compute lane of a device.
  struct Call {
    int64_t device;
    Work work;
    llvm::SmallVector<Flow, 2> remote; ///< what it reads on other devices
    double made = 0;                   ///< bytes, of its result
    bool sends = false; ///< whether its result is sent to another device
  };
  std::vector<Flow> sent;  ///< by the copy lanes of the receivers
  std::vector<Call> calls; ///< in order
};

/// `made` overlap where they are terms of a sum. `withKeys`: with the keys by
/// which a profile knows the calls.
Assembly assemble(llvm::ArrayRef<PlacedRegion> made,
                  llvm::ArrayRef<PlacedRegion> read, int64_t elementBytes,
                  bool withKeys);

} // namespace lwcc::plan

#endif // LWCC_PASSES_PLAN_PRICE_ASSEMBLY_H
