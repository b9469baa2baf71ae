//===- ZipFile.cpp - The members of a ZIP archive -------------------------===//

#include "runtime/train/files/ZipFile.h"

#include "runtime/core/Error.h"
#include "runtime/train/files/Text.h"

#include <algorithm>

#ifdef LWCC_HAVE_ZLIB
#include <zlib.h>
#endif

namespace lwcc::rt::train {

static constexpr uint32_t endMark = 0x06054b50, end64Mark = 0x06064b50,
                          end64PlaceMark = 0x07064b50, entryMark = 0x02014b50,
                          memberMark = 0x04034b50;
static constexpr int64_t endBytes = 22, entryBytes = 46, memberBytes = 30;
/// Says that a number stands in the entry's ZIP64 field.
static constexpr uint32_t inZip64 = 0xffffffff;

void ZipFile::fail(const std::string &what) const {
  throw Error(path + ": damaged ZIP archive: " + what);
}

uint64_t ZipFile::number(int64_t at, int count) const {
  if (at < 0 || at > file->size() - count)
    fail("cut short");
  uint64_t value = 0;
  for (int i = count - 1; i >= 0; --i)
    value = value << 8 | static_cast<uint8_t>(file->data()[at + i]);
  return value;
}

ZipFile::ZipFile(const std::string &path)
    : path(path), file(std::make_shared<MappedFile>(path)) {
  // The end of the list stands at the end, before a comment of any length.
  constexpr int64_t longestComment = 0xffff;
  int64_t end = file->size() - endBytes;
  const int64_t last = std::max<int64_t>(end - longestComment, 0);
  while (end >= last && number(end, 4) != endMark)
    --end;
  if (end < last)
    throw Error(path + ": not a ZIP archive, which numpy.savez writes");
  auto count = static_cast<int64_t>(number(end + 10, 2));
  auto at = static_cast<int64_t>(number(end + 16, 4));
  constexpr int64_t placeBytes = 20;
  if (end >= placeBytes && number(end - placeBytes, 4) == end64PlaceMark) {
    const auto end64 = static_cast<int64_t>(number(end - placeBytes + 8, 8));
    if (number(end64, 4) != end64Mark)
      fail("no list of members");
    count = static_cast<int64_t>(number(end64 + 32, 8));
    at = static_cast<int64_t>(number(end64 + 48, 8));
  }
  readList(at, count);
}

void ZipFile::readList(int64_t at, int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    if (number(at, 4) != entryMark)
      fail("no list of members");
    Member member;
    member.method = static_cast<int>(number(at + 10, 2));
    member.checksum = static_cast<uint32_t>(number(at + 16, 4));
    const auto nameBytes = static_cast<int64_t>(number(at + 28, 2)),
               extraBytes = static_cast<int64_t>(number(at + 30, 2)),
               commentBytes = static_cast<int64_t>(number(at + 32, 2));
    const int64_t extra = at + entryBytes + nameBytes;
    number(extra + extraBytes, 0); // it is all there
    member.name.assign(file->data() + at + entryBytes, nameBytes);
    // In this order, those that do not fit stand in the ZIP64 field.
    constexpr int zip64 = 1;
    uint64_t values[] = {number(at + 24, 4), number(at + 20, 4),
                         number(at + 42, 4)};
    for (int64_t field = extra; field + 4 <= extra + extraBytes;) {
      int64_t value = field + 4;
      const auto size = static_cast<int64_t>(number(field + 2, 2));
      if (number(field, 2) == zip64)
        for (uint64_t &each : values)
          if (each == inZip64) {
            each = number(value, 8);
            value += 8;
          }
      field += 4 + size;
    }
    constexpr uint64_t most = uint64_t(1) << 62;
    if (*std::max_element(values, values + 3) > most)
      fail("'" + member.name + "' has an impossible size");
    member.size = static_cast<int64_t>(values[0]);
    member.packed = static_cast<int64_t>(values[1]);
    member.header = static_cast<int64_t>(values[2]);
    list.push_back(std::move(member));
    at = extra + extraBytes + commentBytes;
  }
}

#ifdef LWCC_HAVE_ZLIB
/// All of a member, whose size is known; "" or what is wrong with it.
static std::string inflateInto(std::vector<char> &bytes,
                               std::string_view packed, uint32_t checksum) {
  z_stream stream{};
  constexpr int noHeader = -15;
  if (::inflateInit2(&stream, noHeader) != Z_OK)
    return "zlib does not start";
  size_t taken = 0, made = 0;
  int code = Z_OK;
  while (code == Z_OK) {
    constexpr size_t most = 1 << 30;      // zlib counts in 32 bits
    stream.next_in = const_cast<Bytef *>( // which it does not write
        reinterpret_cast<const Bytef *>(packed.data() + taken));
    stream.avail_in = uInt(std::min(packed.size() - taken, most));
    stream.next_out = reinterpret_cast<Bytef *>(bytes.data() + made);
    stream.avail_out = uInt(std::min(bytes.size() - made, most));
    const uInt in = stream.avail_in, out = stream.avail_out;
    code = ::inflate(&stream, Z_NO_FLUSH);
    taken += in - stream.avail_in;
    made += out - stream.avail_out;
    if (code == Z_OK && in == stream.avail_in && out == stream.avail_out)
      code = Z_BUF_ERROR;
  }
  ::inflateEnd(&stream);
  if (code != Z_STREAM_END || made != bytes.size())
    return "cannot be unpacked";
  uLong sum = 0;
  for (size_t at = 0; at < made;) {
    const size_t piece = std::min<size_t>(made - at, 1 << 30);
    sum = ::crc32(sum, reinterpret_cast<const Bytef *>(bytes.data() + at),
                  uInt(piece));
    at += piece;
  }
  return sum == checksum ? "" : "has another checksum";
}
#endif

ZipFile::Bytes ZipFile::read(const Member &member) const {
  if (number(member.header, 4) != memberMark)
    fail("'" + member.name + "' is not where the list says");
  const int64_t data = member.header + memberBytes +
                       static_cast<int64_t>(number(member.header + 26, 2)) +
                       static_cast<int64_t>(number(member.header + 28, 2));
  if (data > file->size() || member.packed > file->size() - data)
    fail("'" + member.name + "' is cut short");
  const std::string_view packed(file->data() + data, size_t(member.packed));
  constexpr int stored = 0, deflated = 8;
  if (member.method == stored && member.packed == member.size)
    return {packed, file};
  if (member.method != deflated)
    throw Error(path + ": '" + member.name +
                "' is packed in a way that numpy.savez does not (" +
                std::to_string(member.method) + ")");
#ifdef LWCC_HAVE_ZLIB
  // No deflation is denser: what is impossible is refused before it is tried.
  constexpr int64_t bestRatio = 1032;
  if (member.size / bestRatio > member.packed)
    fail("'" + member.name + "' is too large for its packed bytes");
  auto bytes = std::make_shared<std::vector<char>>(member.size);
  if (std::string wrong = inflateInto(*bytes, packed, member.checksum);
      !wrong.empty())
    fail("'" + member.name + "' " + wrong);
  return {{bytes->data(), bytes->size()}, bytes};
#else
  throw Error(path + ": this program was built without zlib; save with "
                     "numpy.savez in place of savez_compressed");
#endif
}

} // namespace lwcc::rt::train
