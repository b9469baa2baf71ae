//===- ElementwiseTest.cpp - The table of elementwise functions -----------===//
//
// Every gradient against finite differences, and PyTorch's conventions where
// those do not decide: at ties, kinks and domain edges.
//
//===----------------------------------------------------------------------===//

#include "ir/train/Elementwise.h"
#include "test/unit/ir/Evaluate.h"

#include "llvm/ADT/STLExtras.h"

#include "gtest/gtest.h"

#include <cmath>
#include <random>
#include <vector>

using namespace lwcc;

namespace {

/// Values for the params of a row, by name.
double paramOf(llvm::StringRef name) {
  if (name == "alpha")
    return 0.3;
  if (name == "beta")
    return 0.4;
  if (name == "lo")
    return -0.5;
  if (name == "hi")
    return 0.7;
  return 0.9;
}

bool isZero(llvm::StringRef gradient) { return gradient == "-"; }

struct Function {
  explicit Function(llvm::StringRef name)
      : row(*findElementwise(name)),
        value(instantiate(row, row.value, paramOf)) {}
  const ElementwiseFunction &row;
  Expression value;

  double operator()(const std::vector<double> &x) const {
    return evaluate(value, x);
  }
  /// dy times the derivative by input i.
  double gradient(unsigned i, std::vector<double> x, double dy) const {
    double y = (*this)(x);
    x.push_back(dy);
    x.push_back(y);
    return isZero(row.gradients[i])
               ? 0
               : evaluate(instantiate(row, row.gradients[i], paramOf), x);
  }
};

TEST(Elementwise, RowsAreWellFormed) {
  for (const ElementwiseFunction &row : elementwiseFunctions()) {
    SCOPED_TRACE(row.name.str());
    EXPECT_EQ(findElementwise(row.name), &row) << "a name is there twice";
    EXPECT_EQ(instantiate(row, row.value, paramOf).inputs(), row.inputs);
    EXPECT_TRUE(row.gradients.empty() || row.gradients.size() == row.inputs);
    for (llvm::StringRef gradient : row.gradients)
      EXPECT_TRUE(isZero(gradient) ||
                  instantiate(row, gradient, paramOf).inputs() <=
                      row.inputs + 2);
  }
  EXPECT_EQ(findElementwise("no such function"), nullptr);
}

TEST(Elementwise, GradientsAgreeWithFiniteDifferences) {
  std::mt19937 random(3);
  std::uniform_real_distribution<double> any(-4, 4), positive(0.1, 4);
  const double h = 1e-6;
  int checked = 0;
  for (const ElementwiseFunction &row : elementwiseFunctions()) {
    Function f(row.name);
    bool positiveOnly = row.name == "log" || row.name == "sqrt" ||
                        row.name == "pow" || row.name == "rsqrt_eps";
    if (row.name == "detach") // is not what it says, on purpose
      continue;
    for (int sample = 0; sample < 200 && !row.gradients.empty(); ++sample) {
      std::vector<double> x;
      for (unsigned i = 0; i < row.inputs; ++i)
        x.push_back(positiveOnly ? positive(random) : any(random));
      double dy = any(random);
      for (unsigned i = 0; i < row.inputs; ++i) {
        auto up = x, down = x;
        up[i] += h;
        down[i] -= h;
        double left = (f(x) - f(down)) / h, right = (f(up) - f(x)) / h;
        if (!(std::abs(left - right) <= 1e-3 * (1 + std::abs(left))))
          continue; // a kink, or a pole nearby, or not defined (NaN)
        double expected = dy * (f(up) - f(down)) / (2 * h);
        EXPECT_NEAR(f.gradient(i, x, dy), expected,
                    1e-6 * (1 + std::abs(expected)))
            << row.name.str() << " by x" << i << " at " << x[0];
        ++checked;
      }
    }
  }
  EXPECT_GT(checked, 5000);
}

TEST(Elementwise, TiesFollowPyTorch) {
  // torch.maximum and torch.minimum share the gradient of a tie.
  for (const char *name : {"max", "min"})
    for (unsigned i : {0, 1})
      EXPECT_EQ(Function(name).gradient(i, {2, 2}, 1), 0.5);
  EXPECT_EQ(Function("relu").gradient(0, {0}, 1), 0);
  EXPECT_EQ(Function("leaky_relu").gradient(0, {0}, 1),
            static_cast<double>(0.3f));
  EXPECT_EQ(Function("abs").gradient(0, {0}, 1), 0);
  // torch.clamp passes the gradient at its bounds.
  double lo = static_cast<float>(-0.5), hi = static_cast<float>(0.7);
  EXPECT_EQ(Function("clip").gradient(0, {lo}, 1), 1);
  EXPECT_EQ(Function("clip").gradient(0, {hi}, 1), 1);
  EXPECT_EQ(Function("clip").gradient(0, {hi + 1e-3}, 1), 0);
  EXPECT_EQ(Function("hard_swish").gradient(0, {-3}, 1), 0);
  EXPECT_EQ(Function("hard_swish").gradient(0, {3}, 1), 1);
  // x^0 is constant, and 0^x for x >= 0 as well.
  EXPECT_EQ(Function("pow").gradient(0, {0, 0}, 1), 0);
  EXPECT_EQ(Function("pow").gradient(1, {0, 2}, 1), 0);
}

/// Which gradients of a row are NaN where one of its inputs is, in PyTorch: a
/// word for each input, a letter for each gradient. `unread` are the inputs
/// that the value does not depend on where all are 2.
struct NaNGradients {
  const char *name;
  std::vector<const char *> masks;
  std::vector<unsigned> unread = {};
};

const NaNGradients nanGradients[] = {
    {"add", {"--", "--"}},
    {"sub", {"--", "--"}},
    {"mul", {"-n", "n-"}},
    {"div", {"-n", "nn"}},
    {"max", {"--", "--"}},
    {"min", {"--", "--"}},
    {"pow", {"nn", "nn"}},
    {"fmod", {"-n", "-n"}},
    {"mod", {"-n", "-n"}},
    {"squared_error", {"nn", "--"}, {1}},
    {"absolute_error", {"--", "--"}, {1}},
    {"huber_error", {"nn", "--"}, {1}},
    {"output_as_loss", {"--", "--"}, {1}},
    {"binary_cross_entropy", {"nn", "--"}, {1}},
    {"soft_cross_entropy", {"-n", "--"}, {1}},
    {"relu", {"-"}},
    {"leaky_relu", {"-"}},
    {"clip", {"-"}},
    {"sigmoid", {"n"}},
    {"hard_sigmoid", {"-"}},
    {"hard_swish", {"-"}},
    {"tanh", {"n"}},
    {"elu", {"-"}},
    {"softplus", {"n"}},
    {"gelu", {"n"}},
    {"gelu_tanh", {"n"}},
    {"exp", {"n"}},
    {"log", {"n"}},
    {"sqrt", {"n"}},
    {"neg", {"-"}},
    {"abs", {"-"}},
    {"reciprocal", {"n"}},
    {"erf", {"n"}},
    {"square", {"n"}},
    {"identity", {"-"}},
    {"scale", {"-"}},
    {"offset", {"-"}},
    {"selu", {"-"}},
    {"celu", {"-"}},
    {"mish", {"n"}},
    {"swish", {"n"}},
    {"thresholded_relu", {"-"}},
    {"shrink", {"-"}},
    {"softsign", {"n"}},
    {"prelu", {"-n", "--"}, {1}},
    {"sin", {"n"}},
    {"cos", {"n"}},
    {"tan", {"n"}},
    {"asin", {"n"}},
    {"acos", {"n"}},
    {"atan", {"n"}},
    {"sinh", {"n"}},
    {"cosh", {"n"}},
    {"asinh", {"n"}},
    {"acosh", {"n"}},
    {"atanh", {"n"}},
    {"detach", {"-"}},
    {"rsqrt_eps", {"n"}},
    {"batch_norm_apply", {"--nn-", "--nn-", "nn-n-", "nnn--", "-----"}},
    {"floor", {"-"}},
    {"truncate", {"-"}},
    {"ceil", {"-"}},
    {"round", {"-"}},
    {"sign", {"-"}},
    // A comparison with NaN is false, and NaN is true.
    {"less", {"--", "--"}, {0, 1}},
    {"less_or_equal", {"--", "--"}, {0, 1}},
    {"greater", {"--", "--"}, {0, 1}},
    {"greater_or_equal", {"--", "--"}, {0, 1}},
    {"equal", {"--", "--"}, {0, 1}},
    {"and", {"--", "--"}, {0, 1}},
    {"or", {"--", "--"}, {0, 1}},
    {"xor", {"--", "--"}, {0, 1}},
    {"is_nan", {"-"}, {0}},
    {"is_infinite", {"-"}, {0}},
    {"not", {"-"}, {0}},
    {"where", {"---", "---", "---"}, {0, 2}},
};

TEST(Elementwise, NaNIsNeverSwallowed) {
  for (const ElementwiseFunction &row : elementwiseFunctions()) {
    SCOPED_TRACE(row.name.str());
    Function f(row.name);
    const NaNGradients *known = nullptr;
    for (const NaNGradients &entry : nanGradients)
      known = entry.name == row.name ? &entry : known;
    ASSERT_TRUE(known || row.gradients.empty())
        << "say in nanGradients what PyTorch does";
    for (unsigned poisoned = 0; poisoned < row.inputs; ++poisoned) {
      std::vector<double> x(row.inputs, 2.0);
      x[poisoned] = NAN;
      bool unread = known && llvm::is_contained(known->unread, poisoned);
      EXPECT_EQ(std::isnan(f(x)), !unread) << "of x" << poisoned;
      for (unsigned i = 0; i < row.gradients.size(); ++i)
        EXPECT_EQ(std::isnan(f.gradient(i, x, 1)),
                  known->masks[poisoned][i] == 'n')
            << "gradient by x" << i << " where x" << poisoned << " is NaN";
      // A NaN that comes from behind.
      x[poisoned] = 2.0;
      if (!row.gradients.empty() && !unread &&
          !isZero(row.gradients[poisoned]) && row.name != "clip" &&
          row.name != "hard_sigmoid") { // flat at 2
        EXPECT_TRUE(std::isnan(f.gradient(poisoned, x, NAN)));
      }
    }
  }
}

TEST(Elementwise, SoftplusDoesNotOverflow) {
  EXPECT_EQ(Function("softplus")({800}), 800);
  EXPECT_NEAR(Function("softplus")({-800}), 0, 1e-12);
}

} // namespace
