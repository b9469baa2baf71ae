//===- KernelsTest.cpp - Has every operator all of its pieces? ------------===//
//
// Walks the runtime calls of the train dialect. What a record says must be what
// the runtime has: a function of the same name, fields with the same defaults.
//
//===----------------------------------------------------------------------===//

#include "ir/train/Train.h"
#include "tools/lwcc-run/Registry.h"

#include "gtest/gtest.h"

#include <tuple>

using namespace mlir;
using namespace lwcc;

namespace {

class KernelsTest : public ::testing::Test {
protected:
  KernelsTest() { context.loadDialect<train::TrainDialect>(); }
  MLIRContext context;
};

//===----------------------------------------------------------------------===//
// Parameter structs
//===----------------------------------------------------------------------===//

/// What a field of a default struct holds, as the attribute of an op.
class Fields {
public:
  explicit Fields(MLIRContext *context) : builder(context) {}

  void operator()(StringRef name, bool value) {
    values[name] = builder.getBoolAttr(value);
  }
  void operator()(StringRef name, int64_t value) {
    values[name] = builder.getI64IntegerAttr(value);
  }
  void operator()(StringRef name, float value) {
    values[name] = builder.getF32FloatAttr(value);
  }
  void operator()(StringRef name, ArrayRef<int64_t> value) {
    values[name] = builder.getDenseI64ArrayAttr(value);
  }
  template <size_t n>
  void operator()(StringRef name, const std::array<int64_t, n> &value) {
    (*this)(name, ArrayRef<int64_t>(value.data(), n));
  }

