//===- Sample.cpp - One sample as its source has it -----------------------===//

#include "runtime/train/data/Sample.h"

#include "runtime/core/Clones.h"
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

/// Every `step`th element. Most are bytes, and most of them lie beside each
/// other.
LWCC_CLONES static void readEvery(int64_t step, const Sample &sample,
                                  int64_t first, int64_t count, float *out) {
  const ElementType type = sample.format.type;
  const char *from = sample.data + first * type.bytes;
  if (sample.format.tokens)
    for (int64_t i = 0; i < count; ++i)
      out[i] = static_cast<float>(integerAt(type, from, i * step));
  else if (type.kind == 'u' && step == 1)
    convert<uint8_t>(from, 1, count, out);
  else if (type.kind == 'u')
    convert<uint8_t>(from, step, count, out);
  else if (type.bytes == 4)
    convert<float>(from, step, count, out);
  else
    convert<double>(from, step, count, out);
}

void readElements(const Sample &sample, int64_t first, int64_t count,
                  float *out) {
  readEvery(1, sample, first, count, out);
}

void readPlanes(const Sample &sample, float *planes) {
  const SampleFormat &format = sample.format;
  if (format.layout == SampleLayout::planes)
    return readElements(sample, 0, format.elements(), planes);
  const int64_t plane = format.height * format.width;
  for (int64_t c = 0; c < format.channels; ++c)
    readEvery(format.channels, sample, c, plane, planes + c * plane);
}

} // namespace lwcc::rt::train
