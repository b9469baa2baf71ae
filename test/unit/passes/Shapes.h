//===- Shapes.h - Small shapes and where their elements lie -----*- C++ -*-===//
//
// Small shapes, and the addresses of their elements by definition. For tests
// that check the compiler's arithmetic on layouts (ir/exec/Views.cpp,
// passes/verify/Meaning.cpp) by enumeration. Shares no code with the compiler.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_TEST_UNIT_PASSES_SHAPES_H
#define LWCC_TEST_UNIT_PASSES_SHAPES_H

#include <cstdint>
#include <functional>
#include <numeric>
#include <vector>

namespace lwcc::test {

using Shape = std::vector<int64_t>;

inline int64_t elementsOf(const Shape &shape) {
  return std::accumulate(shape.begin(), shape.end(), int64_t(1),
                         std::multiplies<>());
}

/// The address of an element: channels-last for rank 4, else row-major.
inline int64_t addressOf(const Shape &shape, const Shape &index) {
  Shape order(shape.size());
  std::iota(order.begin(), order.end(), 0);
  if (shape.size() == 4)
    order = {0, 2, 3, 1};
  int64_t address = 0;
  for (int64_t dim : order)
    address = address * shape[dim] + index[dim];
  return address;
}

/// The index of the element at position `rowMajor` of the logical order.
inline Shape indexOf(const Shape &shape, int64_t rowMajor) {
  Shape index(shape.size());
  for (size_t dim = shape.size(); dim-- > 0;) {
    index[dim] = rowMajor % shape[dim];
    rowMajor /= shape[dim];
  }
  return index;
}

/// All shapes of a rank with extents 1 to 3.
inline std::vector<Shape> shapesOf(size_t rank) {
  std::vector<Shape> shapes = {{}};
  for (size_t dim = 0; dim < rank; ++dim) {
    std::vector<Shape> longer;
    for (const Shape &shape : shapes)
      for (int64_t extent : {1, 2, 3}) {
        longer.push_back(shape);
        longer.back().push_back(extent);
      }
    shapes = longer;
  }
  return shapes;
}

} // namespace lwcc::test

#endif // LWCC_TEST_UNIT_PASSES_SHAPES_H
