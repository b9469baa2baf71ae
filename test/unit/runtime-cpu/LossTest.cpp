//===- LossTest.cpp - Softmax, losses and accuracy --------------*- C++ -*-===//
//
// References in double; the gradients of the losses are those that PyTorch
// documents, with class weights, ignored labels, sums and pixels.
//
//===----------------------------------------------------------------------===//
#include "Workbench.h"

using namespace lwcc::rt;

namespace {

/// A tensor seen as rows along an axis: index of (outer, k, inner).
struct Rows {
  int64_t outer = 1, length, inner = 1;

  Rows(const Dims &dims, int64_t axis) : length(dims[axis]) {
    for (int64_t d = 0; d < axis; ++d)
      outer *= dims[d];
    for (size_t d = axis + 1; d < dims.size(); ++d)
      inner *= dims[d];
  }
  int64_t count() const { return outer * inner; }
  int64_t at(int64_t row, int64_t k) const {
    return (row / inner * length + k) * inner + row % inner;
  }
};

Doubles logSoftmax(const Floats &x, const Rows &rows) {
  Doubles y(x.size());
  for (int64_t row = 0; row < rows.count(); ++row) {
    double largest = -INFINITY, sum = 0;
    for (int64_t k = 0; k < rows.length; ++k)
      largest = std::max<double>(largest, x[rows.at(row, k)]);
    for (int64_t k = 0; k < rows.length; ++k)
      sum += std::exp(x[rows.at(row, k)] - largest);
    for (int64_t k = 0; k < rows.length; ++k)
      y[rows.at(row, k)] = x[rows.at(row, k)] - largest - std::log(sum);
  }
  return y;
}

struct SoftmaxCase {
  const char *name;
  Dims dims;
  int64_t axis;
};

class SoftmaxTest
    : public testing::TestWithParam<std::tuple<SoftmaxCase, bool>> {};

TEST_P(SoftmaxTest, ForwardAndGradient) {
  for (bool poisoned : {false, true}) {
    auto [p, log] = GetParam();
    Workbench bench;
    int64_t axis =
        p.axis < 0 ? p.axis + static_cast<int64_t>(p.dims.size()) : p.axis;
    Rows rows(p.dims, axis);
    Floats x = poisonedIf(poisoned, randomValues(product(p.dims), 1)),
           dy = randomValues(x.size(), 2);
    for (float &v : x)
      v = v * 8 + 50; // overflows without subtracting the largest
    Tensor tx = bench.tensor(p.dims, x), tdy = bench.tensor(p.dims, dy);
    Tensor ty = bench.tensor(p.dims), tdx = bench.tensor(p.dims);
    SoftmaxParams params{.axis = p.axis, .log = log};
    bench.run([&](Lane &lane) {
      softmax(lane, ty, tx, params);
      softmax_grad(lane, tdx, tdy, ty, params);
    });

    Doubles logs = logSoftmax(x, rows), y(x.size()), dx(x.size());
    for (int64_t row = 0; row < rows.count(); ++row) {
      double sum = 0;
      for (int64_t k = 0; k < rows.length; ++k) {
        int64_t at = rows.at(row, k);
        y[at] = log ? logs[at] : std::exp(logs[at]);
        sum += log ? dy[at] : dy[at] * y[at];
      }
      for (int64_t k = 0; k < rows.length; ++k) {
        int64_t at = rows.at(row, k);
        dx[at] =
            log ? dy[at] - std::exp(logs[at]) * sum : y[at] * (dy[at] - sum);
      }
    }
    expectClose(bench.get(ty), y, 2e-6);
    expectClose(bench.get(tdx), dx, 5e-6);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Grid, SoftmaxTest,
    testing::Combine(testing::Values(SoftmaxCase{"Logits", {9, 10}, -1},
                                     SoftmaxCase{"Wide", {3, 1000}, 1},
                                     SoftmaxCase{"Rows", {2, 3, 1, 5, 37}, -1},
                                     SoftmaxCase{"First", {4, 6}, 0},
                                     SoftmaxCase{"Attention", {2, 3, 5, 7}, -1},
                                     SoftmaxCase{"Pixels", {2, 5, 3, 4}, 1},
                                     SoftmaxCase{"Sequence", {3, 4, 5}, 1}),
                     testing::Bool()),
    [](const auto &info) {
      return std::string(std::get<0>(info.param).name) +
             (std::get<1>(info.param) ? "Log" : "");
    });

struct LossCase {
  const char *name;
  Dims dims; ///< of the logits
  bool weighted;
  LossParams params;
};

class LossTest : public testing::TestWithParam<LossCase> {};

TEST_P(LossTest, CrossEntropyAndNll) {
  for (bool poisoned : {false, true}) {
    const LossCase &p = GetParam();
    Workbench bench;
    Rows rows(p.dims, 1);
    int64_t classes = p.dims[1];
    Dims labelDims = p.dims;
    labelDims.erase(labelDims.begin() + 1);
    Floats x = poisonedIf(poisoned, randomValues(product(p.dims), 1)),
           weight = randomValues(classes, 2);
    for (float &w : weight)
      w = p.weighted ? 1.5f + w : 1.0f;
    std::vector<int32_t> labels(rows.count());
    for (int64_t row = 0; row < rows.count(); ++row)
      labels[row] = static_cast<int32_t>((row * 7 + 3) % (classes + 1)) - 1;

    Doubles logs = logSoftmax(x, rows);
    Floats logprobs(logs.begin(), logs.end());
    const float upstream = 0.5f;
    Tensor tx = bench.tensor(p.dims, x), tlog = bench.tensor(p.dims, logprobs);
    Tensor tlabels = bench.labels(labelDims, labels);
    Tensor tweight = p.weighted ? bench.tensor({classes}, weight) : Tensor{};
    Tensor dloss = bench.tensor({}, {upstream}), divisor = bench.tensor({});
    Tensor loss = bench.tensor({}), probs = bench.tensor(p.dims);
    Tensor lossOnly = bench.tensor({}), nll = bench.tensor({});
    Tensor dx = bench.tensor(p.dims), dlog = bench.tensor(p.dims);
    bench.run([&](Lane &lane) {
      cross_entropy(lane, loss, probs, tx, tlabels, tweight, p.params);
      cross_entropy(lane, lossOnly, Tensor{}, tx, tlabels, tweight, p.params);
      cross_entropy_grad(lane, dx, dloss, probs, tlabels, tweight, p.params);
      nll_loss(lane, nll, tlog, tlabels, tweight, p.params);
      nll_loss_grad(lane, dlog, dloss, tlabels, tweight, p.params);
      loss_weight(lane, divisor, tlabels, tweight,
                  {.classes = classes, .ignore_index = p.params.ignore_index});
    });

    double sum = 0, total = 0;
    auto counts = [&](int64_t row) {
      return labels[row] >= 0 && labels[row] != p.params.ignore_index;
    };
    for (int64_t row = 0; row < rows.count(); ++row)
      if (counts(row)) {
        sum -= weight[labels[row]] * logs[rows.at(row, labels[row])];
        total += weight[labels[row]];
      }
    double scale = p.params.sum ? 1 : 1 / total; // of nothing: NaN
    Doubles expectedProbs(x.size()), expectedDx(x.size()),
        expectedDlog(x.size());
    for (int64_t row = 0; row < rows.count(); ++row)
      for (int64_t k = 0; k < classes; ++k) {
        int64_t at = rows.at(row, k);
        expectedProbs[at] = std::exp(logs[at]);
        // As in PyTorch, the row of a label that does not count may be NaN.
        double factor =
            counts(row) ? upstream * scale * weight[labels[row]] : 0;
        double target = k == labels[row] ? 1 : 0;
        expectedDx[at] = factor * (std::exp(logs[at]) - target);
        expectedDlog[at] = -factor * target;
      }
    expectClose(bench.get(divisor), {total}, 1e-6);
    expectClose(bench.get(loss), {sum * scale}, 1e-6);
    expectClose(bench.get(lossOnly), {sum * scale}, 1e-6);
    expectClose(bench.get(nll), {sum * scale}, 1e-6);
    expectClose(bench.get(probs), expectedProbs, 1e-6);
    expectClose(bench.get(dx), expectedDx, 1e-6);
    expectClose(bench.get(dlog), expectedDlog, 1e-6);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Grid, LossTest,
    testing::Values(LossCase{"Mean", {17, 10}, false, {}},
                    LossCase{"Sum", {5, 10}, false, {.sum = true}},
                    LossCase{"Weighted", {33, 7}, true, {}},
                    LossCase{"Ignored", {20, 6}, true, {.ignore_index = 2}},
                    LossCase{"ManyRows", {300, 4}, false, {}},
                    LossCase{"Pixels", {2, 5, 6, 7}, true, {.ignore_index = 0}},
                    LossCase{
                        "NothingCounts", {1, 2}, false, {.ignore_index = 0}}),
    [](const auto &info) { return info.param.name; });

/// torch.nn.functional.cross_entropy([[1, 2, 3], [1, 1, 0]], [0, 2],
/// weight=[0, 1, 1], ignore_index=2): nan, and nan in the row that counts.
TEST(LossTest, MeanOfNoWeightIsNaN) {
  Workbench bench;
  LossParams params{.ignore_index = 2};
  Tensor x = bench.tensor({2, 3}, {1, 2, 3, 1, 1, 0});
  Tensor labels = bench.labels({2}, {0, 2});
  Tensor weight = bench.tensor({3}, {0, 1, 1}), dloss = bench.tensor({}, {1});
  Tensor loss = bench.tensor({}), probs = bench.tensor({2, 3});
  Tensor nll = bench.tensor({}), dlog = bench.tensor({2, 3});
  Tensor dx = bench.tensor({2, 3});
  bench.run([&](Lane &lane) {
    cross_entropy(lane, loss, probs, x, labels, weight, params);
    cross_entropy_grad(lane, dx, dloss, probs, labels, weight, params);
    nll_loss(lane, nll, x, labels, weight, params);
    nll_loss_grad(lane, dlog, dloss, labels, weight, params);
  });
  expectClose(bench.get(loss), {NAN});
  expectClose(bench.get(nll), {NAN});
  expectClose(bench.get(dx), {NAN, NAN, NAN, 0, 0, 0});
  expectClose(bench.get(dlog), {NAN, 0, 0, 0, 0, 0});
}

TEST(AccuracyTest, RanksAsTopK) {
  Workbench bench;
  Floats logits = {
      5,   4,   3, 2, 1, 0, -1, // label 0: first
      5,   4,   3, 2, 1, 0, -1, // label 4: fifth
      5,   4,   3, 2, 1, 0, -1, // label 5: sixth
      1,   1,   1, 1, 1, 1, 1,  // label 4: fifth among equals
      1,   1,   1, 1, 1, 1, 1,  // label 0: first among equals
      NAN, NAN, 0, 0, 0, 0, 0,  // label 1: behind a NaN
      1,   2,   3, 4, 5, 6, 7,  // label -1: wrong
      1,   2,   3, 4, 5, 6, 7,  // label 7: wrong
  };
  Tensor counts = bench.tensor({2});
  bench.run([&](Lane &lane) {
    accuracy(lane, counts, bench.tensor({8, 7}, logits),
             bench.labels({8}, {0, 4, 5, 4, 0, 1, -1, 7}));
  });
  EXPECT_EQ(bench.get(counts), (Floats{2, 5}));
}

/// Logits, one-hot labels and ranks of a part of the classes, from `first` on.
TEST(AccuracyTest, RanksOfPartsAddUp) {
  Workbench bench;
  constexpr int64_t rows = 6, classes = 7, split = 3;
  Floats logits = randomValues(rows * classes, 5);
  logits[0] = logits[3]; // equal: the lower class ranks first
  logits[classes] = NAN;
  std::vector<int32_t> labels = {3, 4, 0, 6, -1, 2};
  Tensor tl = bench.labels({rows}, labels);
  Doubles total(rows, 0), own(rows, 0);
  for (int64_t row = 0; row < rows; ++row)
    own[row] = labels[row] < 0 ? 0 : logits[row * classes + labels[row]];
  for (auto [first, count] :
       {std::pair{int64_t(0), split}, std::pair{split, classes - split}}) {
    Floats part;
    for (int64_t row = 0; row < rows; ++row)
      for (int64_t c = 0; c < count; ++c)
        part.push_back(logits[row * classes + first + c]);
    Tensor rank = bench.tensor({rows, 1}), hot = bench.tensor({rows, count}),
           largest = bench.tensor({rows, 1}),
           x = bench.tensor({rows, count}, part);
    bench.run([&, first = first](Lane &lane) {
      label_rank(lane, rank, x,
                 bench.tensor({rows, 1}, Floats(own.begin(), own.end())), tl,
                 {.first_class = first});
      one_hot(lane, hot, tl, {.first_class = first, .ignore_index = 6});
      reduce_max(lane, largest, x, {.axis = 1});
    });
    Floats ranks = bench.get(rank), hots = bench.get(hot),
           max = bench.get(largest);
    for (int64_t row = 0; row < rows; ++row) {
      total[row] += ranks[row];
      float expected = part[row * count];
      for (int64_t c = 0; c < count; ++c) {
        bool isLabel = labels[row] == first + c && labels[row] != 6;
        EXPECT_EQ(hots[row * count + c], isLabel ? 1.0f : 0.0f);
        if (!std::isnan(expected))
          expected = std::isnan(part[row * count + c])
                         ? NAN
                         : std::max(expected, part[row * count + c]);
      }
      EXPECT_TRUE(max[row] == expected ||
                  (std::isnan(max[row]) && std::isnan(expected)));
    }
  }
  for (int64_t row = 0; row < rows; ++row) {
    if (labels[row] < 0) {
      EXPECT_TRUE(std::isinf(total[row]));
      continue;
    }
    double before = 0;
    for (int64_t c = 0; c < classes; ++c) {
      float x = logits[row * classes + c];
      before +=
          std::isnan(x) || x > own[row] || (x == own[row] && c < labels[row]);
    }
    EXPECT_EQ(total[row], before) << "row " << row;
  }
}

} // namespace
