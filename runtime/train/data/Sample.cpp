//===- Sample.cpp - One sample as its source has it -----------------------===//

#include "runtime/train/data/Sample.h"

#include "runtime/train/files/Text.h"

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

template <typename T>
static void convert(const char *from, int64_t step, int64_t count, float *out) {
  for (int64_t i = 0; i < count; ++i)
    out[i] = toFloat(loadAt<T>(from, i * step));
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
