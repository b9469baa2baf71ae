//===- ZipFile.h - The members of a ZIP archive -----------------*- C++ -*-===//
//
// Reads archives as numpy.savez and savez_compressed write them: members that
// are stored or deflated, of any size (ZIP64). Stored ones lie in the mapped
// file and are not copied. By PKWARE's APPNOTE.TXT, 4.3 and 4.5.
//
// Why no library: libzip would be one more thing that trainers have to be
// linked with, for a list of places in a file. What is packed is zlib's.
//
// What the members hold is the callers' business.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_RUNTIME_TRAIN_FILES_ZIPFILE_H
#define LWCC_RUNTIME_TRAIN_FILES_ZIPFILE_H

#include "runtime/train/files/Files.h"

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace lwcc::rt::train {

class ZipFile {
public:
  struct Member {
    std::string name;
    int method = 0;     ///< 0: stored, 8: deflated
    int64_t packed = 0; ///< bytes in the file
    int64_t size = 0;   ///< bytes that they are unpacked
    uint32_t checksum = 0;
    int64_t header = 0; ///< where the member's own header begins
  };
  /// The bytes of a member, and who owns them.
  struct Bytes {
    std::string_view text;
    std::shared_ptr<const void> owner;
  };

  /// Reads the list of members. Throws Error.
  explicit ZipFile(const std::string &path);

  const std::vector<Member> &members() const { return list; }
  /// Throws Error.
  Bytes read(const Member &member) const;

private:
  /// `count` bytes of the file from `at`, as a number; an Error where it ends.
  uint64_t number(int64_t at, int count) const;
  void readList(int64_t at, int64_t count);
  [[noreturn]] void fail(const std::string &what) const;

  std::string path;
  std::shared_ptr<const MappedFile> file;
  std::vector<Member> list;
};

} // namespace lwcc::rt::train

#endif // LWCC_RUNTIME_TRAIN_FILES_ZIPFILE_H
