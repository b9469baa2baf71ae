//===- ElementMap.cpp - Where the elements of a value come from -----------===//
//
// A dimension of the value is one or more steps: an extent and a stride,
// outermost first. Of a reshape nothing changes, since elements are counted
// row-major. Any other op has a shape in which a step must be along a single
// dimension, so that its stride becomes another one; steps along several are
// cut.
//
//===----------------------------------------------------------------------===//

#include "passes/differentiate/ElementMap.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace lwcc;
using namespace lwcc::train;

using Numbers = SmallVector<int64_t>;

namespace {
struct Step {
  int64_t extent, stride;
};
/// Of one dimension of the value, outermost first.
using Steps = SmallVector<Step, 2>;

/// Elements of a tensor, counted row-major.
struct Elements {
  int64_t offset = 0;
  SmallVector<Steps> dims;
};
} // namespace

static Numbers rowMajor(ArrayRef<int64_t> shape) {
  Numbers strides(shape.size(), 1);
  for (size_t d = shape.size(); d-- > 1;)
    strides[d - 1] = strides[d] * shape[d];
  return strides;
}

/// The dimension of `shape` along which a stride leads, and by how many
/// elements of it; nothing if it leads along several.
static std::optional<std::pair<size_t, int64_t>>
dimensionOf(int64_t stride, ArrayRef<int64_t> shape, ArrayRef<int64_t> own) {
  for (auto [d, extent] : llvm::enumerate(shape))
    if (extent > 1 && stride >= own[d])
      return stride % own[d] == 0 ? std::optional(std::pair(d, stride / own[d]))
                                  : std::nullopt;
  return std::nullopt;
}

/// Rewrites elements of a tensor of this shape as elements of another one, in
/// which dimension d has this stride, and where the first element is at `base`.
static bool mapTo(Elements &elements, ArrayRef<int64_t> shape,
                  ArrayRef<int64_t> strides, int64_t base) {
  const Numbers own = rowMajor(shape);
  Numbers last(shape.size());
  int64_t left = elements.offset;
  Elements result;
  result.offset = base;
  for (auto [d, stride] : llvm::enumerate(own)) {
    last[d] = left / stride;
    left %= stride;
    result.offset += last[d] * strides[d];
  }
  for (const Steps &steps : elements.dims) {
    Steps &made = result.dims.emplace_back();
    SmallVector<Step> todo(llvm::reverse(steps)); // the outermost last
    while (!todo.empty()) {
      Step step = todo.pop_back_val();
      auto along = dimensionOf(step.stride, shape, own);
      if (!along)
        return false;
      auto [d, by] = *along;
      // What goes on in the dimension ahead is a step of its own.
      const int64_t room = (shape[d] + by - 1) / by;
      if (step.extent > room) {
        if (shape[d] % by != 0 || step.extent % room != 0)
          return false;
        todo.push_back({room, step.stride});
        todo.push_back({step.extent / room, step.stride * room});
        continue;
      }
      last[d] += by * (step.extent - 1);
      made.push_back({step.extent, by * strides[d]});
    }
  }
  for (auto [d, extent] : llvm::enumerate(shape))
    if (last[d] >= extent)
      return false;
  elements = std::move(result);
  return true;
}

/// Where elements of `value` are in the operand of the op that makes it.
static bool mapToOperand(Elements &elements, Value value) {
  Operation *op = value.getDefiningOp();
  ArrayRef<int64_t> shape = typeOf(value).getShape();
  if (isa<ReshapeOp>(op))
    return true;
  const Numbers from = rowMajor(typeOf(op->getOperand(0)).getShape());
  if (auto transpose = dyn_cast<TransposeOp>(op)) {
    Numbers strides;
    for (int64_t d : transpose.getPerm())
      strides.push_back(from[d]);
    return mapTo(elements, shape, strides, 0);
  }
  const Movement movement = movementOf(op);
  if (movement.kind != Movement::parts ||
      !llvm::all_of(movement.step, [](int64_t step) { return step == 1; }))
    return false;
  int64_t base = 0;
  const unsigned part = cast<OpResult>(value).getResultNumber();
  for (auto [begin, stride] : llvm::zip_equal(movement.begins[part], from))
    base += begin * stride;
  return mapTo(elements, shape, from, base);
}

/// The steps of each dimension as one; nothing where they are not.
static std::optional<Numbers> stridesOf(const Elements &elements) {
  Numbers strides;
  for (const Steps &steps : elements.dims) {
    for (auto [outer, inner] : llvm::zip(steps, llvm::drop_begin(steps)))
      if (outer.stride != inner.stride * inner.extent)
        return std::nullopt;
    strides.push_back(steps.empty() ? 0 : steps.back().stride);
  }
  return strides;
}

ElementMap lwcc::elementsOf(Value value) {
  ArrayRef<int64_t> shape = typeOf(value).getShape();
  Elements elements;
  ElementMap found{value, 0, rowMajor(shape)};
  for (auto [extent, stride] : llvm::zip_equal(shape, found.strides)) {
    Steps &steps = elements.dims.emplace_back();
    if (extent > 1)
      steps.push_back({extent, stride});
  }
  for (Value at = value; Operation *op = at.getDefiningOp();) {
    if (!isa<ReshapeOp, TransposeOp, SplitOp, SliceOp>(op) ||
        !mapToOperand(elements, at))
      break;
    at = op->getOperand(0);
    // In between they may be at other distances.
    if (std::optional<Numbers> strides = stridesOf(elements))
      found = {at, elements.offset, *strides, op};
  }
  return found;
}
