//===- WebpDecoder.cpp - WebP, by libwebp ---------------------------------===//

#include "runtime/core/Error.h"
#include "runtime/train/data/Picture.h"

#include <algorithm>

#ifdef LWCC_HAVE_WEBP
#include <webp/decode.h>
#endif

namespace lwcc::rt::train {

#ifdef LWCC_HAVE_WEBP
/// The EXIF chunk. Chunks follow each other behind "RIFF", a size and "WEBP":
/// name, length, data, and a byte more where the length is odd.
static std::string_view exifChunkOf(std::string_view webp) {
  for (size_t at = 12; at + 8 <= webp.size();) {
    uint32_t length = 0;
    for (int i = 3; i >= 0; --i)
      length = length << 8 | static_cast<unsigned char>(webp[at + 4 + i]);
    if (length > webp.size() - at - 8)
      break;
    if (webp.substr(at, 4) == "EXIF")
      return webp.substr(at + 8, length);
    at += 8 + size_t(length) + length % 2;
  }
  return {};
}

static const char *reasonOf(VP8StatusCode status) {
  switch (status) {
  case VP8_STATUS_OUT_OF_MEMORY:
    return "out of memory";
  case VP8_STATUS_UNSUPPORTED_FEATURE:
    return "a feature that libwebp does not know";
  case VP8_STATUS_SUSPENDED:
  case VP8_STATUS_NOT_ENOUGH_DATA:
    return "the file ends early";
  default:
    return "no valid picture";
  }
}

std::string_view decodeWebp(std::string_view bytes, Sample &sample) {
  auto *data = reinterpret_cast<const uint8_t *>(bytes.data());
  auto check = [](VP8StatusCode status) {
    if (status != VP8_STATUS_OK)
      throw Error(std::string("broken WebP: ") + reasonOf(status));
  };
  WebPDecoderConfig config;
  if (!WebPInitDecoderConfig(&config))
    throw Error("libwebp is of another version than its headers");
  check(WebPGetFeatures(data, bytes.size(), &config.input));
  if (config.input.has_animation)
    throw Error("is an animation (WebP); only still pictures are read");
  const int64_t width = config.input.width, height = config.input.height;
  unsigned char *pixels = makePixels(width, height, 3, sample);
  config.output.colorspace = MODE_RGB;
  config.output.is_external_memory = 1;
  config.output.u.RGBA = {pixels, static_cast<int>(3 * width),
                          static_cast<size_t>(3 * width * height)};
  check(WebPDecode(data, bytes.size(), &config));
  return exifChunkOf(bytes);
}
#else
std::string_view decodeWebp(std::string_view, Sample &) {
  throw Error("is a WebP; this program was built without libwebp");
}
#endif

} // namespace lwcc::rt::train
