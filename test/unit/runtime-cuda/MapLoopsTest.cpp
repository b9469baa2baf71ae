//===- MapLoopsTest.cpp - The loops of elementwise kernels ----------------===//
//
// Runs the loops on the host as the two kernels do, and compares what they
// touch with the tensors' own index calculus.
//
//===----------------------------------------------------------------------===//

#include "runtime/cuda/MapLoops.h"

#include <gtest/gtest.h>

using namespace lwcc::rt;
using namespace lwcc::rt::cuda;

namespace {

/// What an element of y was computed from: offsets in the inputs and its index.
struct Element {
  std::vector<int64_t> x;
  int64_t index = -1;
  bool operator==(const Element &) const = default;
};

/// A tensor whose memory nobody touches; only the address matters.
Tensor fake(std::vector<int64_t> dims, uintptr_t address = 4096) {
  return Tensor(reinterpret_cast<void *>(address), DType::f32, dims.data(),
                static_cast<int>(dims.size()),
                dims.size() == 4 ? Layout::nhwc : Layout::dense);
}

/// mapItem's arithmetic: by offset of y.
void replay(const MapArguments &a, bool vector, const Tensor &y,
            const Tensors &xs, std::vector<Element> &out) {
  for (int64_t item = 0; item < a.items; ++item) {
    int64_t rest = item, atY = 0, index = a.indexStart;
    std::vector<int64_t> atX(xs.size(), 0);
    for (int d = a.rank - 1; d >= 0; --d) {
      int64_t at = d == 0 ? rest : rest % a.extent[d];
      rest = d == 0 ? 0 : rest / a.extent[d];
      atY += at * a.strideY[d];
      index += at * a.strideIndex[d];
      for (size_t k = 0; k < xs.size(); ++k)
        atX[k] += at * a.strideX[k][d];
    }
    for (int v = 0; v < (vector ? 4 : 1); ++v) {
      Element e;
      e.index = index + v * a.indexStep;
      for (size_t k = 0; k < xs.size(); ++k)
        e.x.push_back((static_cast<const float *>(a.x[k]) - xs[k].as<float>()) +
                      atX[k] + (vector && a.dense[k] ? v : 0));
      auto at = static_cast<size_t>(
          (static_cast<float *>(a.y) - y.as<float>()) + atY + v);
      ASSERT_LT(at, out.size());
      EXPECT_EQ(out[at].index, -1) << "an element is written twice";
      out[at] = e;
    }
  }
}

/// Checks the loops of a map; returns whether it runs four at a time.
bool checkLoops(const Tensor &y, const Tensors &xs) {
  StepScalars scalars;
  Tensor s(&scalars, DType::u8, {64}, Layout::dense);
  MapLoops loops = mapLoops(y, xs, s);
  std::vector<Element> got(static_cast<size_t>(y.elements()));
  replay(loops.main, loops.vector, y, xs, got);
  if (loops.tail.items)
    replay(loops.tail, false, y, xs, got);

  for (int64_t i = 0; i < y.elements(); ++i) {
    int64_t rest = i, atY = 0;
    Element expected;
    expected.index = i;
    expected.x.assign(xs.size(), 0);
    for (int d = y.rank - 1; d >= 0; --d) {
      int64_t at = rest % y.dim[d];
      rest /= y.dim[d];
      atY += at * y.stride[d];
      for (size_t k = 0; k < xs.size(); ++k) {
        int e = d - (y.rank - xs[k].rank);
        if (e >= 0 && xs[k].dim[e] != 1)
          expected.x[k] += at * xs[k].stride[e];
      }
    }
    EXPECT_EQ(got[static_cast<size_t>(atY)], expected) << "element " << i;
  }
  // Without an index the loops may merge further, over the same elements.
  MapLoops plain = mapLoops(y, xs, {});
  EXPECT_LE(plain.main.rank, loops.main.rank);
  return plain.vector;
}

TEST(MapLoops, DenseTensorsAreOneLoopWithATail) {
  Tensor y = fake({2, 3, 4, 5}), x = fake({2, 3, 4, 5});
  MapLoops loops = mapLoops(y, {x}, {});
  EXPECT_TRUE(loops.vector);
  EXPECT_EQ(loops.main.rank, 1);
  EXPECT_EQ(loops.main.items, 30);
  EXPECT_EQ(loops.tail.items, 0);
  loops = mapLoops(fake({7}), {fake({7})}, {});
  EXPECT_EQ(loops.main.items, 1);
  EXPECT_EQ(loops.tail.items, 3);
  EXPECT_TRUE(checkLoops(y, {x}));
  EXPECT_TRUE(checkLoops(fake({37}), {fake({37}), fake({})}));
}

TEST(MapLoops, AChannelOperandKeepsFourAtATime) {
  Tensor y = fake({2, 8, 3, 5});
  MapLoops loops = mapLoops(y, {y, fake({8, 1, 1})}, {});
  EXPECT_TRUE(loops.vector);
  EXPECT_EQ(loops.main.rank, 2);
  EXPECT_TRUE(checkLoops(y, {y, fake({8, 1, 1}), fake({1, 8, 1, 1})}));
  EXPECT_FALSE(checkLoops(fake({2, 6, 3, 5}), {fake({6, 1, 1})}));
}

TEST(MapLoops, BroadcastsOfEveryKind) {
  for (const auto &dims : {std::vector<int64_t>{2, 8, 3, 4}, {2, 3, 4, 5}})
    for (int mask = 0; mask < 16; ++mask) {
      auto small = dims;
      for (int d = 0; d < 4; ++d)
        if (mask & (1 << d))
          small[d] = 1;
      checkLoops(fake(dims), {fake(dims), fake(small)});
    }
  checkLoops(fake({3, 7, 5}), {fake({7, 1}), fake({3, 1, 5}), fake({5})});
  checkLoops(fake({}), {fake({})});
  checkLoops(fake({4}), {});
}

TEST(MapLoops, UnalignedTensorsGoOneAtATime) {
  EXPECT_FALSE(checkLoops(fake({64}, 4100), {fake({64})}));
  EXPECT_FALSE(checkLoops(fake({64}), {fake({64}, 4104)}));
}

TEST(MapLoops, ManyElementsNeedOneLoop) {
  const int64_t half = int64_t(1) << 31;
  MapLoops loops = mapLoops(fake({half, 4}), {fake({half, 4})}, {});
  EXPECT_EQ(loops.main.items, half);
  EXPECT_NO_THROW(mapLoops(fake({half, 4}), {fake({4})}, {}));
  EXPECT_THROW(mapLoops(fake({4 * half, 4}), {fake({4})}, {}),
               std::runtime_error);
}

} // namespace
