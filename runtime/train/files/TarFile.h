//===- TarFile.h - The members of a tar archive -----------------*- C++ -*-===//
//
// Lists the files of an archive as tar programs and Python write them: ustar,
// with the long names of GNU tar and of pax. The archive is mapped; nothing is
// copied.
//
// Why no library: libarchive reads a stream from its beginning, and samples are
// read in any order; all that is needed are the places of the files.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_RUNTIME_TRAIN_FILES_TARFILE_H
#define LWCC_RUNTIME_TRAIN_FILES_TARFILE_H

#include "runtime/train/files/Files.h"

#include <string>
#include <string_view>
#include <vector>

namespace lwcc::rt::train {

class TarFile {
public:
  struct Member {
    std::string name;
    std::string_view bytes;
  };

  /// Throws Error.
  explicit TarFile(const std::string &path);

  /// Regular files, in their order.
  const std::vector<Member> &members() const { return list; }

private:
  void readList();

  std::string path;
  MappedFile file;
  std::vector<Member> list;
};

} // namespace lwcc::rt::train

#endif // LWCC_RUNTIME_TRAIN_FILES_TARFILE_H
