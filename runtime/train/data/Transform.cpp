//===- Transform.cpp - From an image to the model's input -----------------===//

#include "runtime/train/data/Transform.h"

#include "runtime/core/Error.h"
#include "runtime/train/files/Text.h"

#include <algorithm>
#include <cassert>
#include <cmath>

namespace lwcc::rt::train {

/// What the model's input means for a sample of format `from`.
static SampleFormat targetOf(const SampleFormat &from,
                             const std::vector<int64_t> &dims) {
  int64_t elements = 1;
  for (int64_t dim : dims)
    elements *= dim;
  bool pictures = dims.size() == 3 && from.image;
  if (pictures && (from.channels == dims[0] || from.channels == 1))
    return {dims[0], dims[1], dims[2], true};
  if (!pictures && elements == from.elements())
    return dims.size() == 3 ? SampleFormat{dims[0], dims[1], dims[2], true}
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

Transform::Transform(const SampleFormat &from, const std::vector<int64_t> &dims,
                     std::vector<double> mean, std::vector<double> std)
    : from(from), to(targetOf(from, dims)) {
  // A row of numbers has no shape to resize.
  if (from.image && (from.height != to.height || from.width != to.width)) {
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

void Transform::resize(const Sample &sample, int64_t channel,
                       float *out) const {
  // Two rows of the source at a time, as floats; neighbouring rows of the
  // result read the same ones.
  const int64_t width = from.width;
  std::vector<float> upper(width), lower(width);
  int64_t inUpper = -1, inLower = -1;
  auto fetch = [&](int64_t row, int64_t &held, std::vector<float> &values) {
    if (held != row)
      readChannel(sample, channel, row * width, width, values.data());
    held = row;
  };
  for (const Tap &row : rows) {
    if (inLower == row.near) {
      std::swap(upper, lower);
      std::swap(inUpper, inLower);
    }
    fetch(row.near, inUpper, upper);
    fetch(row.next, inLower, lower);
    for (const Tap &column : columns) {
      float left = 1.0f - column.far, right = column.far;
      *out++ =
          (1.0f - row.far) *
              (left * upper[column.near] + right * upper[column.next]) +
          row.far * (left * lower[column.near] + right * lower[column.next]);
    }
  }
}

void Transform::apply(const Sample &sample, const SampleKey &,
                      float *out) const {
  assert(sample.format == from && "a source has one format for all samples");
  const int64_t plane = to.height * to.width;
  if (rows.empty())
    readPlanes(sample, out);
  else
    for (int64_t c = 0; c < from.channels; ++c)
      resize(sample, c, out + c * plane);
  if (repeats())
    for (int64_t c = 1; c < to.channels; ++c)
      std::copy_n(out, plane, out + c * plane);
  if (mean.empty())
    return;
  int64_t channels = static_cast<int64_t>(mean.size());
  int64_t part = to.elements() / channels;
  for (int64_t c = 0; c < channels; ++c)
    for (float *x = out + c * part, *end = x + part; x != end; ++x)
      *x = (*x - mean[c]) / deviation[c];
}

std::string Transform::describe() const {
  std::string text;
  if (!rows.empty())
    text = "resized to " + dimsText({to.height, to.width});
  if (repeats())
    text += (text.empty() ? "" : ", ") + std::string("repeated to ") +
            plural(to.channels, "channel");
  return text;
}

std::string DataSet::describe() const {
  std::string change = transform.describe();
  return source->describe() + (change.empty() ? "" : "; " + change);
}

} // namespace lwcc::rt::train
