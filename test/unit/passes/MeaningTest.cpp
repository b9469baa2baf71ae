//===- MeaningTest.cpp - What movements mean ------------------------------===//
//
// Every movement over a grid of small shapes, element by element: a tensor of
// which each element is a value of its own. Where the elements of the result
// lie behind each other in the operand, they must be found there, each at its
// place; where they do not, the result must be a new value.
//
//===----------------------------------------------------------------------===//

#include "passes/verify/Meaning.h"
#include "Shapes.h"
#include "ir/train/Train.h"

#include "mlir/Parser/Parser.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Sequence.h"
#include "gtest/gtest.h"

#include <numeric>

using namespace mlir;
using namespace lwcc;
using namespace lwcc::meaning;
using namespace lwcc::test;

namespace {

/// By address in a result: the address in the operand.
using Places = std::vector<int64_t>;

void forEachIndex(const Shape &shape,
                  llvm::function_ref<void(const Shape &)> visit) {
  for (int64_t i = 0; i < elementsOf(shape); ++i)
    visit(indexOf(shape, i));
}

class MeaningTest : public ::testing::Test {
protected:
  MeaningTest() { context.loadDialect<train::TrainDialect>(); }
  RankedTensorType type(const Shape &shape) {
    return RankedTensorType::get(shape, Float32Type::get(&context));
  }
  Attribute list(ArrayRef<int64_t> values) {
    return DenseI64ArrayAttr::get(&context, values);
  }
  DictionaryAttr
  fields(std::initializer_list<std::pair<StringRef, Attribute>> all) {
    NamedAttrList fields;
    for (auto [name, value] : all)
      fields.append(name, value);
    return fields.getDictionary(&context);
  }
  Attribute number(int64_t value) {
    return IntegerAttr::get(IntegerType::get(&context, 64), value);
  }

  /// Each element a value: its address and `first`, from 1 on.
  Tensor tensorOf(const Shape &shape, int64_t first = 0) {
    Tensor tensor{type(shape), {}};
    for (int64_t i = 0; i < elementsOf(shape); ++i)
      append(tensor.content, Piece{uint64_t(first + i + 1), 0, 4});
    return tensor;
  }

  /// Compares what a result holds with where its elements come from.
  void check(const Content &content, const Places &places, bool dense) {
    if (!dense) {
      ++made;
      ASSERT_EQ(content.size(), 1u);
      EXPECT_EQ(content[0].bytes, int64_t(places.size()) * 4);
      EXPECT_GT(content[0].value, 1000u) << "no value of the operand's";
      return;
    }
    ++moved;
    ASSERT_EQ(content.size(), places.size());
    for (auto [piece, place] : llvm::zip_equal(content, places))
      EXPECT_EQ(piece.value, uint64_t(place) + 1);
  }
  static bool consecutive(const Places &places) {
    for (size_t i = 1; i < places.size(); ++i)
      if (places[i] != places[i - 1] + 1)
        return false;
    return true;
  }

