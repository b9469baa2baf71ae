//===- CallTest.cpp - What a profile knows a call by ----------------------===//

#include "passes/plan/model/Call.h"

#include "ir/train/Train.h"
#include "passes/shard/TileRules.h"

#include "mlir/Parser/Parser.h"

#include "gtest/gtest.h"

using namespace mlir;
using namespace lwcc;

namespace {

class CallTest : public ::testing::Test {
protected:
  CallTest() { context.loadDialect<func::FuncDialect, train::TrainDialect>(); }

  /// The key of an op on a tensor of 2x3x4x5.
  std::string keyOf(llvm::StringRef op, llvm::StringRef result) {
    std::string text =
        "func.func @f(%x: tensor<2x3x4x5xf32>) {\n  %y = " + op.str() +
        " : (tensor<2x3x4x5xf32>) -> " + result.str() + "\n  return\n}";
    auto module = parseSourceString<ModuleOp>(text, &context);
    if (!module)
      return "does not parse";
    auto func = *module->getOps<func::FuncOp>().begin();
    Operation *made = &func.getBody().front().front();
    train::Tile whole = shard::tileOf(made, tiling::Cuts(), {});
    return plan::keyOf(made, whole);
  }
  MLIRContext context;
};

TEST_F(CallTest, TransposesDifferByTheirPermutation) {
  EXPECT_EQ(keyOf("train.transpose(%x) {perm = array<i64: 0, 2, 3, 1>}",
                  "tensor<2x4x5x3xf32>"),
            "transpose perm=0x2x3x1 2x4x5x3 < 2x3x4x5");
  EXPECT_EQ(keyOf("train.transpose(%x) {perm = array<i64: 0, 1, 3, 2>}",
                  "tensor<2x3x5x4xf32>"),
            "transpose perm=0x1x3x2 2x3x5x4 < 2x3x4x5");
}

TEST_F(CallTest, FieldsAtTheirDefaultsAreNotSaid) {
  EXPECT_EQ(
      keyOf("train.reduce(%x) {axes = array<i64: 0, 2>}", "tensor<3x5xf32>"),
      "reduce axes=0x2 3x5 < 2x3x4x5");
  EXPECT_EQ(keyOf("train.reduce(%x) {axes = array<i64: 0, 2>, mean = true}",
                  "tensor<3x5xf32>"),
            "reduce axes=0x2 mean=1 3x5 < 2x3x4x5");
  EXPECT_EQ(keyOf("train.avg_pool(%x) {kernel = array<i64: 2, 1>, "
                  "pad = array<i64: 1, 0, 1, 0>, stride = array<i64: 1, 1>}",
                  "tensor<2x3x5x5xf32>"),
            "avg_pool kernel=2x1 2x3x5x5 < 2x3x4x5");
}

} // namespace
