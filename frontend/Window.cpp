//===- Window.cpp - Windows of convolutions and pools ---------------------===//

#include "frontend/Window.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

using namespace lwcc;
using namespace mlir;
using namespace llvm;

Window Window::part(size_t from, size_t count) const {
  auto some = [&](ArrayRef<int64_t> list) {
    return Shape(list.slice(from, count));
  };
  Window window{some(kernel), some(stride), some(dilation), some(pad),
                some(output)};
  window.pad.append(some(ArrayRef(pad).drop_front(rank())));
  return window;
}

Window Window::withHeight() const {
  Window window = *this;
  for (Shape *list :
       {&window.kernel, &window.stride, &window.dilation, &window.output})
    list->insert(list->begin(), 1);
  window.pad.insert(window.pad.begin() + rank(), 0);
  window.pad.insert(window.pad.begin(), 0);
  return window;
}

/// Reads what is stated; `auto_pad` is returned, the rest checked.
static FailureOr<StringRef> readAttributes(NodeImporter &node, size_t rank,
                                           Window &window) {
  auto list = [&](StringRef name, size_t size, int64_t otherwise) {
    return node.NodeView::integers(name).value_or(Shape(size, otherwise));
  };
  window.stride = list("strides", rank, 1);
  window.dilation = list("dilations", rank, 1);
  window.pad = list("pads", 2 * rank, 0);
  auto within = [](ArrayRef<int64_t> values, int64_t low) {
    return all_of(values, [&](int64_t v) { return v >= low && v < 1 << 20; });
  };
  if (window.kernel.size() != rank || window.stride.size() != rank ||
      window.dilation.size() != rank || window.pad.size() != 2 * rank)
    return node.fail("needs kernel_shape, strides and dilations of " +
                     Twine(rank) + " numbers and pads of " + Twine(2 * rank));
  if (!within(window.kernel, 1) || !within(window.stride, 1) ||
      !within(window.dilation, 1) || !within(window.pad, 0))
    return node.fail("has a kernel, stride or dilation below 1 or a negative "
                     "pad");
  StringRef mode = node.text("auto_pad", "NOTSET");
  if (!is_contained({"NOTSET", "", "VALID", "SAME_UPPER", "SAME_LOWER"}, mode))
    return node.fail("has the unknown auto_pad '" + mode + "'");
  if (mode == "VALID")
    window.pad.assign(2 * rank, 0);
  return mode;
}

/// Pads a dimension by `total`, of which the smaller half stands before it if
/// the mode is SAME_UPPER, else behind.
static void shareOut(Window &window, size_t d, int64_t total, StringRef mode) {
  int64_t small = total / 2;
  window.pad[d] = mode == "SAME_UPPER" ? small : total - small;
  window.pad[d + window.rank()] = total - window.pad[d];
}

FailureOr<Window> lwcc::readWindow(NodeImporter &node, ArrayRef<int64_t> input,
                                   Shape kernel) {
  Window window;
  window.kernel = kernel;
  size_t rank = input.size();
  FailureOr<StringRef> mode = readAttributes(node, rank, window);
  if (failed(mode))
    return failure();
  bool same = mode->starts_with("SAME");
  bool ceilMode = node.integer("ceil_mode", 0) != 0;
  for (size_t d = 0; d < rank; ++d) {
    int64_t span = window.span(d), stride = window.stride[d];
    if (same) {
      int64_t output = divideCeil(input[d], stride);
      int64_t total =
          std::max<int64_t>(0, (output - 1) * stride + span - input[d]);
      shareOut(window, d, total, *mode);
    }
    int64_t free = input[d] + window.pad[d] + window.pad[d + rank] - span;
    if (free < 0)
      return node.fail("has a window of " + Twine(span) +
                       " over a padded extent of " + Twine(free + span) +
                       "; the input image is too small for this model");
    int64_t output =
        (ceilMode && !same ? divideCeil(free, stride) : free / stride) + 1;
    // As in PyTorch, a window must start inside the input or its left padding.
    if (ceilMode && (output - 1) * stride >= input[d] + window.pad[d])
      --output;
    window.output.push_back(output);
  }
  return window;
}

FailureOr<Window> lwcc::readTransposedWindow(NodeImporter &node,
                                             ArrayRef<int64_t> input,
                                             Shape kernel) {
  Window window;
  window.kernel = kernel;
  size_t rank = input.size();
  FailureOr<StringRef> mode = readAttributes(node, rank, window);
  if (failed(mode))
    return failure();
  Shape extra =
      node.NodeView::integers("output_padding").value_or(Shape(rank, 0));
  std::optional<Shape> wanted = node.NodeView::integers("output_shape");
  if (wanted && wanted->size() == rank + 2)
    wanted->erase(wanted->begin(), wanted->begin() + 2);
  if (extra.size() != rank || (wanted && wanted->size() != rank))
    return node.fail("needs output_padding and output_shape of " + Twine(rank) +
                     " numbers");
  bool same = mode->starts_with("SAME");
  for (size_t d = 0; d < rank; ++d) {
    int64_t stride = window.stride[d];
    // Without padding.
    int64_t whole = stride * (input[d] - 1) + window.span(d) + extra[d];
    int64_t output = whole - window.pad[d] - window.pad[d + rank];
    if (same || wanted) {
      output = wanted ? (*wanted)[d] : input[d] * stride;
      int64_t total = std::max<int64_t>(0, whole - output);
      shareOut(window, d, total, *mode);
      output = wanted ? output : whole - total;
    }
    // The convolution that this one is the transpose of must make its input.
    int64_t free =
        output + window.pad[d] + window.pad[d + rank] - window.span(d);
    if (extra[d] < 0 || output < 1 || free < 0 || free / stride + 1 != input[d])
      return node.fail("makes an extent of " + Twine(output) + " from " +
                       Twine(input[d]) + " with stride " + Twine(stride) +
                       ", a window of " + Twine(window.span(d)) +
                       " and output_padding " + Twine(extra[d]) +
                       ", which do not fit each other; output_padding must be "
                       "below the stride");
    window.output.push_back(output);
  }
  return window;
}