  MLIRContext context;
  Evaluator evaluator;
  int moved = 0, made = 0; ///< found in the operand, new values
};

TEST_F(MeaningTest, reshapes) {
  for (size_t rank = 0; rank <= 5; ++rank)
    for (const Shape &from : shapesOf(rank))
      for (size_t otherRank : {0, 1, 2, 4})
        for (const Shape &to : shapesOf(otherRank)) {
          if (elementsOf(from) != elementsOf(to))
            continue;
          std::vector<int64_t> source;
          forEachIndex(from, [&](const Shape &index) {
            source.push_back(addressOf(from, index));
          });
          Places places(source.size());
          size_t next = 0;
          forEachIndex(to, [&](const Shape &index) {
            places[addressOf(to, index)] = source[next++];
          });
          meaning::Application reshape{"reshape",        "",        0, {},
                                       {tensorOf(from)}, {type(to)}};
          check(evaluator.evaluate(reshape)[0], places, consecutive(places));
        }
  EXPECT_GT(moved, 0);
  EXPECT_GT(made, 0);
}

TEST_F(MeaningTest, transposes) {
  for (size_t rank = 1; rank <= 5; ++rank)
    for (const Shape &from : shapesOf(rank)) {
      std::vector<int64_t> perm(rank);
      std::iota(perm.begin(), perm.end(), 0);
      do {
        Shape to;
        for (int64_t d : perm)
          to.push_back(from[d]);
        Places places(elementsOf(to));
        forEachIndex(to, [&](const Shape &index) {
          Shape source(rank);
          for (size_t d = 0; d < rank; ++d)
            source[perm[d]] = index[d];
          places[addressOf(to, index)] = addressOf(from, source);
        });
        meaning::Application transpose{
            "transpose",      "",        0, fields({{"perm", list(perm)}}),
            {tensorOf(from)}, {type(to)}};
        check(evaluator.evaluate(transpose)[0], places, consecutive(places));
      } while (std::next_permutation(perm.begin(), perm.end()));
    }
  EXPECT_GT(moved, 0);
  EXPECT_GT(made, 0);
}

/// A call whose list of dimensions names one twice does not pass its operand
/// on, though all extents fit.
TEST_F(MeaningTest, transposesByNoPermutation) {
  for (int64_t rank = 2; rank <= 4; ++rank) {
    Shape ones(rank, 1);
    Shape all(rank, rank);
    forEachIndex(all, [&](const Shape &perm) {
      Shape sorted = perm;
      llvm::sort(sorted);
      bool isPermutation = llvm::equal(sorted, llvm::seq<int64_t>(0, rank));
      meaning::Application transpose{
          "transpose",      "",          0, fields({{"perm", list(perm)}}),
          {tensorOf(ones)}, {type(ones)}};
      check(evaluator.evaluate(transpose)[0], {0}, isPermutation);
    });
  }
}

TEST_F(MeaningTest, slices) {
  for (size_t rank = 1; rank <= 4; ++rank)
    for (const Shape &whole : shapesOf(rank))
      for (const Shape &part : shapesOf(rank)) {
        if (llvm::any_of(llvm::zip_equal(part, whole), [](auto pair) {
              return std::get<0>(pair) > std::get<1>(pair);
            }))
          continue;
        // At the end of each dimension, and with steps where there is room.
        for (int64_t stride : {1, 2}) {
          Shape start, step;
          for (auto [extent, all] : llvm::zip_equal(part, whole)) {
            step.push_back((extent - 1) * stride < all ? stride : 1);
            start.push_back(all - 1 - (extent - 1) * step.back());
          }
          Places places(elementsOf(part));
          forEachIndex(part, [&](const Shape &index) {
            Shape source(rank);
            for (size_t d = 0; d < rank; ++d)
              source[d] = start[d] + index[d] * step[d];
            places[addressOf(part, index)] = addressOf(whole, source);
          });
          meaning::Application slice{
              "slice",
              "",
              0,
              fields({{"start", list(start)}, {"step", list(step)}}),
              {tensorOf(whole)},
              {type(part)}};
          // Two elements may lie behind each other with a step in between.
          bool plain = llvm::all_of(llvm::zip_equal(step, part), [](auto pair) {
            return std::get<0>(pair) == 1 || std::get<1>(pair) == 1;
          });
          check(evaluator.evaluate(slice)[0], places,
                plain && consecutive(places));
        }
      }
  EXPECT_GT(moved, 0);
  EXPECT_GT(made, 0);
}

TEST_F(MeaningTest, splitsAndConcatsAreSlicesOfTheWhole) {
  for (size_t rank = 1; rank <= 4; ++rank)
    for (const Shape &whole : shapesOf(rank))
      for (size_t axis = 0; axis < rank; ++axis)
        for (int64_t cut = 1; cut < whole[axis]; ++cut) {
          Shape low = whole, high = whole;
          low[axis] = cut;
          high[axis] = whole[axis] - cut;
          bool dense = true;
          std::vector<Places> sources;
          for (const Shape &part : {low, high}) {
            Places &places = sources.emplace_back(elementsOf(part));
            forEachIndex(part, [&](const Shape &index) {
              Shape source = index;
              source[axis] += sources.size() == 1 ? 0 : cut;
              places[addressOf(part, index)] = addressOf(whole, source);
            });
            dense &= consecutive(places);
          }
          meaning::Application split{
              "split",
              "",
              0,
              fields(
                  {{"axis", number(axis)}, {"sizes", list({cut, high[axis]})}}),
              {tensorOf(whole)},
              {type(low), type(high)}};
          auto parts = evaluator.evaluate(split);
          for (auto [part, places] : llvm::zip_equal(parts, sources))
            check(part, places, consecutive(places));
          // What does not fit is another operation, with results of its own.
          split.results[1] = type(whole);
          EXPECT_NE(Evaluator::numberOf(evaluator.evaluate(split)[0]),
                    Evaluator::numberOf(parts[0]));
          meaning::Application concat{
              "concat",
              "",
              0,
              fields({{"axis", number(axis)}}),
              {tensorOf(low), tensorOf(high, elementsOf(low))},
              {type(whole)}};
          Places joined(elementsOf(whole));
          int64_t number = 0;
          for (const Places &places : sources)
            for (int64_t place : places)
              joined[place] = number++;
          check(evaluator.evaluate(concat)[0], joined, dense);
        }
  EXPECT_GT(moved, 0);
  EXPECT_GT(made, 0);
}

TEST_F(MeaningTest, everythingElseDependsOnAllItIsGiven) {
  Shape shape = {2, 3};
  Tensor a = tensorOf(shape), b = tensorOf(shape, 6);
  meaning::Application map{"map", "x0 + x1", 2, {}, {a, b}, {type(shape)}};
  std::vector<meaning::Application> others(8, map);
  others[0].expression = "x0 - x1";
  others[1].operands = {b, a};
  others[2].callee = "sum";
  others[3].inputs = 1;
  others[4].fields = fields({{"begin", list({0})}});
  others[5].results = {type({3, 2})};
  others[6].operands[1].type = type({1, 6});
  others[7].operands[1].content.back().first = 4;
  int64_t number = Evaluator::numberOf(evaluator.evaluate(map)[0]);
  EXPECT_EQ(number, Evaluator::numberOf(evaluator.evaluate(map)[0]));
  for (auto &other : others)
    EXPECT_NE(number, Evaluator::numberOf(evaluator.evaluate(other)[0]));
  // An optional tensor may be left out, or listed as absent.
  meaning::Application absent = map;
  absent.operands.push_back({});
  EXPECT_EQ(number, Evaluator::numberOf(evaluator.evaluate(absent)[0]));
}

/// What a sequence is told if it does not do what it was made for.
TEST_F(MeaningTest, messagesNameTheBuffer) {
  context.loadDialect<exec::ExecDialect>();
  auto module = parseSourceString<ModuleOp>(R"(
    exec.program @p {
      exec.device @gpu0 node 0 gpu 0 arena 1536
      exec.lane compute @compute on @gpu0
      exec.buffer input @x : tensor<4xf32> on @gpu0 at 0
      exec.buffer input @y : tensor<4xf32> on @gpu0 at 256
      exec.buffer trainable @w : tensor<4xf32> on @gpu0 at 512
      exec.buffer trainable @v : tensor<4xf32> on @gpu0 at 768
      exec.buffer loss @loss : tensor<4xf32> on @gpu0 at 1024
      exec.sequence @train_step {
        exec.call "sum" [@x, @y] -> [@loss] on @compute for "a" forward
        exec.call "sum" [@w, @x] -> [@w] on @compute for "a" update
      }
      exec.sequence @evaluate {
      }
    })",
                                            &context);
  ASSERT_TRUE(module);
  auto program = *module->getOps<exec::ProgramOp>().begin();
  auto step = *program.getBody().getOps<exec::SequenceOp>().begin();
  EXPECT_TRUE(succeeded(verifyMeaning(step))) << "nothing is demanded";
  step.setMeaning(meaningOf(step));
  EXPECT_TRUE(succeeded(verifyMeaning(step)));
  EXPECT_EQ(step.getMeaning()->size(), 5u);

