//===- Files.h - Files that are read or written as a whole ------*- C++ -*-===//
//
// Memory-mapped input, and output that appears under its final name only when
// it is complete and on disk. Every failure is an Error with the file's name
// and the system's reason. What the bytes mean is the business of the callers.
//
// An output that is a device, a pipe or a socket is written through: it stays
// what it is. Through a symbolic link the file behind it is replaced, the link
// stays. Nothing else is created, and nothing half-written is left.
//
// Input is mapped, since data may be larger than the memory and one pass over
// it has no other cost. If somebody cuts a file short under a mapping, the
// system sends SIGBUS: the program then names the file and ends with code 1.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_RUNTIME_TRAIN_FILES_H
#define LWCC_RUNTIME_TRAIN_FILES_H

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace lwcc::rt::train {

/// "PATH: cannot VERB: REASON" with the reason of errno.
[[noreturn]] void throwSystemError(const std::string &path, const char *verb);

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

/// Writes a file under its own name: what is there is emptied, or written
/// through.
class FileWriter {
public:
  explicit FileWriter(const std::string &path) : FileWriter(path, path) {}
  /// Messages speak of `shownAs`.
  FileWriter(const std::string &path, const std::string &shownAs);
  ~FileWriter();
  FileWriter(const FileWriter &) = delete;
  FileWriter &operator=(const FileWriter &) = delete;

  void write(const void *data, int64_t bytes);
  void write(std::string_view text) { write(text.data(), text.size()); }
  /// To the disk, and closed: what was written survives a loss of power.
  void finish();

private:
  std::string path;
  int descriptor = -1;
};

/// Lets `fill` write a file under a temporary name beside `path`, then renames
/// it. If anything fails, what was at `path` before is untouched and the
/// temporary file is gone. What is no regular file is written through.
void writeAtomically(const std::string &path,
                     const std::function<void(FileWriter &)> &fill);

/// Throws Error unless a file could be written at `path` now; leaves nothing.
void checkWritable(const std::string &path);

/// Makes renames inside a directory durable.
void syncDirectory(const std::string &path);

/// The directory that holds `path`.
std::string parentOf(const std::string &path);

} // namespace lwcc::rt::train

#endif // LWCC_RUNTIME_TRAIN_FILES_H