  std::map<StringRef, Attribute> values;

private:
  Builder builder;
};

/// Calls `visit` with the default of the struct that a function takes last, if
/// it takes one.
template <typename... Args, typename Visit>
void withParams(void (*)(rt::Lane &, Args...), Visit visit) {
  using All = std::tuple<std::decay_t<Args>...>;
  using Last = std::tuple_element_t<sizeof...(Args) - 1, All>;
  if constexpr (!std::is_same_v<Last, rt::Tensor> &&
                !std::is_same_v<Last, rt::Tensors>)
    visit(Last{});
}

struct Row {
  StringRef name;
  void (*visit)(Fields &fields);
};

#define LWCC_FIELD(field) fields(#field, params.field);
#define LWCC_CALL(function, visits)                                            \
  [](Fields &fields) {                                                         \
    withParams(&rt::function, [&](const auto &params) { visits; });            \
  }
#define GET_Kernels_IMPL
#include "tools/lwcc-run/Kernels.inc"

TEST_F(KernelsTest, EveryCallIsAFunctionOfTheRuntime) {
  for (StringRef name : train::kernelNames(&context))
    EXPECT_TRUE(name == "map" /*generated*/ || findInvoke(name)) << name.str();
  EXPECT_EQ(train::kernelNames(&context).size(), std::size(Kernels) + 1);
}

TEST_F(KernelsTest, FieldsAreThoseOfTheStructWithItsDefaults) {
  for (const Row &row : Kernels) {
    const train::Kernel *kernel = train::findKernel(&context, row.name);
    ASSERT_TRUE(kernel) << row.name.str();
    Fields fields(&context);
    row.visit(fields);
    EXPECT_EQ(fields.values.size(), kernel->fields().size()) << row.name.str();
    for (auto [name, value] : fields.values) {
      EXPECT_TRUE(llvm::is_contained(kernel->fields(), name));
      Attribute usual = kernel->defaultOf(&context, name);
      EXPECT_TRUE(!usual || usual == value)
          << row.name.str() << " " << name.str();
    }
  }
}

//===----------------------------------------------------------------------===//
// Records
//===----------------------------------------------------------------------===//

TEST_F(KernelsTest, NoNameIsNoKernel) {
  for (StringRef name : {"", "batch_norm", "read", "softplus", "train.conv"})
    EXPECT_FALSE(train::findKernel(&context, name)) << name.str();
}

TEST_F(KernelsTest, GradientsAreMarked) {
  for (RegisteredOperationName op :
       context.getRegisteredOperationsByDialect("train")) {
    bool named = op.stripDialect().contains("_grad");
    EXPECT_EQ(op.hasTrait<train::GradientOp>(), named)
        << op.getStringRef().str();
  }
}

TEST_F(KernelsTest, PricedFieldsAreFields) {
  for (StringRef name : train::kernelNames(&context)) {
    const train::Kernel *kernel = train::findKernel(&context, name);
    for (StringRef field : kernel->pricedFields())
      EXPECT_TRUE(llvm::is_contained(kernel->fields(), field))
          << name.str() << " " << field.str();
  }
}

TEST_F(KernelsTest, UpdatesAreInPlace) {
  int updates = 0;
  for (RegisteredOperationName op :
       context.getRegisteredOperationsByDialect("train")) {
    if (!op.hasInterface<train::UpdateOpInterface>())
      continue;
    ++updates;
    const train::Kernel *kernel = op.getInterface<train::KernelOpInterface>();
    ASSERT_TRUE(kernel) << op.getStringRef().str();
    // Behind the weight and the states: scalars, loss, and the gradient.
    const unsigned updated = op.getStringRef() == "train.matmul_sgd"
                                 ? 2
                                 : kernel->operandArity().single - 2;
    for (unsigned state = 0; state < kernel->resultArity().single; ++state)
      for (unsigned operand = 0; operand < 8; ++operand)
        EXPECT_EQ(kernel->sharing(state, operand),
                  state == operand && state < updated
                      ? train::Sharing::required
                      : train::Sharing::forbidden);
  }
  EXPECT_GE(updates, 3); // sgd, matmul_sgd, adam
  EXPECT_EQ(train::findKernel(&context, "sum")->sharing(0, 0),
            train::Sharing::allowed);
  EXPECT_EQ(train::findKernel(&context, "sum")->sharing(0, 1),
            train::Sharing::forbidden);
}

TEST_F(KernelsTest, OnlyConcatsAndSumsReadPartsWhereTheyLie) {
  for (RegisteredOperationName op :
       context.getRegisteredOperationsByDialect("train")) {
    const train::Kernel *kernel = op.getInterface<train::KernelOpInterface>();
    if (!kernel)
      continue;
    train::Parts expected = train::Parts::never;
    if (op.getStringRef() == "train.concat")
      expected = train::Parts::each;
    else if (op.getStringRef() == "train.sum")
      expected = train::Parts::alike;
    EXPECT_EQ(kernel->parts(), expected) << op.getStringRef().str();
  }
}

//===----------------------------------------------------------------------===//
// Movement
//===----------------------------------------------------------------------===//

TEST_F(KernelsTest, MovementsSayWherePartsBegin) {
  Builder builder(&context);
  auto type = [&](ArrayRef<int64_t> shape) {
    return RankedTensorType::get(shape, builder.getF32Type());
  };
  llvm::StringMap<Attribute> fields;
  auto movement = [&](StringRef name, std::vector<RankedTensorType> results,
                      std::vector<RankedTensorType> operands) {
    return train::findKernel(&context, name)
        ->movement({results, operands,
                    [&](StringRef field) { return fields.lookup(field); }});
  };
  fields["axis"] = builder.getI64IntegerAttr(1);
  fields["sizes"] = builder.getDenseI64ArrayAttr({1, 4});
  RankedTensorType whole = type({2, 5}), one = type({2, 1}),
                   four = type({2, 4});
  train::Movement parts = movement("split", {one, four}, {whole});
  EXPECT_EQ(parts.kind, train::Movement::parts);
  ASSERT_EQ(parts.begins.size(), 2u);
  EXPECT_EQ(ArrayRef(parts.begins[1]), ArrayRef<int64_t>({0, 1}));
  EXPECT_EQ(movement("split", {four, one}, {whole}).kind,
            train::Movement::none);
  EXPECT_EQ(movement("split", {one, four}, {type({2, 6})}).kind,
            train::Movement::none);
  train::Movement join = movement("concat", {whole}, {four, one});
  EXPECT_EQ(join.kind, train::Movement::join);
  ASSERT_EQ(join.begins.size(), 2u);
  EXPECT_EQ(ArrayRef(join.begins[1]), ArrayRef<int64_t>({0, 4}));
  fields["axis"] = builder.getI64IntegerAttr(2);
  EXPECT_EQ(movement("concat", {whole}, {four, one}).kind,
            train::Movement::none);
  EXPECT_EQ(movement("sum", {one}, {one, one}).kind, train::Movement::none);
}

//===----------------------------------------------------------------------===//
// Arithmetic
//===----------------------------------------------------------------------===//

using Boxes = std::vector<std::optional<tiling::Box>>;

double flopsOf(MLIRContext *context, StringRef name,
               std::vector<tiling::Shape> results,
               std::vector<tiling::Shape> operands,
               llvm::StringMap<Attribute> fields = {}) {
  auto boxesOf = [](const std::vector<tiling::Shape> &shapes) {
    Boxes boxes;
    for (const tiling::Shape &shape : shapes)
      boxes.push_back(tiling::wholeOf(shape));
    return boxes;
  };
  Boxes outs = boxesOf(results), ins = boxesOf(operands);
  return train::findKernel(context, name)
      ->arithmetic(
          {outs, ins, [&](StringRef field) { return fields.lookup(field); }})
      .flops;
}

TEST_F(KernelsTest, ProductsCountMultiplicationsAndAdditions) {
  tiling::Shape x = {2, 6, 9, 9}, w = {8, 3, 3, 3},
                y = {2, 8, 7, 7}; // 2 groups
  const double conv = 2.0 * (2 * 8 * 7 * 7) * (3 * 3 * 3);
  EXPECT_EQ(flopsOf(&context, "conv", {y}, {x, w}), conv);
  EXPECT_EQ(flopsOf(&context, "conv_grad_input", {x}, {y, w}), conv);
  EXPECT_EQ(flopsOf(&context, "conv_grad_weight", {w}, {y, x}), conv);
  tiling::Shape a = {5, 7}, b = {7, 3}, c = {5, 3};
  EXPECT_EQ(flopsOf(&context, "matmul", {c}, {a, b}), 2.0 * 5 * 7 * 3);
  llvm::StringMap<Attribute> transposed;
  transposed["transpose_a"] = BoolAttr::get(&context, true);
  EXPECT_EQ(flopsOf(&context, "matmul", {c}, {{7, 5}, b}, transposed),
            2.0 * 5 * 7 * 3);
  tiling::Shape weight = {3, 7}, one = {};
  tiling::Shape scalars = {64};
  std::vector<tiling::Shape> operands = {weight, weight, scalars, one, c, a};
  EXPECT_EQ(flopsOf(&context, "matmul_sgd", {weight, weight}, operands),
            2.0 * 5 * 7 * 3);
  EXPECT_EQ(flopsOf(&context, "matmul_sgd", {weight, weight, a}, operands),
            2 * 2.0 * 5 * 7 * 3);
  EXPECT_EQ(flopsOf(&context, "reshape", {{35}}, {a}), 0);
}

} // namespace
