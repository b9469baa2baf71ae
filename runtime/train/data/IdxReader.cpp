//===- IdxReader.cpp - MNIST's file format --------------------------------===//
//
// Two zero bytes, the type of the elements (8: unsigned byte), the number of
// dimensions, each dimension as a big-endian 32-bit number, the elements.
//
//===----------------------------------------------------------------------===//

#include "runtime/core/CheckedMath.h"
#include "runtime/core/Error.h"
#include "runtime/train/data/Array.h"
#include "runtime/train/files/Files.h"
#include "runtime/train/files/Text.h"

#include <algorithm>
#include <string_view>

#ifdef LWCC_HAVE_ZLIB
#include <zlib.h>
#endif

namespace lwcc::rt::train {

namespace {
struct Header {
  std::vector<int64_t> dims;
  int64_t bytes = 0;    ///< of the header
  int64_t elements = 0; ///< of a byte each
};
} // namespace

/// The largest header: 255 dimensions.
static constexpr size_t maxHeader = 4 + 4 * 255;

/// `text` is the file or at least its first maxHeader bytes.
static Header parseHeader(const std::string &path, std::string_view text) {
  auto byteAt = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  if (text.size() < 4 || byteAt(0) != 0 || byteAt(1) != 0)
    throw Error(path + ": not an IDX file: it does not start with two zero "
                       "bytes");
  if (byteAt(2) != 8)
    throw Error(format("%s: has IDX element type 0x%02x; expected 0x08 "
                       "(unsigned byte)",
                       path.c_str(), byteAt(2)));
  size_t rank = byteAt(3);
  Header header;
  header.bytes = int64_t(4 + 4 * rank);
  if (int64_t(text.size()) < header.bytes || rank == 0)
    throw Error(path + ": cut short inside the IDX header");
  for (size_t d = 0; d < rank; ++d) {
    int64_t dim = 0;
    for (size_t i = 0; i < 4; ++i)
      dim = dim << 8 | byteAt(4 + 4 * d + i);
    header.dims.push_back(dim);
  }
  auto elements = checkedProduct(1, header.dims);
  if (!elements || !checkedSum(*elements, header.bytes))
    throw Error(path + ": damaged IDX header: an impossible shape");
  header.elements = *elements;
  return header;
}

[[noreturn]] static void failShort(const std::string &path,
                                   const Header &header,
                                   const std::string &found) {
  throw Error(format("%s: cut short: %s need %lld bytes, the file holds %s",
                     path.c_str(), dimsText(header.dims).c_str(),
                     static_cast<long long>(header.elements), found.c_str()));
}

#ifdef LWCC_HAVE_ZLIB
namespace {
/// Reads a packed file piece by piece.
class Unpacker {
public:
  explicit Unpacker(const std::string &path)
      : path(path), file(::gzopen(path.c_str(), "rb")) {
    if (!file)
      throwSystemError(path, "open");
    ::gzbuffer(file, 1 << 17);
  }
  ~Unpacker() { ::gzclose(file); }
  Unpacker(const Unpacker &) = delete;
  Unpacker &operator=(const Unpacker &) = delete;

  /// Appends at most `count` bytes; fewer at the end of the file. Memory grows
  /// as bytes really come.
  void read(std::vector<char> &bytes, int64_t count) {
    while (count > 0) {
      size_t size = bytes.size();
      int piece = static_cast<int>(std::min<int64_t>(count, 1 << 20));
      bytes.resize(size + piece);
      int got = ::gzread(file, bytes.data() + size, piece);
      bytes.resize(size + std::max(got, 0));
      int code = Z_OK;
      std::string reason = ::gzerror(file, &code);
      if (got < 0 || code == Z_BUF_ERROR)
        throw Error(path + ": cannot unpack: " +
                    (code == Z_BUF_ERROR ? "cut short" : reason));
      if (got == 0)
        return;
      count -= got;
    }
  }

private:
  const std::string &path;
  gzFile file;
};
} // namespace

/// The header and as many elements as it says: what a packed file could grow
/// to beyond is never unpacked.
static std::vector<char> unpack(const std::string &path) {
  // No format packs better: what is impossible is refused before it is tried.
  constexpr int64_t bestRatio = 1032;
  int64_t packed = MappedFile(path).size();
  Unpacker file(path);
  std::vector<char> bytes;
  file.read(bytes, maxHeader);
  Header header = parseHeader(path, {bytes.data(), bytes.size()});
  if (header.elements / bestRatio > packed)
    failShort(path, header,
              plural(packed, "byte") + ", packed; no packing is that dense");
  // One more than needed, so that the sum at the end of the file is checked.
  file.read(bytes, header.bytes + header.elements + 1 - int64_t(bytes.size()));
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
  Header header = parseHeader(path, text);
  int64_t found = int64_t(text.size()) - header.bytes;
  if (found < header.elements)
    failShort(path, header, std::to_string(found));
  array.dims = header.dims;
  array.data = text.data() + header.bytes;
  return array;
}

} // namespace lwcc::rt::train
