//===- Files.h - Files that are read as a whole -----------------*- C++ -*-===//
//
// This room knows files, JSON and text for people, and nothing of training:
//
//   mapped file   input, read as a whole through the page cache (this file)
//   output file   output that appears whole or not at all (OutputFiles.h)
//   line file     output that grows by whole lines (LineFile.h)
//   temporary     a path that is removed unless it gets its final name
//                 (Temporaries.h)
//   system error  an Error with the file's name and the system's reason
//                 (SystemError.h)
//
// Input is memory-mapped: data may be larger than the memory, and one pass over
// it has no other cost. The callers decide what the bytes mean. If somebody
// cuts a file short under a mapping, the system sends SIGBUS; the program then
// names the file and ends with code 1.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_RUNTIME_TRAIN_FILES_FILES_H
#define LWCC_RUNTIME_TRAIN_FILES_FILES_H

#include "runtime/train/files/SystemError.h"

#include <cstdint>
#include <string>
#include <string_view>

namespace lwcc::rt::train {

/// A whole regular file, read-only, in memory as long as the object lives.
class MappedFile {
public:
  explicit MappedFile(const std::string &path);
  ~MappedFile();
  MappedFile(const MappedFile &) = delete;
  MappedFile &operator=(const MappedFile &) = delete;

  const char *data() const { return bytes; }
  int64_t size() const { return length; }
  std::string_view text() const { return {bytes, size_t(length)}; }

private:
  std::string path;
  const char *bytes = nullptr;
  int64_t length = 0;
};

} // namespace lwcc::rt::train

#endif // LWCC_RUNTIME_TRAIN_FILES_FILES_H
