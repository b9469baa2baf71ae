//===- SplitSlices.cpp - Slices that take a tensor apart ------------------===//
//
// Exporters take queries, keys and values out of one product by three Gathers,
// which are slices. Each slice's gradient is a whole tensor, of zeros but for a
// part, and these are added. This pass makes one train.split of slices that
// together have every element once: its gradient is a concat.
//
// Leaves slices of parameters alone, which are views that updates work in.
//
//===----------------------------------------------------------------------===//

#include "ir/train/Train.h"
#include "passes/Passes.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/STLExtras.h"

namespace lwcc {
#define GEN_PASS_DEF_SPLITSLICES
#include "passes/Passes.h.inc"
} // namespace lwcc

using namespace mlir;
using namespace lwcc;
using namespace lwcc::train;

/// The only axis along which a slice is not whole, if its elements are next to
/// each other.
static std::optional<int64_t> axisOf(SliceOp slice) {
  ArrayRef<int64_t> from = typeOf(slice.getX()).getShape(),
                    to = typeOf(slice.getY()).getShape();
  std::optional<int64_t> axis;
  for (auto [d, extent] : llvm::enumerate(to)) {
    if (extent == from[d])
      continue;
    if (axis || (extent > 1 && slice.getStep()[d] != 1))
      return std::nullopt;
    axis = d;
  }
  return axis;
}

/// Makes a split of those slices of a value that take it apart along an axis.
static void splitAlong(Value x, int64_t axis, SmallVector<SliceOp> slices) {
  auto startOf = [&](SliceOp slice) { return slice.getStart()[axis]; };
  SliceOp first = *llvm::min_element(
      slices, [](SliceOp a, SliceOp b) { return a->isBeforeInBlock(b); });
  llvm::sort(slices,
             [&](SliceOp a, SliceOp b) { return startOf(a) < startOf(b); });
  SmallVector<int64_t> sizes;
  SmallVector<Type> types;
  SmallVector<StringRef> names;
  int64_t next = 0;
  for (SliceOp slice : slices) {
    if (startOf(slice) != next)
      return;
    sizes.push_back(typeOf(slice.getY()).getDimSize(axis));
    types.push_back(slice.getType());
    names.push_back(nameOf(slice.getY()));
    next += sizes.back();
  }
  if (next != typeOf(x).getDimSize(axis))
    return;
  OpBuilder builder(first);
  auto split = SplitOp::create(builder, first.getLoc(), types, x, axis, sizes);
  setWork(split, layerOf(first), Phase::forward);
  setNames(split, names);
  for (auto [slice, part] : llvm::zip_equal(slices, split.getYs())) {
    slice.getY().replaceAllUsesWith(part);
    slice.erase();
  }
}

namespace {
struct SplitSlicesPass : lwcc::impl::SplitSlicesBase<SplitSlicesPass> {
  using SplitSlicesBase::SplitSlicesBase;

  void runOnOperation() override {
    auto func = getOperation().lookupSymbol<func::FuncOp>(modelFunc);
    if (!func)
      return;
    // By value and axis, in the order of the program.
    llvm::MapVector<std::pair<Value, int64_t>, SmallVector<SliceOp>> found;
    for (auto slice : func.getBody().front().getOps<SliceOp>())
      if (std::optional<int64_t> axis = axisOf(slice);
          axis && !slice.getX().getDefiningOp<ReadOp>())
        found[{slice.getX(), *axis}].push_back(slice);
    for (auto &[of, slices] : found)
      if (slices.size() > 1) // of what may be a part of a split by now
        splitAlong(slices.front().getX(), of.second, slices);
  }
};
} // namespace
