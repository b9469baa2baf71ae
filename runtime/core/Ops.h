//===- Ops.h - The operators that a compiled program may call ---*- C++ -*-===//
//
// One declaration per `Kernel` of ir/train/TrainOps.td, written once per
// backend (runtime/cpu, runtime/cuda). Calling one does not compute: it appends
// the work to the lane, inside Machine::record. Everything that can be done
// once (library primitives, plan choice, workspace size) happens in that call.
//
// Conventions, which the printer and lwcc-run rely on:
//   - a lane, then results, then operands, then one parameter struct (if any);
//   - an absent optional operand, or a result that nobody reads, is Tensor{};
//   - the fields of a parameter struct stand in alphabetical order and have
//     the names of the `train` op's attributes;
//   - pad is {top, left, bottom, right}; ceil_mode is resolved into the shape
//     of the result, so windows may overhang the padded input at the end;
//   - gradients are written, not accumulated; all arithmetic is float32;
//   - a call appends one entry to its lane, under its own name, so that the
//     n-th call of a lane is its n-th span in a trace (Machine::runTraced);
//   - a result may alias an operand only where the comment says so;
//   - tensors are dense, but for operands that a comment calls parts.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_RUNTIME_CORE_OPS_H
#define LWCC_RUNTIME_CORE_OPS_H

#include "runtime/core/Tensor.h"

#include <array>
#include <cstdint>
#include <vector>

