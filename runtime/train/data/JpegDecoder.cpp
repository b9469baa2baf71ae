//===- JpegDecoder.cpp - JPEG, by libjpeg-turbo ---------------------------===//
//
// The library's accurate transform and its smooth upsampling, which are its
// defaults and Pillow's. A file that ends early is an error, as in Pillow;
// other damage that the library only warns of is not.
//
// The library leaves by longjmp, so that its calls stand in functions without
// objects that have destructors.
//
//===----------------------------------------------------------------------===//

#include "runtime/core/Error.h"
#include "runtime/train/data/Picture.h"

#ifdef LWCC_HAVE_JPEG
#include <csetjmp>
#include <cstdio>
#include <cstring>

#include <jpeglib.h>
// After jpeglib.h, which defines what it needs.
#include <jerror.h>
#endif

namespace lwcc::rt::train {

#ifdef LWCC_HAVE_JPEG
/// A progressive file may hold the same scan again and again, each of which
/// takes time; those that programs write have about ten.
static constexpr int maxScans = 200;

namespace {
struct JpegFailure {
  jpeg_error_mgr manager; // first: the library knows this part only
  jmp_buf place;
  char reason[JMSG_LENGTH_MAX];
};

struct JpegReader {
  jpeg_decompress_struct jpeg;
  JpegFailure failure;
  jpeg_progress_mgr progress;
};
} // namespace

[[noreturn]] static void leave(j_common_ptr jpeg) {
  auto *failure = reinterpret_cast<JpegFailure *>(jpeg->err);
  jpeg->err->format_message(jpeg, failure->reason);
  std::longjmp(failure->place, 1);
}

static void onMessage(j_common_ptr jpeg, int level) {
  if (level < 0 && jpeg->err->msg_code == JWRN_JPEG_EOF)
    leave(jpeg);
}

static void onProgress(j_common_ptr jpeg) {
  auto *reader = reinterpret_cast<j_decompress_ptr>(jpeg);
  if (reader->input_scan_number <= maxScans)
    return;
  auto *failure = reinterpret_cast<JpegFailure *>(jpeg->err);
  std::snprintf(failure->reason, sizeof failure->reason,
                "has more than %d scans", maxScans);
  std::longjmp(failure->place, 1);
}

/// Reads what stands before the pixels; false: see the reason.
static bool readHeader(JpegReader &reader, const char *bytes, size_t size) {
  if (setjmp(reader.failure.place))
    return false;
  jpeg_create_decompress(&reader.jpeg);
  reader.jpeg.progress = &reader.progress;
  reader.progress.progress_monitor = onProgress;
  jpeg_save_markers(&reader.jpeg, JPEG_APP0 + 1, 0xffff);
  jpeg_mem_src(&reader.jpeg, reinterpret_cast<const unsigned char *>(bytes),
               size);
  jpeg_read_header(&reader.jpeg, TRUE);
  switch (reader.jpeg.jpeg_color_space) {
  case JCS_GRAYSCALE:
    reader.jpeg.out_color_space = JCS_GRAYSCALE;
    break;
  case JCS_CMYK:
  case JCS_YCCK:
    reader.jpeg.out_color_space = JCS_CMYK;
    break;
  default:
    reader.jpeg.out_color_space = JCS_RGB;
  }
  return true;
}

/// `stride` bytes a row.
static bool readRows(JpegReader &reader, unsigned char *pixels, size_t stride) {
  if (setjmp(reader.failure.place))
    return false;
  jpeg_start_decompress(&reader.jpeg);
  while (reader.jpeg.output_scanline < reader.jpeg.output_height) {
    unsigned char *row = pixels + reader.jpeg.output_scanline * stride;
    jpeg_read_scanlines(&reader.jpeg, &row, 1);
  }
  return true;
}

/// As Pillow: the file holds 255 - C, and so on; black takes its share of what
/// the other inks leave.
static void inkToLight(const unsigned char *ink, int64_t pixels,
                       unsigned char *rgb) {
  for (int64_t i = 0; i < pixels; ++i, ink += 4, rgb += 3)
    for (int c = 0; c < 3; ++c) {
      unsigned product = (255u - ink[c]) * ink[3] + 128;
      int value = ink[3] - static_cast<int>((product + (product >> 8)) >> 8);
      rgb[c] = static_cast<unsigned char>(value < 0 ? 0 : value);
    }
}

static std::string_view exifOf(const jpeg_decompress_struct &jpeg,
                               std::string_view bytes) {
  for (auto *marker = jpeg.marker_list; marker; marker = marker->next) {
    std::string_view data(reinterpret_cast<const char *>(marker->data),
                          marker->data_length);
    if (!data.starts_with(std::string_view("Exif\0\0", 6)))
      continue;
    // The library's copy goes with it; the same bytes are in the file.
    size_t at = bytes.find(data);
    return at == std::string_view::npos ? data.substr(0, 0)
                                        : bytes.substr(at, data.size());
  }
  return {};
}

std::string_view decodeJpeg(std::string_view bytes, Sample &sample) {
  JpegReader reader = {};
  reader.jpeg.err = jpeg_std_error(&reader.failure.manager);
  reader.failure.manager.error_exit = leave;
  reader.failure.manager.emit_message = onMessage;
  struct Cleanup {
    jpeg_decompress_struct &jpeg;
    ~Cleanup() { jpeg_destroy_decompress(&jpeg); }
  } cleanup{reader.jpeg};
  auto check = [&](bool good) {
    if (!good)
      throw Error(std::string("broken JPEG: ") + reader.failure.reason);
  };
  check(readHeader(reader, bytes.data(), bytes.size()));
  const int64_t width = reader.jpeg.image_width,
                height = reader.jpeg.image_height;
  const bool inks = reader.jpeg.out_color_space == JCS_CMYK;
  const int channels = reader.jpeg.out_color_space == JCS_GRAYSCALE ? 1 : 3;
  unsigned char *pixels = makePixels(width, height, channels, sample);
  if (inks) {
    std::vector<unsigned char> four(4 * width * height);
    check(readRows(reader, four.data(), 4 * width));
    inkToLight(four.data(), width * height, pixels);
  } else {
    check(readRows(reader, pixels, channels * width));
  }
  return exifOf(reader.jpeg, bytes);
}
#else
std::string_view decodeJpeg(std::string_view, Sample &) {
  throw Error("is a JPEG; this program was built without libjpeg");
}
#endif

} // namespace lwcc::rt::train
