//===- Picture.h - Pixels of a compressed picture ---------------*- C++ -*-===//
//
// JPEG, PNG, WebP and BMP become samples of bytes, [h, w, c] with one channel
// (grey) or three (red, green, blue). The first bytes of a file say which
// format it is, whatever its name. The pixels are those of Pillow's
// Image.convert("L") and convert("RGB"), except where noted:
//
//   transparency        is ignored: pixels keep their colour
//   palettes, 1-4 bits  are looked up or widened
//   16 bits             keep their high byte (Pillow clips grey ones at 255)
//   CMYK, YCCK          inverted as Adobe writes them, then converted plainly
//   EXIF orientation    is applied, as ImageOps.exif_transpose does
//
// What is not read is refused with its reason: animations, compressed BMP,
// pictures of more than maxPixels.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_RUNTIME_TRAIN_DATA_PICTURE_H
#define LWCC_RUNTIME_TRAIN_DATA_PICTURE_H

#include "runtime/train/data/Sample.h"

#include <cstdint>
#include <string_view>

namespace lwcc::rt::train {

/// A file with a few bytes may claim any size; no camera makes more.
inline constexpr int64_t maxPixels = int64_t(1) << 28;

/// Whether a file of this name is taken for a picture: .jpg, .jpeg, .png,
/// .webp, .bmp, in any case.
bool isPictureName(std::string_view name);

/// Decodes a whole file into `sample`, which has `channels` channels, 1 or 3.
/// Throws Error with the reason, without a file name.
void decodePicture(std::string_view bytes, int64_t channels, Sample &sample);

//===----------------------------------------------------------------------===//
// What decodePicture is made of
//===----------------------------------------------------------------------===//

// Each fills a sample with the picture's own number of channels, 1 or 3, and
// returns its EXIF data, empty if there is none.
std::string_view decodeJpeg(std::string_view bytes, Sample &sample);
std::string_view decodePng(std::string_view bytes, Sample &sample);
std::string_view decodeWebp(std::string_view bytes, Sample &sample);
std::string_view decodeBmp(std::string_view bytes, Sample &sample);

/// Makes room for a picture; returns its first byte. Throws Error where it has
/// no pixels or too many.
unsigned char *makePixels(int64_t width, int64_t height, int64_t channels,
                          Sample &sample);

/// The orientation in EXIF data (a TIFF header and its first directory), 1 to
/// 8; 1 where there is none that can be read.
int exifOrientation(std::string_view exif);

/// Turns and mirrors a picture so that it is upright.
void makeUpright(int orientation, Sample &sample);

} // namespace lwcc::rt::train

#endif // LWCC_RUNTIME_TRAIN_DATA_PICTURE_H