namespace lwcc::rt {

class Lane;
using Pair = std::array<int64_t, 2>;
using Quad = std::array<int64_t, 4>;
using Tensors = std::vector<Tensor>;

//===----------------------------------------------------------------------===//
// Generated elementwise kernels: map<Kernel>(lane, y, xs, scalars, params), in
// cpu/Map.h and cuda/Map.cuh.
//===----------------------------------------------------------------------===//

/// Of a kernel that draws random numbers, where y is a part of a tensor: the
/// place of y's first element in it, and its extents. Empty: y is whole.
struct MapParams {
  std::vector<int64_t> begin;
  std::vector<int64_t> dims;
};

//===----------------------------------------------------------------------===//
// Convolution, ONNX Conv semantics in two dimensions.
// x [n, c, h, w], w [m, c/group, kh, kw], bias [m], y [n, m, oh, ow]
//===----------------------------------------------------------------------===//

struct ConvParams {
  Pair dilation = {1, 1};
  int64_t group = 1;
  Quad pad = {0, 0, 0, 0};
  bool relu = false; ///< y = max(conv, 0); forward only
  Pair stride = {1, 1};
};
void conv(Lane &lane, Tensor y, Tensor x, Tensor w, Tensor bias,
          const ConvParams &params);
void conv_grad_input(Lane &lane, Tensor dx, Tensor dy, Tensor w,
                     const ConvParams &params);
void conv_grad_weight(Lane &lane, Tensor dw, Tensor dbias, Tensor dy, Tensor x,
                      const ConvParams &params);

//===----------------------------------------------------------------------===//
// Matrix product over the last two dimensions.
// c [.., m, n] = op(a) [.., m, k] * op(b) [.., k, n] + bias [n]; the leading
// dimensions of a and b are equal, or b has rank 2 and serves every batch.
//===----------------------------------------------------------------------===//

struct MatMulParams {
  bool relu = false; ///< c = max(product + bias, 0)
  bool transpose_a = false;
  bool transpose_b = false;
};
void matmul(Lane &lane, Tensor c, Tensor a, Tensor b, Tensor bias,
            const MatMulParams &params);

//===----------------------------------------------------------------------===//
// Attention
//===----------------------------------------------------------------------===//

struct AttentionParams {
  int64_t heads = 1;
  float scale = 1.0f;
};
/// For each head, which is a part of the last dimension of q [n, m, heads * d],
/// k [n, s, heads * d], v [n, s, heads * e] and y [n, m, heads * e]:
/// y = softmax(scale * q k^T + mask) v, with mask [m, s]. largest and inverse
/// [n, heads, m]: of each row of scores its largest element, and 1 / the sum of
/// the exponentials below that.
void attention(Lane &lane, Tensor y, Tensor largest, Tensor inverse, Tensor q,
               Tensor k, Tensor v, Tensor mask, const AttentionParams &params);
void attention_grad(Lane &lane, Tensor dq, Tensor dk, Tensor dv, Tensor dy,
                    Tensor q, Tensor k, Tensor v, Tensor largest,
                    Tensor inverse, Tensor mask, const AttentionParams &params);

//===----------------------------------------------------------------------===//
// Pooling
//===----------------------------------------------------------------------===//

struct MaxPoolParams {
  Pair dilation = {1, 1};
  Pair kernel = {1, 1};
  Quad pad = {0, 0, 0, 0};
  Pair stride = {1, 1};
};
/// index has y's shape and holds the number of the winning tap in its window
/// (row-major, first maximum wins): u8 where the window has at most 256 taps,
/// else i32. A NaN in the window wins, as in PyTorch.
void max_pool(Lane &lane, Tensor y, Tensor index, Tensor x,
              const MaxPoolParams &params);
void max_pool_grad(Lane &lane, Tensor dx, Tensor dy, Tensor index,
                   const MaxPoolParams &params);

struct AvgPoolParams {
  bool count_include_pad = false;
  Pair dilation = {1, 1};
  Pair kernel = {1, 1};
  Quad pad = {0, 0, 0, 0};
  Pair stride = {1, 1};
};
/// Divides by the taps inside the input, or, with count_include_pad, inside
/// the padded input (taps that overhang the padding never count).
void avg_pool(Lane &lane, Tensor y, Tensor x, const AvgPoolParams &params);
void avg_pool_grad(Lane &lane, Tensor dx, Tensor dy,
                   const AvgPoolParams &params);

//===----------------------------------------------------------------------===//
// Normalization. The elementwise halves are generated kernels: scale and shift,
// and of batch normalization running statistics and the input gradient.
//===----------------------------------------------------------------------===//

struct BatchNormParams {
  float epsilon = 1e-5f;
  int64_t group = 0; ///< consecutive samples with own statistics; 0: all
  int64_t skip = 0;  ///< samples of the first group that x lacks
};
/// Over all dimensions of x but the second: mean, biased variance and
/// 1/sqrt(variance + epsilon), each [c]; with a group, [groups, c].
void batch_norm_stats(Lane &lane, Tensor mean, Tensor variance, Tensor invstd,
                      Tensor x, const BatchNormParams &params);

struct GroupParams {
  int64_t group = 0; ///< consecutive samples that belong together; 0: all
  int64_t skip = 0;  ///< samples of the first group that are not there
};
/// dbias[c] = sum dy, dscale[c] = sum dy * (x - mean) * invstd; with a group,
/// these, mean and invstd are [groups, c].
void batch_norm_grad_stats(Lane &lane, Tensor dscale, Tensor dbias, Tensor dy,
                           Tensor x, Tensor mean, Tensor invstd,
                           const GroupParams &params);

/// y[i] = x[(skip + i) / group] along the first dimension.
void repeat(Lane &lane, Tensor y, Tensor x, const GroupParams &params);

struct LayerNormParams {
  bool center = true; ///< subtract the mean
  float epsilon = 1e-5f;
};
/// Of each row along the last dimension: y = (x - mean) * invstd, where invstd
/// [..., 1] = 1/sqrt(variance + epsilon), with the biased variance. Without
/// `center` the mean counts as 0. y may be x.
void layer_norm(Lane &lane, Tensor y, Tensor invstd, Tensor x,
                const LayerNormParams &params);

struct LayerNormGradParams {
  bool center = true;
};
/// dx = invstd * (dy - mean of dy - y * mean of dy * y); the mean of dy counts
/// as 0 without `center`. dx may be dy or y.
void layer_norm_grad(Lane &lane, Tensor dx, Tensor dy, Tensor y, Tensor invstd,
                     const LayerNormGradParams &params);

struct LrnParams {
  float alpha = 1e-4f;
  float beta = 0.75f;
  float bias = 1.0f;
  int64_t size = 5;
};
/// ONNX LRN: y = x * (bias + alpha / size * sum of squares)^-beta over the
/// window [c - floor((size-1)/2), c + ceil((size-1)/2)].
void lrn(Lane &lane, Tensor y, Tensor x, const LrnParams &params);
void lrn_grad(Lane &lane, Tensor dx, Tensor dy, Tensor x,
              const LrnParams &params);

//===----------------------------------------------------------------------===//
// Softmax and losses
//===----------------------------------------------------------------------===//

struct SoftmaxParams {
  int64_t axis = -1;
  bool log = false; ///< log(softmax(x))
};
void softmax(Lane &lane, Tensor y, Tensor x, const SoftmaxParams &params);
void softmax_grad(Lane &lane, Tensor dx, Tensor dy, Tensor y,
                  const SoftmaxParams &params);

struct LossParams {
  int64_t ignore_index = -100;
  bool sum = false; ///< sum over the samples instead of their mean
};
/// logits [n, c, ...], labels i32 [n, ...], weight [c]; loss is a scalar (rank
/// 0), probs has the shape of logits. The mean divides by the sum of weights of
/// the labels that count, so that it is NaN where that is 0, as in PyTorch.
/// Labels below zero or equal to ignore_index do not count; their gradient is
/// 0, or NaN where their logits are.
void cross_entropy(Lane &lane, Tensor loss, Tensor probs, Tensor logits,
                   Tensor labels, Tensor weight, const LossParams &params);
void cross_entropy_grad(Lane &lane, Tensor dlogits, Tensor dloss, Tensor probs,
                        Tensor labels, Tensor weight, const LossParams &params);
/// The same from log-probabilities.
void nll_loss(Lane &lane, Tensor loss, Tensor logprobs, Tensor labels,
              Tensor weight, const LossParams &params);
void nll_loss_grad(Lane &lane, Tensor dlogprobs, Tensor dloss, Tensor labels,
                   Tensor weight, const LossParams &params);

struct LossWeightParams {
  int64_t classes = 0;
  int64_t ignore_index = -100;
};
/// sum is what the mean of the labels' losses divides by: the sum of weights of
/// the labels that count, a scalar.
void loss_weight(Lane &lane, Tensor sum, Tensor labels, Tensor weight,
                 const LossWeightParams &params);

/// counts [2]: how many labels are among the one and the five largest logits
/// [n, c]. Labels outside [0, c) count as wrong; among equal logits the lower
/// class ranks first.
void accuracy(Lane &lane, Tensor counts, Tensor logits, Tensor labels);

struct OneHotParams {
  int64_t first_class = 0;
  int64_t ignore_index = -100;
};
/// y [n, c, ...] = 1 where first_class + c is the label, else 0; all 0 for the
/// label ignore_index.
void one_hot(Lane &lane, Tensor y, Tensor labels, const OneHotParams &params);

struct LabelRankParams {
  int64_t first_class = 0;
};
/// rank [n, 1]: how many of the logits [n, c], of the classes from first_class
/// on, rank before the label's own logit `own` [n, 1]. INFINITY for a label
/// below zero. Ranks of parts of the classes add up.
void label_rank(Lane &lane, Tensor rank, Tensor logits, Tensor own,
                Tensor labels, const LabelRankParams &params);

//===----------------------------------------------------------------------===//
// Reductions and data movement
//===----------------------------------------------------------------------===//

struct ReduceParams {
  std::vector<int64_t> axes; ///< non-negative
  bool mean = false;         ///< divide the sum by the number of elements
};
/// y has x's shape with the axes removed, or kept with extent 1.
void reduce(Lane &lane, Tensor y, Tensor x, const ReduceParams &params);

/// Same elements in row-major (logical) order, another shape.
void reshape(Lane &lane, Tensor y, Tensor x);

struct TransposeParams {
  std::vector<int64_t> perm; ///< dimension d of y is dimension perm[d] of x
};
void transpose(Lane &lane, Tensor y, Tensor x, const TransposeParams &params);

struct AxisParams {
  int64_t axis = 0; ///< non-negative
};
/// y has x's shape with extent 1 along the axis; NaN is larger than anything.
void reduce_max(Lane &lane, Tensor y, Tensor x, const AxisParams &params);

/// y [n, t, d] = the rows of table [rows, d] that `at` [n, t] counts: whole
/// numbers, below zero from the table's end, as ONNX has it. A number of no row
/// gives a row of NaN.
/// The table may be [n, rows, d], one for each sample.
void embedding(Lane &lane, Tensor y, Tensor table, Tensor at);
/// Of each row of the table the sum of dy's rows that were taken from it, in
/// their order.
void embedding_grad(Lane &lane, Tensor dtable, Tensor dy, Tensor at);

/// xs may lie on other devices than the lane's, and be parts of tensors.
void concat(Lane &lane, Tensor y, const Tensors &xs, const AxisParams &params);
/// A result that nobody reads is Tensor{} in ys; `sizes` says its extent.
struct SplitParams {
  int64_t axis = 0;
  std::vector<int64_t> sizes;
};
void split(Lane &lane, const Tensors &ys, Tensor x, const SplitParams &params);

struct PadParams {
  std::vector<int64_t> low; ///< y index of x's first element; may be negative
  float value = 0.0f;
};
/// y = value everywhere, then x at offset `low` where that lies inside y.
void pad(Lane &lane, Tensor y, Tensor x, const PadParams &params);

struct SliceParams {
  std::vector<int64_t> start;
  std::vector<int64_t> step; ///< may be negative
};
void slice(Lane &lane, Tensor y, Tensor x, const SliceParams &params);
void slice_grad(Lane &lane, Tensor dx, Tensor dy, const SliceParams &params);

/// Most tensors that sum and sgd add up in one call.
inline constexpr int maxTerms = 64;

/// y = the sum of xs, in their order; they may lie on other devices than the
/// lane's, and be parts of tensors, with the same strides. y may be the first.
void sum(Lane &lane, Tensor y, const Tensors &xs);

/// ys[i] = xs[i], dense, which may lie on other devices than the lane's.
void transfer(Lane &lane, const Tensors &ys, const Tensors &xs);

struct FillParams {
  float value = 0.0f;
};
void fill(Lane &lane, Tensor y, const FillParams &params);

//===----------------------------------------------------------------------===//
// Optimizers. `scalars` is the StepScalars of Scalars.h; `loss` guards the
// update: where it is not finite, nothing changes, so that the trainer can
// stop with the parameters of the last good step.
// g is the sum of gs in their order, which may lie on other devices than the
// lane's, with each element bounded by clip_value, plus weight_decay * w.
// Results are tied: w_new is w, and the new states are the states, in place.
//===----------------------------------------------------------------------===//

/// What a parameter makes of the numbers in `scalars`.
struct UpdateParams {
  float decay_scale = 1.0f; ///< of both kinds of weight decay
  float lr_scale = 1.0f;
};

/// PyTorch's SGD: m = momentum * m + g (m starts at 0);
/// w -= lr * (nesterov ? g + momentum * m : m).
void sgd(Lane &lane, Tensor w_new, Tensor m_new, Tensor w, Tensor m,
         Tensor scalars, Tensor loss, const Tensors &gs,
         const UpdateParams &params);

/// PyTorch's Adam, with AdamW's decoupled weight decay, which comes first:
/// w *= 1 - lr * decoupled_decay; m += one_minus_beta1 * (g - m);
/// v = beta2 * v + one_minus_beta2 * g * g;
/// w -= lr / bias1 * m / (sqrt(v) / root_bias2 + eps).
void adam(Lane &lane, Tensor w_new, Tensor m_new, Tensor v_new, Tensor w,
          Tensor m, Tensor v, Tensor scalars, Tensor loss, const Tensors &gs,
          const UpdateParams &params);

/// PyTorch's RMSprop, not centered: v = beta2 * v + one_minus_beta2 * g * g;
/// m = momentum * m + g / (sqrt(v) + eps); w -= lr * m.
void rmsprop(Lane &lane, Tensor w_new, Tensor v_new, Tensor m_new, Tensor w,
             Tensor v, Tensor m, Tensor scalars, Tensor loss, const Tensors &gs,
             const UpdateParams &params);

/// PyTorch's Adagrad: v += g * g; w -= lr * g / (sqrt(v) + eps).
void adagrad(Lane &lane, Tensor w_new, Tensor v_new, Tensor w, Tensor v,
             Tensor scalars, Tensor loss, const Tensors &gs,
             const UpdateParams &params);

/// Lion: w *= 1 - lr * decoupled_decay;
/// w -= lr * sign(momentum * m + one_minus_beta1 * g);
/// m = beta2 * m + one_minus_beta2 * g.
void lion(Lane &lane, Tensor w_new, Tensor m_new, Tensor w, Tensor m,
          Tensor scalars, Tensor loss, const Tensors &gs,
          const UpdateParams &params);

/// LARS, as timm has it: SGD with the gradient, weight decay included, times
/// trust = trust_coefficient * |w| / (|g| + |w| * weight_decay + eps), norms of
/// the whole w and of g without weight decay; 1 where a norm or the weight
/// decay is 0. gs lie on the lane's device.
void lars(Lane &lane, Tensor w_new, Tensor m_new, Tensor w, Tensor m,
          Tensor scalars, Tensor loss, const Tensors &gs,
          const UpdateParams &params);

/// LAMB, as timm has it: m and v as in adam, of the gradient without weight
/// decay; u = m / bias1 / (sqrt(v) / root_bias2 + eps) + weight_decay * w;
/// w -= lr * |w| / |u| * u, without the norms where one of them or the weight
/// decay is 0. gs lie on the lane's device.
void lamb(Lane &lane, Tensor w_new, Tensor m_new, Tensor v_new, Tensor w,
          Tensor m, Tensor v, Tensor scalars, Tensor loss, const Tensors &gs,
          const UpdateParams &params);

/// All that follows y = x * transposed w in the backward pass, with w's only
/// gradient: dx = dy * w, then sgd on w and m with g = transposed dy * x.
/// w [n, k], x and dx [rows, k], dy [rows, n], all row-major; dx may be absent.
void matmul_sgd(Lane &lane, Tensor w_new, Tensor m_new, Tensor dx, Tensor w,
                Tensor m, Tensor scalars, Tensor loss, Tensor dy, Tensor x,
                const UpdateParams &params);

} // namespace lwcc::rt

#endif // LWCC_RUNTIME_CORE_OPS_H
