//===- BmpDecoder.cpp - BMP -----------------------------------------------===//
//
// Uncompressed bitmaps of 1, 4, 8, 16, 24 and 32 bits a pixel, with a header
// of OS/2 1 (12 bytes) or of Windows (40 bytes and more). Debian has no library
// for these alone. Run-length compression is refused.
//
//===----------------------------------------------------------------------===//

#include "runtime/core/Error.h"
#include "runtime/train/data/Picture.h"
#include "runtime/train/files/Text.h"

#include <algorithm>
#include <bit>
#include <cstdlib>

namespace lwcc::rt::train {

namespace {
/// Little-endian numbers of a file.
class BmpNumbers {
public:
  explicit BmpNumbers(std::string_view bytes) : bytes(bytes) {}
  uint32_t at(uint64_t offset, int size) const {
    if (offset > bytes.size() || bytes.size() - offset < uint64_t(size))
      throw Error("broken BMP: the file ends early");
    uint32_t value = 0;
    for (int i = size - 1; i >= 0; --i)
      value = value << 8 | static_cast<unsigned char>(bytes[offset + i]);
    return value;
  }

private:
  std::string_view bytes;
};

/// Where a pixel of 16 or 32 bits has one of its colours.
struct ColourMask {
  uint32_t mask = 0;

  unsigned char of(uint32_t pixel) const {
    if (mask == 0)
      return 0;
    int shift = std::countr_zero(mask);
    // In 64 bits, since a mask may have all 32.
    uint64_t value = (pixel & mask) >> shift, most = mask >> shift;
    return static_cast<unsigned char>(value * 255 / most);
  }
};

struct BmpHeader {
  int64_t width, height;
  bool fromTop;
  uint32_t bits;
  uint64_t pixels; ///< where they begin
  uint64_t palette;
  uint32_t colours, paletteStep;
  ColourMask masks[3]; ///< red, green, blue
};
} // namespace

static BmpHeader readHeader(const BmpNumbers &file) {
  constexpr uint64_t start = 14; // behind the header of the file
  BmpHeader header = {};
  header.pixels = file.at(10, 4);
  const uint32_t size = file.at(start, 4);
  uint32_t compression = 0;
  header.palette = start + size;
  if (size == 12) {
    header.width = file.at(start + 4, 2);
    header.height = file.at(start + 6, 2);
    header.bits = file.at(start + 10, 2);
    header.paletteStep = 3;
  } else if (size >= 40) {
    header.width = static_cast<int32_t>(file.at(start + 4, 4));
    int64_t height = static_cast<int32_t>(file.at(start + 8, 4));
    header.height = std::abs(height);
    header.fromTop = height < 0;
    header.bits = file.at(start + 14, 2);
    compression = file.at(start + 16, 4);
    header.colours = file.at(start + 32, 4);
    header.paletteStep = 4;
  } else {
    throw Error(format("broken BMP: a header of %u bytes", size));
  }
  constexpr uint32_t plain = 0, bitFields = 3, alphaBitFields = 6;
  const bool masked = compression == bitFields || compression == alphaBitFields;
  if (compression != plain && !(masked && header.bits >= 16))
    throw Error("is a compressed BMP, which is not read");
  static constexpr uint32_t sizes[] = {1, 4, 8, 16, 24, 32};
  if (std::find(std::begin(sizes), std::end(sizes), header.bits) ==
      std::end(sizes))
    throw Error(format("broken BMP: %u bits a pixel", header.bits));
  uint32_t most = header.bits <= 8 ? 1u << header.bits : 0;
  header.colours = header.colours == 0 ? most : std::min(header.colours, most);
  static constexpr uint32_t masks16[] = {0x7c00, 0x3e0, 0x1f};
  static constexpr uint32_t masks32[] = {0xff0000, 0xff00, 0xff};
  for (int c = 0; c < 3; ++c)
    // The same place in all headers: at the end of the short one, in the
    // longer ones.
    header.masks[c].mask = masked              ? file.at(start + 40 + 4 * c, 4)
                           : header.bits == 16 ? masks16[c]
                                               : masks32[c];
  return header;
}

std::string_view decodeBmp(std::string_view bytes, Sample &sample) {
  BmpNumbers file(bytes);
  const BmpHeader header = readHeader(file);
  std::vector<unsigned char> palette(3 * size_t(header.colours));
  for (uint32_t i = 0; i < header.colours; ++i)
    for (int c = 0; c < 3; ++c)
      palette[3 * i + c] = static_cast<unsigned char>(
          file.at(header.palette + i * header.paletteStep + 2 - c, 1));
  // Before there is memory for them: rows are whole words, all of them there.
  const uint64_t rowBytes =
      header.width > 0 ? (uint64_t(header.width) * header.bits + 31) / 32 * 4
                       : 0;
  if (header.pixels > bytes.size() ||
      (rowBytes &&
       uint64_t(header.height) > (bytes.size() - header.pixels) / rowBytes))
    throw Error("broken BMP: the file ends early");
  unsigned char *out = makePixels(header.width, header.height, 3, sample);
  const int step = static_cast<int>(header.bits / 8); // bytes a pixel
  for (int64_t y = 0; y < header.height; ++y) {
    const int64_t row = header.fromTop ? y : header.height - 1 - y;
    const uint64_t from = header.pixels + row * rowBytes;
    for (int64_t x = 0; x < header.width; ++x, out += 3) {
      if (step >= 2) {
        uint32_t pixel = file.at(from + x * step, step);
        for (int c = 0; c < 3; ++c)
          out[c] = header.masks[c].of(pixel);
        continue;
      }
      // The first pixel is in the highest bits.
      const uint64_t bit = uint64_t(x) * header.bits;
      uint32_t index = file.at(from + bit / 8, 1);
      index = index >> (8 - header.bits - bit % 8) & ((1u << header.bits) - 1);
      if (index >= header.colours)
        throw Error("broken BMP: a colour that its palette lacks");
      std::copy_n(&palette[3 * size_t(index)], 3, out);
    }
  }
  return {};
}

} // namespace lwcc::rt::train
