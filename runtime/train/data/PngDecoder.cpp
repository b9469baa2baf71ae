//===- PngDecoder.cpp - PNG, by libpng ------------------------------------===//
//
// The library leaves by longjmp, so that its calls stand in functions without
// objects that have destructors.
//
//===----------------------------------------------------------------------===//

#include "runtime/core/Error.h"
#include "runtime/train/data/Picture.h"

#ifdef LWCC_HAVE_PNG
#include <csetjmp>
#include <cstdio>
#include <cstring>

#include <png.h>
#endif

namespace lwcc::rt::train {

#ifdef LWCC_HAVE_PNG
namespace {
/// What the library's callbacks know, and what readHeader finds out.
struct PngReader {
  const char *bytes;
  size_t size, at = 0;
  char reason[160] = "out of memory";
  png_structp png = nullptr;
  png_infop info = nullptr;

  ~PngReader() { png_destroy_read_struct(&png, &info, nullptr); }
};
} // namespace

[[noreturn]] static void onPngError(png_structp png, const char *message) {
  auto *reader = static_cast<PngReader *>(png_get_error_ptr(png));
  std::snprintf(reader->reason, sizeof reader->reason, "%s", message);
  png_longjmp(png, 1);
}

static void onPngWarning(png_structp, const char *) {}

static void givePngBytes(png_structp png, png_bytep out, size_t count) {
  auto *reader = static_cast<PngReader *>(png_get_io_ptr(png));
  if (count > reader->size - reader->at)
    png_error(png, "the file ends early");
  std::memcpy(out, reader->bytes + reader->at, count);
  reader->at += count;
}

/// Reads what stands before the pixels and asks for grey or RGB of 8 bits.
static bool readHeader(PngReader &reader) {
  reader.png = png_create_read_struct(PNG_LIBPNG_VER_STRING, &reader,
                                      onPngError, onPngWarning);
  if (!reader.png)
    return false;
  if (setjmp(png_jmpbuf(reader.png)))
    return false;
  reader.info = png_create_info_struct(reader.png);
  if (!reader.info)
    return false;
  png_set_read_fn(reader.png, &reader, givePngBytes);
  png_read_info(reader.png, reader.info);
  png_set_palette_to_rgb(reader.png);
  png_set_expand_gray_1_2_4_to_8(reader.png);
  png_set_strip_16(reader.png);
  png_set_strip_alpha(reader.png);
  png_set_interlace_handling(reader.png);
  png_read_update_info(reader.png, reader.info);
  return true;
}

static bool readRows(PngReader &reader, png_bytepp rows) {
  if (setjmp(png_jmpbuf(reader.png)))
    return false;
  png_read_image(reader.png, rows);
  png_read_end(reader.png, reader.info);
  return true;
}

/// The eXIf chunk, which may stand before or behind the pixels. Chunks follow
/// each other behind 8 bytes of signature: length, name, data, checksum.
static std::string_view exifOf(std::string_view png) {
  for (size_t at = 8; at + 12 <= png.size();) {
    uint32_t length = 0;
    for (int i = 0; i < 4; ++i)
      length = length << 8 | static_cast<unsigned char>(png[at + i]);
    if (length > png.size() - at - 12)
      break;
    if (png.substr(at + 4, 4) == "eXIf")
      return png.substr(at + 8, length);
    at += 12 + size_t(length);
  }
  return {};
}

std::string_view decodePng(std::string_view bytes, Sample &sample) {
  PngReader reader{bytes.data(), bytes.size()};
  auto check = [&](bool good) {
    if (!good)
      throw Error(std::string("broken PNG: ") + reader.reason);
  };
  check(readHeader(reader));
  const int64_t width = png_get_image_width(reader.png, reader.info),
                height = png_get_image_height(reader.png, reader.info),
                channels = png_get_channels(reader.png, reader.info);
  if ((channels != 1 && channels != 3) ||
      png_get_bit_depth(reader.png, reader.info) != 8)
    throw Error("is a PNG of an unknown kind");
  unsigned char *pixels = makePixels(width, height, channels, sample);
  std::vector<png_bytep> rows(height);
  for (int64_t y = 0; y < height; ++y)
    rows[y] = pixels + y * width * channels;
  check(readRows(reader, rows.data()));
  return exifOf(bytes);
}
#else
std::string_view decodePng(std::string_view, Sample &) {
  throw Error("is a PNG; this program was built without libpng");
}
#endif

} // namespace lwcc::rt::train
