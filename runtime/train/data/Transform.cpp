//===- Transform.cpp - From an image to the model's input -----------------===//

#include "runtime/train/data/Transform.h"

#include "runtime/core/Error.h"
#include "runtime/train/files/Text.h"

#include <algorithm>
#include <cmath>

namespace lwcc::rt::train {

/// What the model's input means for an image of format `from`.
static ImageFormat targetOf(const ImageFormat &from,
                            const std::vector<int64_t> &dims) {
  int64_t elements = 1;
  for (int64_t dim : dims)
    elements *= dim;
  bool pictures = dims.size() == 3 && from.image;
  if (pictures && (from.channels == dims[0] || from.channels == 1))
    return {dims[0], dims[1], dims[2], true};
  if (!pictures && elements == from.elements())
    return dims.size() == 3 ? ImageFormat{dims[0], dims[1], dims[2], true}
                            : from;
  throw Error("the data (" + from.text() +
              ") does not fit the model's input of " + dimsText(dims) +
              (pictures ? ": channels can only be repeated from grey"
                        : ": as many numbers are needed"));
}

static std::vector<float> perChannel(const std::vector<double> &values,
                                     int64_t channels, const char *flag,
                                     float absent) {
  if (values.empty())
    return std::vector<float>(channels, absent);
  if (int64_t(values.size()) == channels)
    return std::vector<float>(values.begin(), values.end());
  if (values.size() != 1)
    throw Error(format("%s has %zu values; the input has %s", flag,
                       values.size(), plural(channels, "channel").c_str()));
  return std::vector<float>(channels, static_cast<float>(values[0]));
}

Transform::Transform(const ImageFormat &from, const std::vector<int64_t> &dims,
                     std::vector<double> mean, std::vector<double> std)
    : from(from), to(targetOf(from, dims)) {
  if (!from.image) // a row of numbers has no shape to resize
    this->from = to;
  else if (from.height != to.height || from.width != to.width) {
    rows = tapsOf(from.height, to.height);
    columns = tapsOf(from.width, to.width);
  }
  // A row of features has one mean and one deviation.
  int64_t channels = to.image ? to.channels : 1;
  if (!mean.empty() || !std.empty()) {
    this->mean = perChannel(mean, channels, "--mean", 0.0f);
    deviation = perChannel(std, channels, "--std", 1.0f);
  }
}

std::vector<Transform::Tap> Transform::tapsOf(int64_t in, int64_t out) {
  float scale = static_cast<float>(in) / static_cast<float>(out);
  std::vector<Tap> taps(out);
  for (int64_t i = 0; i < out; ++i) {
    float source = std::max(0.0f, (i + 0.5f) * scale - 0.5f);
    int64_t near = std::min(static_cast<int64_t>(source), in - 1);
    taps[i] = {near, std::min(near + 1, in - 1), source - near};
  }
  return taps;
}

void Transform::resize(const float *in, float *out) const {
  for (const Tap &row : rows) {
    const float *upper = in + row.near * from.width;
    const float *lower = in + row.next * from.width;
    for (const Tap &column : columns) {
      float left = 1.0f - column.far, right = column.far;
      *out++ =
          (1.0f - row.far) *
              (left * upper[column.near] + right * upper[column.next]) +
          row.far * (left * lower[column.near] + right * lower[column.next]);
    }
  }
}

void Transform::apply(const float *in, float *out) const {
  int64_t inPlane = from.height * from.width;
  int64_t outPlane = to.height * to.width;
  for (int64_t c = 0; c < from.channels; ++c)
    if (rows.empty())
      std::copy_n(in + c * inPlane, inPlane, out + c * outPlane);
    else
      resize(in + c * inPlane, out + c * outPlane);
  for (int64_t c = from.channels; c < to.channels; ++c)
    std::copy_n(out, outPlane, out + c * outPlane);
  if (mean.empty())
    return;
  int64_t channels = static_cast<int64_t>(mean.size());
  int64_t plane = to.elements() / channels;
  for (int64_t c = 0; c < channels; ++c)
    for (float *x = out + c * plane, *end = x + plane; x != end; ++x)
      *x = (*x - mean[c]) / deviation[c];
}

std::string Transform::describe() const {
  std::string text;
  if (!rows.empty())
    text = "resized to " + dimsText({to.height, to.width});
  if (from.channels != to.channels)
    text += (text.empty() ? "" : ", ") + std::string("repeated to ") +
            plural(to.channels, "channel");
  return text;
}

std::string DataSet::describe() const {
  std::string change = transform.describe();
  return source->describe() + (change.empty() ? "" : "; " + change);
}

} // namespace lwcc::rt::train
