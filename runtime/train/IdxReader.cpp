//===- IdxReader.cpp - MNIST's file format --------------------------------===//
//
// Two zero bytes, the type of the elements (8: unsigned byte), the number of
// dimensions, each dimension as a big-endian 32-bit number, the elements.
//
//===----------------------------------------------------------------------===//

#include "runtime/core/Error.h"
#include "runtime/train/Array.h"
#include "runtime/train/Files.h"
#include "runtime/train/Text.h"

#include <string_view>

#ifdef LWCC_HAVE_ZLIB
#include <zlib.h>
#endif

namespace lwcc::rt::train {

#ifdef LWCC_HAVE_ZLIB
static std::vector<char> unpack(const std::string &path) {
  gzFile file = ::gzopen(path.c_str(), "rb");
  if (!file)
    throwSystemError(path, "open");
  ::gzbuffer(file, 1 << 17);
  std::vector<char> bytes;
  constexpr size_t piece = 1 << 20;
  int got = 0;
  do {
    size_t size = bytes.size();
    bytes.resize(size + piece);
    got = ::gzread(file, bytes.data() + size, piece);
    bytes.resize(size + (got > 0 ? got : 0));
  } while (got > 0);
  int code = Z_OK;
  std::string reason = ::gzerror(file, &code);
  ::gzclose(file);
  if (got < 0 || code == Z_BUF_ERROR)
    throw Error(path + ": cannot unpack: " +
                (code == Z_BUF_ERROR ? "cut short" : reason));
  return bytes;
}
#endif

Array readIdx(const std::string &path) {
  Array array;
  array.path = path;
  std::string_view text;
  if (std::string_view(path).ends_with(".gz")) {
#ifdef LWCC_HAVE_ZLIB
    auto bytes = std::make_shared<std::vector<char>>(unpack(path));
    text = {bytes->data(), bytes->size()};
    array.owner = bytes;
#else
    throw Error(path + ": this program was built without zlib; unpack the "
                       "file with gunzip");
#endif
  } else {
    auto file = std::make_shared<MappedFile>(path);
    text = file->text();
    array.owner = file;
  }

  auto byteAt = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  if (text.size() < 4 || byteAt(0) != 0 || byteAt(1) != 0)
    throw Error(path + ": not an IDX file: it does not start with two zero "
                       "bytes");
  if (byteAt(2) != 8)
    throw Error(format("%s: has IDX element type 0x%02x; expected 0x08 "
                       "(unsigned byte)",
                       path.c_str(), byteAt(2)));
  size_t rank = byteAt(3);
  if (text.size() < 4 + 4 * rank || rank == 0)
    throw Error(path + ": cut short inside the IDX header");
  int64_t elements = 1;
  for (size_t d = 0; d < rank; ++d) {
    int64_t dim = 0;
    for (size_t i = 0; i < 4; ++i)
      dim = dim << 8 | byteAt(4 + 4 * d + i);
    array.dims.push_back(dim);
    if (__builtin_mul_overflow(elements, dim, &elements))
      throw Error(path + ": damaged IDX header: an impossible shape");
  }
  int64_t found = text.size() - (4 + 4 * rank);
  if (found < elements)
    throw Error(format("%s: cut short: %s need %lld bytes, the file holds "
                       "%lld",
                       path.c_str(), dimsText(array.dims).c_str(),
                       static_cast<long long>(elements),
                       static_cast<long long>(found)));
  array.data = text.data() + 4 + 4 * rank;
  return array;
}

} // namespace lwcc::rt::train