  std::string messages;
  ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
    messages += diagnostic.str() + "\n";
  });
  auto update = *std::next(step.getBody().getOps<exec::CallOp>().begin());
  auto ref = [&](StringRef name) {
    return FlatSymbolRefAttr::get(&context, name);
  };
  Builder builder(&context);
  update.setInsAttr(builder.getArrayAttr({ref("w"), ref("y")}));
  EXPECT_TRUE(failed(verifyMeaning(step)));
  update.setInsAttr(builder.getArrayAttr({ref("v"), ref("x")}));
  update.setOutsAttr(builder.getArrayAttr({ref("v")}));
  EXPECT_TRUE(failed(verifyMeaning(step)));
  EXPECT_EQ(messages,
            "'exec.sequence' op leaves another value in @w than it was made to "
            "compute\n"
            "'exec.sequence' op leaves @w as it was, which is not what was to "
            "be there\n"
            "'exec.sequence' op writes @v, which was to be left as it was\n");
}

TEST_F(MeaningTest, saysWhatTheTrainerIsTold) {
  context.loadDialect<exec::ExecDialect>();
  auto module = parseSourceString<ModuleOp>(R"(
    exec.program @p {
      exec.device @gpu0 node 0 gpu 0 arena 256
      exec.buffer trainable @w : tensor<4xf32> on @gpu0 at 0 {exec.begin = array<i64: 0>, exec.dims = array<i64: 8>}
      exec.sequence @evaluate {
      }
    })",
                                            &context);
  ASSERT_TRUE(module);
  auto program = *module->getOps<exec::ProgramOp>().begin();
  auto sequence = *program.getBody().getOps<exec::SequenceOp>().begin();
  sequence.setMeaning(meaningOf(sequence));
  ScopedDiagnosticHandler silence(&context, [](Diagnostic &) {});
  auto expectRejected = [&](auto change) {
    OwningOpRef<ModuleOp> other = module->clone();
    auto program = *other->getOps<exec::ProgramOp>().begin();
    auto step = *program.getBody().getOps<exec::SequenceOp>().begin();
    EXPECT_TRUE(succeeded(verifyMeaning(step)));
    change(*program.getBody().getOps<exec::BufferOp>().begin());
    EXPECT_TRUE(failed(verifyMeaning(step)));
  };
  Builder builder(&context);
  expectRejected([](exec::BufferOp w) { w.setRole(Role::statistic); });
  expectRejected([&](exec::BufferOp w) {
    w->setAttr("exec.begin", builder.getDenseI64ArrayAttr({4}));
  });
  expectRejected([&](exec::BufferOp w) { w.setTensor("v"); });
}

} // namespace
