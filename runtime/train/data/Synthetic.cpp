//===- Synthetic.cpp - Images that nobody took ----------------------------===//
//
// For trying a program and for timing it: image i depends on i only, so every
// run and every target trains on the same ones. Tokens are drawn, too. A
// sample's one class is shown by a pattern; of several labels that of a token
// is the next number, and that of a pixel the class of the whole image.
//
//===----------------------------------------------------------------------===//

#include "runtime/core/Philox.h"
#include "runtime/train/data/DataSource.h"
#include "runtime/train/files/Text.h"

#include <algorithm>

namespace lwcc::rt::train {

namespace {
class Synthetic : public DataSource {
public:
  Synthetic(int64_t images, const ModelInput &input)
      : images(images),
        classes(input.loss.empty() ? std::max<int64_t>(input.classes, 1) : 2),
        tokens(input.tokens) {
    const std::vector<int64_t> &dims = input.dims;
    shape.tokens = tokens > 0;
    if (shape.tokens)
      shape.type = {'i', 4};
    if (dims.size() == 3 && !shape.tokens) {
      shape = {dims[0], dims[1], dims[2], true};
    } else {
      shape.image = false;
      shape.channels = elementsOf(dims);
    }
  }

  int64_t size() const override { return images; }
  SampleFormat format() const override { return shape; }
  int32_t label(int64_t index) const override {
    uint64_t bits = philox(0, index, streamOf("synthetic labels"), 0).v[0];
    return static_cast<int32_t>(bits * uint64_t(classes) >> 32);
  }

  void labels(int64_t index, std::span<int32_t> out) const override {
    std::fill(out.begin(), out.end(), label(index));
    if (!tokens || int64_t(out.size()) != shape.channels)
      return;
    for (int64_t i = 0; i < shape.channels; ++i)
      out[i] = static_cast<int32_t>((tokenAt(index, i) + 1) % classes);
  }

  void read(int64_t index, Sample &sample) const override {
    sample.format = shape;
    sample.storage.resize(shape.bytes());
    sample.data = sample.storage.data();
    if (tokens)
      for (int64_t i = 0; i < shape.channels; ++i)
        reinterpret_cast<int32_t *>(sample.storage.data())[i] =
            static_cast<int32_t>(tokenAt(index, i));
    else
      drawImage(index, reinterpret_cast<float *>(sample.storage.data()));
  }

  std::string describe() const override {
    return plural(images, tokens ? "synthetic sequence" : "synthetic image") +
           ", " + shape.text();
  }

private:
  /// Every other token is the sample's class.
  int64_t tokenAt(int64_t index, int64_t at) const {
    if (at % 2)
      return label(index) % tokens;
    uint64_t bits =
        philox(0, index * shape.channels + at, streamOf("synthetic tokens"), 0)
            .v[0];
    return static_cast<int64_t>(bits * uint64_t(tokens) >> 32);
  }

  /// Noise in [0.25, 0.75], one byte of randomness a pixel, plus the sign of
  /// the class's pattern: 64 cells in row-major order, whatever the shape.
  void drawImage(int64_t index, float *planes) const {
    Philox4 pattern = philox(0, label(index), streamOf("synthetic class"), 0);
    uint64_t signs = uint64_t(pattern.v[1]) << 32 | pattern.v[0];
    int64_t count = shape.elements();
    int64_t blocks = (count + 15) / 16;
    uint32_t stream = streamOf("synthetic images");
    for (int64_t block = 0; block < blocks; ++block) {
      Philox4 bits = philox(0, index * blocks + block, stream, 0);
      int64_t end = std::min<int64_t>(16, count - block * 16);
      for (int64_t i = 0; i < end; ++i) {
        int64_t at = block * 16 + i;
        float noise = (bits.v[i / 4] >> (8 * (i % 4)) & 0xFF) / 510.0f;
        bool positive = signs >> (at * 64 / count) & 1;
        planes[at] = 0.25f + noise + (positive ? 0.25f : -0.25f);
      }
    }
  }

  int64_t images;
  int64_t classes;
  int64_t tokens;
  SampleFormat shape;
};
} // namespace

std::unique_ptr<DataSource> makeSynthetic(int64_t images,
                                          const ModelInput &input) {
  return std::make_unique<Synthetic>(images, input);
}

} // namespace lwcc::rt::train
