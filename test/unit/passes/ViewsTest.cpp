//===- ViewsTest.cpp - Views and kernel names -----------------------------===//
//
// Every answer of the view arithmetic is compared with the addresses of all
// elements, over a grid of small shapes.
//
//===----------------------------------------------------------------------===//

#include "ir/exec/Views.h"
#include "Shapes.h"
#include "passes/schedule/Names.h"

#include "llvm/ADT/STLExtras.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace lwcc;
using namespace lwcc::test;

namespace {

class Views : public ::testing::Test {
protected:
  RankedTensorType type(Shape shape) {
    return RankedTensorType::get(shape, Float32Type::get(&context));
  }
  MLIRContext context;
};

TEST_F(Views, reshapesMoveNothingExactlyWhereAllAddressesAgree) {
  int views = 0, moves = 0;
  for (size_t rank = 1; rank <= 5; ++rank)
    for (const Shape &from : shapesOf(rank))
      for (size_t otherRank : {2, 4})
        for (const Shape &to : shapesOf(otherRank)) {
          if (elementsOf(from) != elementsOf(to))
            continue;
          bool same = true;
          for (int64_t i = 0; i < elementsOf(from); ++i)
            same &= addressOf(from, indexOf(from, i)) ==
                    addressOf(to, indexOf(to, i));
          EXPECT_EQ(isReshapeView(type(from), type(to)), same);
          ++(same ? views : moves);
        }
  EXPECT_GT(views, 100);
  EXPECT_GT(moves, 100);
}

TEST_F(Views, transposesMoveNothingExactlyWhereAllAddressesAgree) {
  for (size_t rank : {2, 3, 4}) {
    Shape perm(rank);
    std::iota(perm.begin(), perm.end(), 0);
    do {
      for (const Shape &from : shapesOf(rank)) {
        Shape to;
        for (int64_t dim : perm)
          to.push_back(from[dim]);
        bool same = true;
        for (int64_t i = 0; i < elementsOf(to); ++i) {
          Shape index = indexOf(to, i), source(rank);
          for (size_t dim = 0; dim < rank; ++dim)
            source[perm[dim]] = index[dim];
          same &= addressOf(to, index) == addressOf(from, source);
        }
        EXPECT_EQ(isTransposeView(type(from), type(to), perm), same);
      }
    } while (std::next_permutation(perm.begin(), perm.end()));
  }
}

TEST_F(Views, partsAreViewsExactlyWhereTheyAreDenseAndAligned) {
  int found = 0;
  for (Shape whole : {Shape{4, 64}, Shape{2, 64, 2, 2}, Shape{1, 128, 1, 1},
                      Shape{2, 4, 8, 8}, Shape{3, 2, 64}, Shape{1, 1, 4, 64}})
    for (size_t axis = 0; axis < whole.size(); ++axis)
      for (int64_t at = 0; at < whole[axis]; ++at) {
        Shape part = whole, begin(whole.size(), 0);
        part[axis] = std::max<int64_t>(1, whole[axis] / 2);
        if (at + part[axis] > whole[axis])
          continue;
        begin[axis] = at;
        int64_t offset = addressOf(whole, begin) * 4;
        bool dense = offset % exec::arenaAlignment == 0;
        for (int64_t i = 0; i < elementsOf(part); ++i) {
          Shape index = indexOf(part, i), source = index;
          source[axis] += at;
          dense &= addressOf(whole, source) * 4 ==
                   offset + addressOf(part, index) * 4;
        }
        std::optional<int64_t> answer =
            partOffset(type(whole), type(part), begin);
        EXPECT_EQ(answer.has_value(), dense);
        if (answer) {
          EXPECT_EQ(*answer, offset);
          ++found;
        }
      }
  EXPECT_GT(found, 10);
}

TEST(Names, kernelsAreNamedByWhatTheyCompute) {
  auto name = [](StringRef text) {
    return kernelName(llvm::cantFail(Expression::parse(text)));
  };
  EXPECT_EQ(name("max(x0, 0.0f)"), "relu");
  EXPECT_EQ(name("max(x0 + x1, 0.0f)"), "add_relu");
  EXPECT_EQ(name("x1 <= 0.0f ? 0.0f : x0"), "relu_grad");
  EXPECT_EQ(name("x0 * 0.25f"), "scale");
  EXPECT_EQ(name("x0 * x1 * 0.25f"), "mul_scale");
  EXPECT_EQ(name("x0 * dropout_mask(0.5f, 7u)"), "dropout");
  EXPECT_EQ(name("(x0 - x1) * (x2 * x3) + x4"), "batch_norm_apply");
  EXPECT_EQ(name("max((x0 - x1) * (x2 * x3) + x4, 0.0f)"),
            "batch_norm_apply_relu");
  EXPECT_EQ(name("x0"), "map");
}

TEST(Names, namesAreUniqueAndDeterministic) {
  Namer namer;
  EXPECT_EQ(namer.unique("a"), "a");
  EXPECT_EQ(namer.unique("a"), "a_2");
  EXPECT_EQ(namer.unique("a_3"), "a_3");
  EXPECT_EQ(namer.unique("a"), "a_4");
}

} // namespace
