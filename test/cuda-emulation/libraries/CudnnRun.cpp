//===- CudnnRun.cpp - Runs the graph of a plan ----------------------------===//
//
// Interprets a graph, node by node, when its stream comes to it. What lies in
// memory is read and written by the strides of its descriptor; virtual tensors
// are buffers of the run. A node computes what its descriptors say, so that a
// wrong one gives a wrong result.
//
//===----------------------------------------------------------------------===//

#include "test/cuda-emulation/Emulation.h"
#include "test/cuda-emulation/libraries/Convolve.h"
#include "test/cuda-emulation/libraries/CudnnEngines.h"
#include "test/cuda-emulation/libraries/Libraries.h"

#include <cmath>

using namespace lwcc::emulation;
using namespace lwcc::emulation::dnn;

namespace {

/// A tensor of four dimensions as [first][third][fourth][second]: an image's
/// channels last.
struct Image {
  std::array<int64_t, 4> dims = {1, 1, 1, 1};
  std::vector<float> values;

  explicit Image(const GraphTensor &tensor) {
    std::copy(tensor.dims.begin(), tensor.dims.end(), dims.begin());
    values.resize(static_cast<size_t>(dims[0] * dims[1] * dims[2] * dims[3]));
  }
};

/// One run of a plan.
class Run {
public:
  Run(const Plan &plan, const std::map<int64_t, void *> &pointers)
      : plan(plan), graph(*plan.graph), pointers(pointers) {}

  void operator()();

private:
  const Image *imageOf(int64_t id);
  bool store(int64_t id, Image &&image, double kept);
  bool convolution(const GraphNode &node);
  bool pointwise(const GraphNode &node);

  const Plan &plan;
  const Graph &graph;
  const std::map<int64_t, void *> &pointers;
  std::map<int64_t, Image> images; ///< that were read or made
};

} // namespace

/// Calls f(position in an Image, offset in memory) for every element.
template <typename F>
static void forEachElement(const GraphTensor &t, F f) {
  size_t at = 0;
  for (int64_t n = 0; n < t.dims[0]; ++n)
    for (int64_t h = 0; h < t.dims[2]; ++h)
      for (int64_t w = 0; w < t.dims[3]; ++w) {
        int64_t offset = n * t.strides[0] + h * t.strides[2] + w * t.strides[3];
        for (int64_t c = 0; c < t.dims[1]; ++c)
          f(at++, offset + c * t.strides[1]);
      }
}

static Strided stridedOf(const GraphTensor &tensor) {
  return {tensor.dims, tensor.strides};
}

/// Null where the memory must not be read.
const Image *Run::imageOf(int64_t id) {
  auto at = images.find(id);
  if (at != images.end())
    return &at->second;
  const GraphTensor &tensor = graph.tensors.at(id);
  const auto *data = static_cast<const float *>(pointers.at(id));
  if (!readAll(data, stridedOf(tensor)))
    return nullptr;
  Image image(tensor);
  forEachElement(tensor, [&](size_t place, int64_t offset) {
    image.values[place] = data[offset];
  });
  return &images.emplace(id, std::move(image)).first->second;
}

/// Makes `image` the value of a tensor, with `kept` times its old one added.
bool Run::store(int64_t id, Image &&image, double kept) {
  const GraphTensor &tensor = graph.tensors.at(id);
  if (!tensor.isVirtual) {
    auto *data = static_cast<float *>(pointers.at(id));
    if (kept != 0 && !readAll(data, stridedOf(tensor)))
      return false;
    if (!writeAll(data, stridedOf(tensor)))
      return false;
    forEachElement(tensor, [&](size_t place, int64_t offset) {
      float &value = image.values[place];
      if (kept != 0)
        value += static_cast<float>(kept * static_cast<double>(data[offset]));
      data[offset] = value;
    });
  }
  images.erase(id);
  images.emplace(id, std::move(image));
  return true;
}

//===----------------------------------------------------------------------===//
// Nodes
//===----------------------------------------------------------------------===//

static ConvLoops loopsOf(const GraphNode &node, const GraphTensor &x,
                         const GraphTensor &w, const GraphTensor &y) {
  ConvLoops loops;
  loops.n = x.dims[0];
  loops.c = x.dims[1];
  loops.h = x.dims[2];
  loops.w = x.dims[3];
  loops.k = y.dims[1];
  loops.p = y.dims[2];
  loops.q = y.dims[3];
  loops.r = w.dims[2];
  loops.s = w.dims[3];
  loops.groups = x.dims[1] / w.dims[1];
  loops.padTop = node.before[0];
  loops.padLeft = node.before[1];
  loops.strideH = node.stride[0];
  loops.strideW = node.stride[1];
  loops.dilationH = node.dilation[0];
  loops.dilationW = node.dilation[1];
  return loops;
}

/// Moves a filter between its image ([k][r][s][c in group]) and the order of
/// Convolve.h, turned around where the convolution flips it.
template <typename F>
static void forEachTap(const ConvLoops &l, bool flips, bool channelsLast,
                       F move) {
  const int64_t cg = l.c / l.groups, kg = l.k / l.groups;
  size_t at = 0;
  for (int64_t k = 0; k < l.k; ++k)
    for (int64_t r = 0; r < l.r; ++r)
      for (int64_t s = 0; s < l.s; ++s)
        for (int64_t c = 0; c < cg; ++c) {
          int64_t row = flips ? l.r - 1 - r : r,
                  column = flips ? l.s - 1 - s : s;
          int64_t tap = ((k / kg) * l.r + row) * l.s + column;
          int64_t inTap = channelsLast ? (k % kg) * cg + c : c * kg + k % kg;
          move(at++, static_cast<size_t>(tap * cg * kg + inTap));
        }
}

