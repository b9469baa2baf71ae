//===- Losses.cpp - Softmax, losses and accuracy --------------------------===//

#include "OpsCheck.h"

#include <algorithm>
#include <cmath>

using namespace lwcc;
using namespace lwcc::check;
using rt::DType;
using rt::Tensor;

/// One element in `masked` is minus infinity, as masks make it; 0: none is.
static void checkSoftmax(Bench &bench, const Dims &dims, int64_t axis, bool log,
                         int64_t masked = 0) {
  bench.clear();
  Host x = random(dims, -5, 5), dy = random(dims), y(dims), dx(dims);
  for (int64_t i = 0; masked && i < x.elements(); i += masked)
    x.v[i] = -INFINITY;
  Dims outer = dims;
  outer[axis] = 1;
  forEach(outer, [&](const Dims &o) {
    double largest = -INFINITY, sum = 0, dot = 0, total = 0;
    auto each = [&](const auto &f) {
      Dims i = o;
      for (i[axis] = 0; i[axis] < dims[axis]; ++i[axis])
        f(i);
    };
    each([&](const Dims &i) { largest = std::max(largest, x.at(i)); });
    each([&](const Dims &i) { sum += std::exp(x.at(i) - largest); });
    each([&](const Dims &i) {
      double p = std::exp(x.at(i) - largest) / sum;
      y.at(i) = log ? x.at(i) - largest - std::log(sum) : p;
      dot += dy.at(i) * p;
      total += dy.at(i);
    });
    each([&](const Dims &i) {
      double p = log ? std::exp(y.at(i)) : y.at(i);
      dx.at(i) = log ? dy.at(i) - p * total : p * (dy.at(i) - dot);
    });
  });
  Tensor tx = bench.input(x), tdy = bench.input(dy), ty = bench.output(dims),
         tdx = bench.output(dims);
  bench.run([&](rt::Lane &lane) {
    softmax(lane, ty, tx, {.axis = axis, .log = log});
    softmax_grad(lane, tdx, tdy, ty, {.axis = axis, .log = log});
  });
  bench.expect(log ? "log softmax" : "softmax", ty, y);
  bench.expect(log ? "log softmax_grad" : "softmax_grad", tdx, dx, 1e-4);
}

static void checkLoss(Bench &bench, const Dims &dims, bool weighted, bool sum,
                      bool ignoreAll, bool poisoned = false) {
  bench.clear();
  const int64_t classes = dims[1], ignored = 2;
  Dims samples = dims;
  samples.erase(samples.begin() + 1);
  Host logits = random(dims, -4, 4),
       labels = ignoreAll ? Host(samples, ignored)
                          : randomInts(samples, -1, int(classes) - 1),
       weight = random({classes}, 0.1, 2);
  if (poisoned) // everywhere in its row, also where the label does not count
    logits.v[logits.v.size() / 2] = NAN;
  const double dloss = 0.7;
  Host probs(dims), logprobs(dims), dlogits(dims), dlogprobs(dims),
      loss(Dims{});
  double divisor = 0, total = 0;
  auto weightOf = [&](int64_t label) {
    return label < 0 || label == ignored ? 0 : weighted ? weight.v[label] : 1;
  };
  auto sampleOf = [](Dims i) {
    i.erase(i.begin() + 1);
    return i;
  };
  for (double label : labels.v)
    divisor += weightOf(static_cast<int64_t>(label));
  const Host weights(Dims{}, divisor);
  if (sum)
    divisor = 1;
  forEach(dims, [&](const Dims &i) {
    double z = 0;
    for (int64_t c = 0; c < classes; ++c) {
      Dims k = i;
      k[1] = c;
      z += std::exp(logits.at(k));
    }
    logprobs.at(i) = static_cast<float>(logits.at(i) - std::log(z));
    probs.at(i) = std::exp(logits.at(i)) / z;
    auto label = static_cast<int64_t>(labels.at(sampleOf(i)));
    double w = weightOf(label);
    if (w == 0) {
      dlogits.at(i) = 0 * probs.at(i);
      return;
    }
    double hit = i[1] == label ? 1 : 0;
    if (hit)
      total -= w * (logits.at(i) - std::log(z));
    dlogits.at(i) = dloss * w / divisor * (probs.at(i) - hit);
    dlogprobs.at(i) = -dloss * w / divisor * hit;
  });
  loss.v[0] = total / divisor; // a mean of no weight is NaN
  Tensor tx = bench.input(logits), tl = bench.input(labels, DType::i32),
         tw = weighted ? bench.input(weight) : Tensor{},
         tlog = bench.input(logprobs), td = bench.input(Host(Dims{}, dloss));
  Tensor tLoss = bench.output({}), tOnly = bench.output({}),
         tProbs = bench.output(dims), tdx = bench.output(dims),
         tNll = bench.output({}), tdlog = bench.output(dims),
         tWeights = bench.output({});
  const rt::LossParams params = {.ignore_index = ignored, .sum = sum};
  bench.run([&](rt::Lane &lane) {
    cross_entropy(lane, tLoss, tProbs, tx, tl, tw, params);
    cross_entropy(lane, tOnly, {}, tx, tl, tw, params);
    cross_entropy_grad(lane, tdx, td, tProbs, tl, tw, params);
    nll_loss(lane, tNll, tlog, tl, tw, params);
    nll_loss_grad(lane, tdlog, td, tl, tw, params);
    loss_weight(lane, tWeights, tl, tw,
                {.classes = classes, .ignore_index = ignored});
  });
  bench.expect("loss_weight", tWeights, weights);
  bench.expect("cross_entropy", tLoss, loss);
  bench.expect("cross_entropy without probs", tOnly, loss);
  bench.expect("cross_entropy: probs", tProbs, probs);
  bench.expect("cross_entropy_grad", tdx, dlogits);
  bench.expect("nll_loss", tNll, loss);
  bench.expect("nll_loss_grad", tdlog, dlogprobs);
}

