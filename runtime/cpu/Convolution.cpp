//===- Convolution.cpp - Convolutions through oneDNN ------------*- C++ -*-===//
//
// Activations are passed in their plain channels-last layout. Weights may take
// the layout that the primitive likes best; they are reordered from and to the
// plain one as part of the operator, which costs little beside a convolution.
// Where oneDNN has only its reference implementation for plain activations
// (some depthwise gradients), they may be reordered as well. The ReLU is
// Finish.h's.
//
//===----------------------------------------------------------------------===//
#include "runtime/cpu/Finish.h"
#include "runtime/cpu/Lane.h"
#include "runtime/cpu/Onednn.h"
#include "runtime/cpu/Parallel.h"
#include "runtime/cpu/Reduction.h"

#include <cstring>

using dnnl::memory;

namespace lwcc::rt {

/// Weights [m, c/g, kh, kw]; oneDNN splits m of a grouped convolution.
static memory::desc weightsDesc(const Tensor &w, int64_t group) {
  if (group == 1)
    return plainDesc(w);
  int64_t outputs = w.dim[0] / group;
  return memory::desc({group, outputs, w.dim[1], w.dim[2], w.dim[3]},
                      memory::data_type::f32,
                      memory::dims{outputs * w.stride[0], w.stride[0],
                                   w.stride[1], w.stride[2], w.stride[3]});
}

static memory::desc anyLayout(const memory::desc &desc) {
  return memory::desc(desc.get_dims(), desc.get_data_type(),
                      memory::format_tag::any);
}

namespace {
/// What oneDNN wants to know about a convolution; x, y and w may be gradients.
struct ConvShape {
  memory::dims stride, dilation, padLow, padHigh;
  memory::desc src, dst, wei;

