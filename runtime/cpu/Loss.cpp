//===- Loss.cpp - Cross entropy, negative log-likelihood, labels *- C++ -*-===//
//
// The losses. A row is the classes of one sample, or of one pixel. Losses are
// summed in double, over blocks of rows and then over the blocks. The blocks
// depend on the shape alone, so that the sum does not depend on threads.
//
//===----------------------------------------------------------------------===//
#include "runtime/core/LabelBody.h"
#include "runtime/cpu/Lane.h"
#include "runtime/cpu/Rows.h"
#include "runtime/cpu/SoftmaxRow.h"

#include <algorithm>
#include <cmath>

namespace lwcc::rt {

namespace {
/// A block's share of the loss and of the weights that count.
struct Partial {
  double loss = 0, weight = 0;
};

/// What every loss operator knows about labels.
struct Labels {
  const int32_t *labels;
  const float *weights; ///< null: all 1
  int64_t classes, ignoreIndex;

  Labels(const Tensor &labels, const Tensor &weight, int64_t classes,
         int64_t ignoreIndex)
      : labels(labels.as<int32_t>()), weights(weight.as<float>()),
        classes(classes), ignoreIndex(ignoreIndex) {}

  bool counts(int64_t at) const {
    return labelCounts(labels[at], classes, ignoreIndex);
  }
  double weight(int64_t at) const {
    return weights ? weights[labels[at]] : 1.0;
  }
};
} // namespace

static constexpr int64_t rowsPerBlock = 64;

static int64_t blocksOf(int64_t rows) {
  return (rows + rowsPerBlock - 1) / rowsPerBlock;
}

/// Sums body(row, offsets) over all rows, by blocks.
template <int N, typename Body>
static Partial sumRows(CpuLane &lane, const AxisRows<N> &rows,
                       const Body &body) {
  Partial *partial = reinterpret_cast<Partial *>(lane.workspace());
  int64_t blocks = blocksOf(rows.count());
  int64_t grain = std::max<int64_t>(64 / std::max<int64_t>(rows.length, 1), 1);
  parallelFor(lane.threads, blocks, grain, [&](int64_t first, int64_t last) {
    for (int64_t block = first; block < last; ++block) {
      Partial sum;
      int64_t end = std::min((block + 1) * rowsPerBlock, rows.count());
      for (int64_t row = block * rowsPerBlock; row < end; ++row) {
        int64_t at[N];
        offsetsAt(rows.nest, row, at);
        Partial p = body(at);
        sum.loss += p.loss;
        sum.weight += p.weight;
      }
      partial[block] = sum;
    }
  });
  Partial total;
  for (int64_t block = 0; block < blocks; ++block) {
    total.loss += partial[block].loss;
    total.weight += partial[block].weight;
  }
  return total;
}

static float finalLoss(const Partial &total, const LossParams &params) {
  return static_cast<float>(params.sum ? total.loss
                                       : total.loss / total.weight);
}

/// What a label's gradient is multiplied with, without its own weight.
template <int N>
static double gradientScale(CpuLane &lane, const AxisRows<N> &rows,
                            int labelOperand, const Labels &labels,
                            const Tensor &dloss, const LossParams &params) {
  double scale = *dloss.as<float>();
  if (params.sum)
    return scale;
  Partial total = sumRows(lane, rows, [&](const int64_t (&at)[N]) {
    int64_t label = at[labelOperand];
    return Partial{0, labels.counts(label) ? labels.weight(label) : 0};
  });
  return scale / total.weight;
}

template <int N>
static void needPartials(CpuLane &lane, const AxisRows<N> &rows) {
  lane.needWorkspace(blocksOf(rows.count()) *
                     static_cast<int64_t>(sizeof(Partial)));
}

void cross_entropy(Lane &lane, Tensor loss, Tensor probs, Tensor logits,
                   Tensor labels, Tensor weight, const LossParams &params) {
  CpuLane &on = cpuLane(lane);
  AxisRows<3> rows({logits, probs, labels}, 1);
  Labels known(labels, weight, rows.length, params.ignore_index);
  needPartials(on, rows);
  on.append("cross_entropy", {loss, probs}, [=, &on] {
    Partial total = sumRows(on, rows, [&](const int64_t (&at)[3]) {
      const float *from = logits.as<float>() + at[0];
      SoftmaxRow row(from, rows.step[0], rows.length);
      if (probs)
        row.probabilities(probs.as<float>() + at[1], rows.step[1]);
      if (!known.counts(at[2]))
        return Partial();
      double w = known.weight(at[2]);
      double x = from[known.labels[at[2]] * rows.step[0]];
      return Partial{w * (std::log(row.sum) + row.largest - x), w};
    });
    if (loss)
      *loss.as<float>() = finalLoss(total, params);
  });
}

void cross_entropy_grad(Lane &lane, Tensor dlogits, Tensor dloss, Tensor probs,
                        Tensor labels, Tensor weight,
                        const LossParams &params) {
  CpuLane &on = cpuLane(lane);
  AxisRows<3> rows({dlogits, probs, labels}, 1);
  Labels known(labels, weight, rows.length, params.ignore_index);
  needPartials(on, rows);
  on.append("cross_entropy_grad", {dlogits}, [=, &on] {
    double scale = gradientScale(on, rows, 2, known, dloss, params);
    rows.forEach(on.threads, [&](int64_t, const int64_t (&at)[3]) {
      float *to = dlogits.as<float>() + at[0];
      const float *p = probs.as<float>() + at[1];
      bool counts = known.counts(at[2]);
      float factor =
          counts ? static_cast<float>(scale * known.weight(at[2])) : 0.0f;
      int64_t label = counts ? known.labels[at[2]] : -1;
      for (int64_t c = 0; c < rows.length; ++c) {
        float target = c == label ? 1.0f : 0.0f;
        to[c * rows.step[0]] = factor * (p[c * rows.step[1]] - target);
      }
    });
  });
}

void nll_loss(Lane &lane, Tensor loss, Tensor logprobs, Tensor labels,
              Tensor weight, const LossParams &params) {
  CpuLane &on = cpuLane(lane);
  AxisRows<2> rows({logprobs, labels}, 1);
  Labels known(labels, weight, rows.length, params.ignore_index);
  needPartials(on, rows);
  on.append("nll_loss", {loss}, [=, &on] {
    Partial total = sumRows(on, rows, [&](const int64_t (&at)[2]) {
      if (!known.counts(at[1]))
        return Partial();
      double w = known.weight(at[1]);
      double x =
          logprobs.as<float>()[at[0] + known.labels[at[1]] * rows.step[0]];
      return Partial{-w * x, w};
    });
    *loss.as<float>() = finalLoss(total, params);
  });
}

void nll_loss_grad(Lane &lane, Tensor dlogprobs, Tensor dloss, Tensor labels,
                   Tensor weight, const LossParams &params) {
  CpuLane &on = cpuLane(lane);
  AxisRows<2> rows({dlogprobs, labels}, 1);
  Labels known(labels, weight, rows.length, params.ignore_index);
  needPartials(on, rows);
  on.append("nll_loss_grad", {dlogprobs}, [=, &on] {
    double scale = gradientScale(on, rows, 1, known, dloss, params);
    rows.forEach(on.threads, [&](int64_t, const int64_t (&at)[2]) {
      float *to = dlogprobs.as<float>() + at[0];
      for (int64_t c = 0; c < rows.length; ++c)
        to[c * rows.step[0]] = 0.0f;
      if (known.counts(at[1]))
        to[known.labels[at[1]] * rows.step[0]] =
            static_cast<float>(-scale * known.weight(at[1]));
    });
  });
}

void one_hot(Lane &lane, Tensor y, Tensor labels, const OneHotParams &params) {
  CpuLane &on = cpuLane(lane);
  AxisRows<2> rows({y, labels}, 1);
  on.append("one_hot", {y}, [=, threads = on.threads] {
    rows.forEach(threads, [&](int64_t, const int64_t (&at)[2]) {
      int64_t label = labels.as<int32_t>()[at[1]];
      int64_t hot =
          label == params.ignore_index ? -1 : label - params.first_class;
      for (int64_t c = 0; c < rows.length; ++c)
        y.as<float>()[at[0] + c * rows.step[0]] = c == hot ? 1.0f : 0.0f;
    });
  });
}

void loss_weight(Lane &lane, Tensor sum, Tensor labels, Tensor weight,
                 const LossWeightParams &params) {
  Labels known(labels, weight, params.classes, params.ignore_index);
  cpuLane(lane).append("loss_weight", {sum}, [=] {
    double total = 0;
    for (int64_t i = 0; i < labels.elements(); ++i)
      if (known.counts(i))
        total += known.weight(i);
    *sum.as<float>() = static_cast<float>(total);
  });
}

} // namespace lwcc::rt