static void checkAccuracy(Bench &bench, int64_t samples, int64_t classes) {
  bench.clear();
  // Small whole numbers: many ties.
  Host logits = randomInts({samples, classes}, 0, 5),
       labels = randomInts({samples}, -1, int(classes)), counts({2});
  for (int64_t n = 0; n < samples; ++n) {
    auto label = static_cast<int64_t>(labels.v[n]);
    if (label < 0 || label >= classes)
      continue;
    int before = 0;
    for (int64_t c = 0; c < classes; ++c) {
      double a = logits.at({n, c}), b = logits.at({n, label});
      before += a > b || (a == b && c < label);
    }
    counts.v[0] += before < 1;
    counts.v[1] += before < 5;
  }
  Tensor tx = bench.input(logits), tl = bench.input(labels, DType::i32),
         tc = bench.output({2});
  bench.run([&](rt::Lane &lane) { accuracy(lane, tc, tx, tl); });
  bench.expect("accuracy", tc, counts);
}

/// What losses need whose classes are cut: of classes from `first` on.
static void checkClasses(Bench &bench, int64_t rows, int64_t classes,
                         int64_t first) {
  bench.clear();
  Host logits = random({rows, classes}), own = random({rows, 1}),
       labels({rows}), hot({rows, classes}), rank({rows, 1}), most({rows, 1});
  for (int64_t row = 0; row < rows; ++row) {
    int64_t label = row % (first + classes + 2) - 1;
    labels.v[row] = static_cast<double>(label);
    most.v[row] = -INFINITY;
    for (int64_t c = 0; c < classes; ++c) {
      double x = logits.v[row * classes + c];
      hot.v[row * classes + c] = label == first + c ? 1 : 0;
      most.v[row] = std::max(most.v[row], x);
      rank.v[row] += x > own.v[row];
    }
    if (label < 0)
      rank.v[row] = INFINITY;
  }
  Tensor tx = bench.input(logits), to = bench.input(own),
         tl = bench.input(labels, DType::i32), th = bench.output(hot.dims),
         tr = bench.output(rank.dims), tm = bench.output(most.dims);
  bench.run([&](rt::Lane &lane) {
    one_hot(lane, th, tl, {.first_class = first});
    label_rank(lane, tr, tx, to, tl, {.first_class = first});
    reduce_max(lane, tm, tx, {.axis = 1});
  });
  bench.expect("one_hot", th, hot);
  bench.expect("label_rank", tr, rank);
  bench.expect("reduce_max", tm, most);
}

void check::checkLosses(Bench &bench) {
  for (bool log : {false, true}) {
    checkSoftmax(bench, {6, 10}, 1, log);
    checkSoftmax(bench, {3, 1000}, 1, log);
    checkSoftmax(bench, {5, 7}, 0, log);
    checkSoftmax(bench, {2, 6, 3, 4}, 1, log);
    checkSoftmax(bench, {2, 6, 3, 4}, 3, log);
    checkSoftmax(bench, {2, 9, 4}, 1, log);
  }
  for (bool weighted : {false, true})
    for (bool sum : {false, true}) {
      checkLoss(bench, {16, 10}, weighted, sum, false);
      checkLoss(bench, {5, 1000}, weighted, sum, false);
      checkLoss(bench, {3, 4, 7}, weighted, sum, false);
      checkLoss(bench, {4, 5}, weighted, sum, true);
      checkLoss(bench, {16, 10}, weighted, sum, false, true);
      checkLoss(bench, {16, 10}, weighted, sum, true, true);
    }
  checkAccuracy(bench, 33, 10);
  checkAccuracy(bench, 300, 3);
  checkAccuracy(bench, 9, 1000);
  checkClasses(bench, 33, 10, 0);
  checkClasses(bench, 40, 300, 7);
}

void check::drawLoss(Bench &bench) {
  Dims dims = drawDims(1, 5);
  const int64_t axis = draw(0, int64_t(dims.size()) - 1);
  dims[axis] += 1;
  checkSoftmax(bench, dims, axis, draw(0, 1), draw(0, 2) * 3);
  dims = drawDims(2, 4);
  const bool weighted = draw(0, 1), sum = draw(0, 1), ignoreAll = !draw(0, 9);
  checkLoss(bench, dims, weighted, sum, ignoreAll, !draw(0, 4));
  dims = drawDims(2, 2);
  checkAccuracy(bench, dims[0], dims[1]);
  checkClasses(bench, dims[0], dims[1], draw(0, 20));
}