  ConvShape(const ConvParams &p, const Tensor &x, const Tensor &y,
            const Tensor &w)
      : stride{p.stride[0], p.stride[1]},
        dilation{p.dilation[0] - 1, p.dilation[1] - 1},
        padLow{p.pad[0], p.pad[1]}, padHigh{p.pad[2], p.pad[3]},
        src(plainDesc(x)), dst(plainDesc(y)), wei(weightsDesc(w, p.group)) {}
};
} // namespace

static bool isReference(const dnnl::primitive_desc_base &pd) {
  return std::strstr(pd.impl_info_str(), "ref") != nullptr;
}

/// Of a weight gradient, whether oneDNN's implementation writes past the end of
/// its scratchpad, as its strided 1x1 kernels do (seen in 3.2, with several
/// threads) where the channels fill no block: what they gather for the stride
/// is stored in whole blocks, of which the last does not fit.
static bool overrunsScratchpad(const dnnl::primitive_desc_base &pd,
                               const ConvShape &shape, int64_t channels) {
  constexpr int64_t block = 16;
  bool strided = shape.stride != memory::dims{1, 1};
  return strided && channels % block != 0 &&
         std::strstr(pd.impl_info_str(), "1x1") != nullptr;
}

/// create(src, dst) makes a primitive descriptor. Another layout of activations
/// than the plain one is tried only if nothing good takes that.
template <typename Create>
static auto choose(const ConvShape &shape, const Create &create) {
  auto plain = create(shape.src, shape.dst);
  if (!isReference(plain))
    return plain;
  auto any = create(anyLayout(shape.src), anyLayout(shape.dst));
  return isReference(any) ? plain : any;
}

/// The forward descriptor that the gradients refer to. Only shapes matter.
static dnnl::convolution_forward::primitive_desc hint(const ConvShape &shape) {
  return dnnl::convolution_forward::primitive_desc(
      cpuEngine(), dnnl::prop_kind::forward_training,
      dnnl::algorithm::convolution_direct, shape.src, anyLayout(shape.wei),
      shape.dst, shape.stride, shape.dilation, shape.padLow, shape.padHigh,
      userScratchpad());
}

void conv(Lane &lane, Tensor y, Tensor x, Tensor w, Tensor bias,
          const ConvParams &params) {
  CpuLane &on = cpuLane(lane);
  ThreadScope scope(on.threads);
  ConvShape shape(params, x, y, w);
  dnnl::primitive_attr attr = userScratchpad();
  using Desc = dnnl::convolution_forward::primitive_desc;
  Desc pd = choose(shape, [&](const memory::desc &src,
                              const memory::desc &dst) {
    auto kind = dnnl::prop_kind::forward_training;
    auto algorithm = dnnl::algorithm::convolution_direct;
    return bias ? Desc(cpuEngine(), kind, algorithm, src, anyLayout(shape.wei),
                       plainDesc(bias), dst, shape.stride, shape.dilation,
                       shape.padLow, shape.padHigh, attr)
                : Desc(cpuEngine(), kind, algorithm, src, anyLayout(shape.wei),
                       dst, shape.stride, shape.dilation, shape.padLow,
                       shape.padHigh, attr);
  });
  auto call =
      std::make_shared<OnednnCall>(on, pd, dnnl::convolution_forward(pd));
  call->input(DNNL_ARG_SRC, x, shape.src, pd.src_desc());
  call->input(DNNL_ARG_WEIGHTS, w, shape.wei, pd.weights_desc());
  if (bias)
    call->input(DNNL_ARG_BIAS, bias, plainDesc(bias), pd.bias_desc());
  call->output(DNNL_ARG_DST, y, shape.dst, pd.dst_desc());
  call->finish();
  on.append("conv", {y}, [=, relu = params.relu, threads = on.threads] {
    call->run();
    if (relu)
      finish(threads, y, {}, true);
  });
}

void conv_grad_input(Lane &lane, Tensor dx, Tensor dy, Tensor w,
                     const ConvParams &params) {
  CpuLane &on = cpuLane(lane);
  ThreadScope scope(on.threads);
  ConvShape shape(params, dx, dy, w);
  auto forward = hint(shape);
  auto pd =
      choose(shape, [&](const memory::desc &src, const memory::desc &dst) {
        return dnnl::convolution_backward_data::primitive_desc(
            cpuEngine(), dnnl::algorithm::convolution_direct, src,
            anyLayout(shape.wei), dst, shape.stride, shape.dilation,
            shape.padLow, shape.padHigh, forward, userScratchpad());
      });
  auto call =
      std::make_shared<OnednnCall>(on, pd, dnnl::convolution_backward_data(pd));
  call->input(DNNL_ARG_DIFF_DST, dy, shape.dst, pd.diff_dst_desc());
  call->input(DNNL_ARG_WEIGHTS, w, shape.wei, pd.weights_desc());
  call->output(DNNL_ARG_DIFF_SRC, dx, shape.src, pd.diff_src_desc());
  call->finish();
  on.append("conv_grad_input", {dx}, [call] { call->run(); });
}

void conv_grad_weight(Lane &lane, Tensor dw, Tensor dbias, Tensor dy, Tensor x,
                      const ConvParams &params) {
  if (!dw) { // frozen weights
    appendReduce(lane, "conv_grad_weight", dbias, dy,
                 {.axes = {0, 2, 3}, .mean = false});
    return;
  }
  CpuLane &on = cpuLane(lane);
  ThreadScope scope(on.threads);
  ConvShape shape(params, x, dy, dw);
  auto forward = hint(shape);
  using Desc = dnnl::convolution_backward_weights::primitive_desc;
  Desc pd =
      choose(shape, [&](const memory::desc &src, const memory::desc &dst) {
        auto algorithm = dnnl::algorithm::convolution_direct;
        Desc found =
            dbias ? Desc(cpuEngine(), algorithm, src, anyLayout(shape.wei),
                         plainDesc(dbias), dst, shape.stride, shape.dilation,
                         shape.padLow, shape.padHigh, forward, userScratchpad())
                  : Desc(cpuEngine(), algorithm, src, anyLayout(shape.wei), dst,
                         shape.stride, shape.dilation, shape.padLow,
                         shape.padHigh, forward, userScratchpad());
        while (overrunsScratchpad(found, shape, x.dim[1] / params.group) &&
               found.next_impl())
          continue;
        return found;
      });
  auto call = std::make_shared<OnednnCall>(
      on, pd, dnnl::convolution_backward_weights(pd));
  call->input(DNNL_ARG_SRC, x, shape.src, pd.src_desc());
  call->input(DNNL_ARG_DIFF_DST, dy, shape.dst, pd.diff_dst_desc());
  call->output(DNNL_ARG_DIFF_WEIGHTS, dw, shape.wei, pd.diff_weights_desc());
  if (dbias)
    call->output(DNNL_ARG_DIFF_BIAS, dbias, plainDesc(dbias),
                 pd.diff_bias_desc());
  call->finish();
  on.append("conv_grad_weight", {dw, dbias}, [call] { call->run(); });
}

} // namespace lwcc::rt
