//===- Picture.cpp - Pixels of a compressed picture -----------------------===//
//
// Decides who decodes a file, how grey becomes colour and colour grey, and
// which way is up. The formats themselves are in *Decoder.cpp.
//
//===----------------------------------------------------------------------===//

#include "runtime/train/data/Picture.h"

#include "runtime/core/Error.h"
#include "runtime/train/files/Text.h"

#include <algorithm>
#include <cctype>
#include <cstring>

namespace lwcc::rt::train {

using std::string_view;

bool isPictureName(string_view name) {
  std::string ending(name.substr(std::min(name.rfind('.'), name.size())));
  for (char &c : ending)
    c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  for (string_view known : {".jpg", ".jpeg", ".png", ".webp", ".bmp"})
    if (ending == known)
      return true;
  return false;
}

unsigned char *makePixels(int64_t width, int64_t height, int64_t channels,
                          Sample &sample) {
  if (width <= 0 || height <= 0)
    throw Error("has no pixels");
  if (width > maxPixels / height)
    throw Error(format("has %lld x %lld pixels, more than the %s that are read",
                       static_cast<long long>(width),
                       static_cast<long long>(height),
                       countText(maxPixels).c_str()));
  sample.format = {channels, height,   width,
                   true,     {'u', 1}, SampleLayout::pixels};
  sample.storage.resize(sample.format.bytes());
  sample.data = sample.storage.data();
  return reinterpret_cast<unsigned char *>(sample.storage.data());
}

//===----------------------------------------------------------------------===//
// Orientation
//===----------------------------------------------------------------------===//

namespace {
/// Numbers of a TIFF file, 0 beyond its end.
struct TiffNumbers {
  string_view bytes;
  bool big; ///< the byte order

  uint32_t at(uint64_t offset, int size) const {
    uint32_t value = 0;
    for (int i = 0; i < size; ++i) {
      uint64_t from = offset + (big ? i : size - 1 - i);
      value =
          value << 8 |
          (from < bytes.size() ? static_cast<unsigned char>(bytes[from]) : 0u);
    }
    return value;
  }
};
} // namespace

// Exif 2.32, 4.6: a header with the byte order and where the first directory
// is; there, entries of 12 bytes: tag, type, count, value.
int exifOrientation(string_view exif) {
  constexpr uint32_t orientationTag = 0x0112, typeShort = 3;
  // As in JPEG's APP1; WebP and PNG may leave it out.
  if (exif.starts_with(string_view("Exif\0\0", 6)))
    exif.remove_prefix(6);
  if (!exif.starts_with("II") && !exif.starts_with("MM"))
    return 1;
  TiffNumbers numbers{exif, exif[0] == 'M'};
  if (numbers.at(2, 2) != 42)
    return 1;
  uint64_t directory = numbers.at(4, 4);
  uint32_t entries = numbers.at(directory, 2);
  for (uint64_t i = 0; i < entries; ++i) {
    uint64_t entry = directory + 2 + 12 * i;
    if (entry + 12 > exif.size())
      return 1;
    if (numbers.at(entry, 2) != orientationTag)
      continue;
    uint32_t value = numbers.at(entry + 8, 2);
    bool known =
        numbers.at(entry + 2, 2) == typeShort && value >= 1 && value <= 8;
    return known ? static_cast<int>(value) : 1;
  }
  return 1;
}

// Orientation says where the first row and the first column of the stored
// picture are when it is seen upright: from 5 on, rows and columns change.
void makeUpright(int orientation, Sample &sample) {
  if (orientation == 1)
    return;
  const bool swaps = orientation >= 5;
  // Of the upright picture's rows and columns, which run against the stored.
  const bool rowsTurned = orientation == 3 || orientation == 4 ||
                          orientation == 7 || orientation == 8;
  const bool columnsTurned = orientation == 2 || orientation == 3 ||
                             orientation == 6 || orientation == 7;
  const SampleFormat stored = sample.format;
  const std::vector<char> old = std::move(sample.storage);
  const int64_t channels = stored.channels;
  SampleFormat &upright = sample.format;
  if (swaps)
    std::swap(upright.height, upright.width);
  sample.storage.resize(old.size());
  char *out = sample.storage.data();
  sample.data = out;
  for (int64_t y = 0; y < upright.height; ++y)
    for (int64_t x = 0; x < upright.width; ++x) {
      int64_t row = rowsTurned ? upright.height - 1 - y : y;
      int64_t column = columnsTurned ? upright.width - 1 - x : x;
      if (swaps)
        std::swap(row, column);
      std::memcpy(out, &old[(row * stored.width + column) * channels],
                  channels);
      out += channels;
    }
}

//===----------------------------------------------------------------------===//
// Channels
//===----------------------------------------------------------------------===//

/// ITU-R 601-2 luma in 16 bits, as Pillow computes it.
static unsigned char luma(const unsigned char *rgb) {
  return static_cast<unsigned char>(
      (rgb[0] * 19595u + rgb[1] * 38470u + rgb[2] * 7471u + 0x8000u) >> 16);
}

static void setChannels(int64_t channels, Sample &sample) {
  if (sample.format.channels == channels)
    return;
  const int64_t pixels = sample.format.height * sample.format.width;
  if (channels == 1) {
    // In place: each grey pixel lies before what it is made of.
    auto *bytes = reinterpret_cast<unsigned char *>(sample.storage.data());
    for (int64_t i = 0; i < pixels; ++i)
      bytes[i] = luma(bytes + 3 * i);
    sample.storage.resize(pixels);
  } else {
    sample.storage.resize(3 * pixels);
    char *bytes = sample.storage.data();
    for (int64_t i = pixels - 1; i >= 0; --i)
      bytes[3 * i] = bytes[3 * i + 1] = bytes[3 * i + 2] = bytes[i];
  }
  sample.format.channels = channels;
  sample.data = sample.storage.data();
}

//===----------------------------------------------------------------------===//
// Formats
//===----------------------------------------------------------------------===//

void decodePicture(string_view bytes, int64_t channels, Sample &sample) {
  string_view exif;
  if (bytes.empty())
    throw Error("the file is empty");
  if (bytes.starts_with("\xff\xd8\xff"))
    exif = decodeJpeg(bytes, sample);
  else if (bytes.starts_with("\x89PNG\r\n\x1a\n"))
    exif = decodePng(bytes, sample);
  else if (bytes.starts_with("RIFF") && bytes.find("WEBP", 8) == 8)
    exif = decodeWebp(bytes, sample);
  else if (bytes.starts_with("BM"))
    exif = decodeBmp(bytes, sample);
  else
    throw Error("is no picture that is read (JPEG, PNG, WebP, BMP)");
  makeUpright(exifOrientation(exif), sample);
  setChannels(channels, sample);
}

} // namespace lwcc::rt::train
