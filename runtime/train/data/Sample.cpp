//===- Sample.cpp - One sample as its source has it -----------------------===//

#include "runtime/train/data/Sample.h"

#include "runtime/train/files/Text.h"

#include <cstring>

namespace lwcc::rt::train {

std::string SampleFormat::text() const {
  if (!image)
    return plural(channels, tokens ? "token" : "feature");
  std::string size = hasSize()
                         ? std::to_string(height) + "x" + std::to_string(width)
                         : "any size";
  return channels == 1 ? size + " grey"
                       : size + " with " + plural(channels, "channel");
}

static float toFloat(uint8_t value) { return value / 255.0f; }
static float toFloat(float value) { return value; }
static float toFloat(double value) { return static_cast<float>(value); }

/// Files align their elements, but nothing guarantees it.
template <typename T>
static T load(const char *data, int64_t index) {
  T value;
  std::memcpy(&value, data + index * int64_t(sizeof(T)), sizeof(T));
  return value;
}

int64_t integerAt(ElementType type, const char *data, int64_t index) {
  const bool isSigned = type.kind == 'i';
  switch (type.bytes) {
  case 1:
    return isSigned ? int64_t(load<int8_t>(data, index))
                    : int64_t(load<uint8_t>(data, index));
  case 2:
    return isSigned ? int64_t(load<int16_t>(data, index))
                    : int64_t(load<uint16_t>(data, index));
  case 4:
    return isSigned ? int64_t(load<int32_t>(data, index))
                    : int64_t(load<uint32_t>(data, index));
  default:
    return load<int64_t>(data, index);
  }
}

template <typename T>
static void convert(const char *from, int64_t step, int64_t count, float *out) {
  for (int64_t i = 0; i < count; ++i)
    out[i] = toFloat(load<T>(from, i * step));
}

void readChannel(const Sample &sample, int64_t channel, int64_t first,
                 int64_t count, float *out) {
  const SampleFormat &format = sample.format;
  const bool planes = format.layout == SampleLayout::planes;
  const int64_t step = planes ? 1 : format.channels;
  const int64_t start = planes ? channel * format.height * format.width + first
                               : first * format.channels + channel;
  const char *from = sample.data + start * format.type.bytes;
  if (format.tokens)
    for (int64_t i = 0; i < count; ++i)
      out[i] = static_cast<float>(integerAt(format.type, from, i * step));
  else if (format.type.kind == 'u')
    convert<uint8_t>(from, step, count, out);
  else if (format.type.bytes == 4)
    convert<float>(from, step, count, out);
  else
    convert<double>(from, step, count, out);
}

void readPlanes(const Sample &sample, float *planes) {
  const int64_t plane = sample.format.height * sample.format.width;
  for (int64_t c = 0; c < sample.format.channels; ++c)
    readChannel(sample, c, 0, plane, planes + c * plane);
}

} // namespace lwcc::rt::train