bool Run::convolution(const GraphNode &node) {
  const Image *first = imageOf(node.inputs[0]);
  const Image *second = first ? imageOf(node.inputs[1]) : nullptr;
  if (!second)
    return false;
  const GraphTensor &a = graph.tensors.at(node.inputs[0]),
                    &b = graph.tensors.at(node.inputs[1]),
                    &out = graph.tensors.at(node.output);
  const NodeKind kind = node.kind;
  ConvLoops loops = kind == NodeKind::forward     ? loopsOf(node, a, b, out)
                    : kind == NodeKind::gradInput ? loopsOf(node, out, b, a)
                                                  : loopsOf(node, b, out, a);
  std::vector<float> left = first->values, right = second->values;
  if (plan.engine->has(CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS))
    for (std::vector<float> *values : {&left, &right})
      for (float &value : *values)
        value = roundToTf32(value);
  Image result(out);
  std::vector<float> filter(kind == NodeKind::gradWeight ? result.values.size()
                                                         : right.size());
  if (kind != NodeKind::gradWeight)
    forEachTap(loops, node.flips, kind == NodeKind::gradInput,
               [&](size_t from, size_t to) { filter[to] = right[from]; });
  if (kind == NodeKind::forward) {
    convolve(loops, left.data(), filter.data(), result.values.data());
  } else if (kind == NodeKind::gradInput) {
    convolveGradInput(loops, result.values.data(), filter.data(), left.data());
  } else {
    convolveGradWeight(loops, right.data(), filter.data(), left.data());
    forEachTap(loops, node.flips, false, [&](size_t to, size_t from) {
      result.values[to] = filter[from];
    });
  }
  if (node.scale != 1)
    for (float &value : result.values)
      value *= static_cast<float>(node.scale);
  if (plan.engine->has(CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC))
    jitter(result.values.data(), result.values.size());
  return store(node.output, std::move(result), node.otherScale);
}

static float apply(const GraphNode &node, bool keepsNan, float x, float b) {
  switch (node.mode) {
  case CUDNN_POINTWISE_ADD:
    return x + b;
  case CUDNN_POINTWISE_SUB:
    return x - b;
  case CUDNN_POINTWISE_MUL:
    return x * b;
  case CUDNN_POINTWISE_MAX:
    return std::fmax(x, b);
  case CUDNN_POINTWISE_MIN:
    return std::fmin(x, b);
  case CUDNN_POINTWISE_TANH_FWD:
    return std::tanh(x);
  case CUDNN_POINTWISE_SIGMOID_FWD:
    return 1 / (1 + std::exp(-x));
  case CUDNN_POINTWISE_RELU_FWD: {
    auto lower = static_cast<float>(node.lowerClip);
    if (std::isnan(x))
      return keepsNan ? x : lower;
    if (x <= lower)
      return lower + static_cast<float>(node.slope) * (x - lower);
    return node.clipsAbove ? std::min(x, static_cast<float>(node.upperClip))
                           : x;
  }
  default:
    return x;
  }
}

bool Run::pointwise(const GraphNode &node) {
  const Image *x = imageOf(node.inputs[0]);
  const Image *b = node.inputs.size() > 1 ? imageOf(node.inputs[1]) : x;
  if (!x || !b)
    return false;
  Image result(graph.tensors.at(node.output));
  // An operand of extent 1 stands for all indices.
  auto strideOf = [](const Image &image) {
    auto [n, c, h, w] = image.dims;
    return std::array<int64_t, 4>{n == 1 ? 0 : h * w * c, c == 1 ? 0 : 1,
                                  h == 1 ? 0 : w * c, w == 1 ? 0 : c};
  };
  auto xs = strideOf(*x), bs = strideOf(*b);
  const bool keepsNan = plan.engine->has(CUDNN_NUMERICAL_NOTE_STRICT_NAN_PROP);
  const auto alpha1 = static_cast<float>(node.scale),
             alpha2 = static_cast<float>(node.otherScale);
  float *to = result.values.data();
  auto [dn, dc, dh, dw] = result.dims;
  for (int64_t n = 0; n < dn; ++n)
    for (int64_t h = 0; h < dh; ++h)
      for (int64_t w = 0; w < dw; ++w)
        for (int64_t c = 0; c < dc; ++c) {
          auto at = [&](const Image &image, const auto &stride) {
            return image.values[static_cast<size_t>(
                n * stride[0] + c * stride[1] + h * stride[2] + w * stride[3])];
          };
          *to++ =
              apply(node, keepsNan, alpha1 * at(*x, xs), alpha2 * at(*b, bs));
        }
  return store(node.output, std::move(result), 0);
}

void Run::operator()() {
  for (const GraphNode &node : graph.nodes)
    if (!(node.kind == NodeKind::pointwise ? pointwise(node)
                                           : convolution(node)))
      return;
}

void lwcc::emulation::dnn::runPlan(const Plan &plan,
                                   const std::map<int64_t, void *> &pointers) {
  Run(plan, pointers)();
}
