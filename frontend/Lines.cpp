//===- Lines.cpp - Tensors as lines along one axis ------------------------===//

#include "frontend/Lines.h"
#include "frontend/Rewrites.h"
#include "frontend/WholeNumbers.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Sequence.h"

#include <algorithm>

using namespace lwcc;
using namespace mlir;
using namespace llvm;

Lines::Lines(NodeImporter &node, ArrayRef<int64_t> shape, int64_t axis)
    : node(node), perm(to_vector(seq<int64_t>(0, shape.size()))) {
  std::rotate(perm.begin() + axis, perm.begin() + axis + 1, perm.end());
  for (int64_t d : perm)
    moved.push_back(shape[d]);
  samples = axis == 0 ? 1 : shape[0];
  count = *elementCount(ArrayRef(moved).drop_back());
}

Value Lines::split(Value x) const {
  return node.reshape(rewrite::transpose(node, x, perm),
                      {samples, count / samples, moved.back()});
}

Value Lines::join(Value lines) const {
  Shape shape = moved, back(perm.size());
  shape.back() = shapeOf(lines).back();
  for (auto [i, d] : enumerate(perm))
    back[d] = i;
  return rewrite::transpose(node, node.reshape(lines, shape), back);
}

std::vector<int64_t> Lines::split(ArrayRef<int64_t> elements,
                                  ArrayRef<int64_t> shape) const {
  Shape own = stridesOf(shape);
  std::vector<int64_t> lines;
  for (int64_t i : seq<int64_t>(0, elements.size())) {
    int64_t at = 0, rest = i;
    for (int64_t d = int64_t(perm.size()) - 1; d >= 0; --d) {
      at += rest % moved[d] * own[perm[d]];
      rest /= moved[d];
    }
    lines.push_back(elements[at]);
  }
  return lines;
}

Value lwcc::placesAlong(NodeImporter &node, int64_t extent) {
  if (extent > mostWhole) {
    (void)node.fail("compares " + Twine(extent) +
                    " elements of an axis; at most 2^24 are supported");
    return {};
  }
  HostTensor places = HostTensor::empty(HostTensor::Kind::real, {extent});
  for (int64_t i : seq<int64_t>(0, extent))
    places.reals.push_back(float(i));
  return node.stored(std::move(places));
}
