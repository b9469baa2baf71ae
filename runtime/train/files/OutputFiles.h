//===- OutputFiles.h - Files that appear as a whole -------------*- C++ -*-===//
//
// Output that appears under its final name only when it is complete. Every
// failure is an Error with the file's name and the system's reason. What the
// bytes mean is the business of the callers: the trainer, and the compiler,
// which links this and Temporaries.h and nothing else of the runtime.
//
// An output that is a device, a pipe or a socket is written through: it stays
// what it is. Through a symbolic link the file behind it is replaced, the link
// stays. Nothing else is created, and nothing half-written is left: what a
// kill -9 leaves is removed when the same output is written again.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_RUNTIME_TRAIN_FILES_OUTPUTFILES_H
#define LWCC_RUNTIME_TRAIN_FILES_OUTPUTFILES_H

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace lwcc::rt::train {

/// Writes a file under its own name: what is there is emptied, or written
/// through.
class FileWriter {
public:
  explicit FileWriter(const std::string &path) : FileWriter(path, path, 0) {}
  /// Messages speak of `shownAs`; `flags` are more for open().
  FileWriter(const std::string &path, const std::string &shownAs, int flags,
             int mode = 0666);
  ~FileWriter();
  FileWriter(const FileWriter &) = delete;
  FileWriter &operator=(const FileWriter &) = delete;

  void write(const void *data, int64_t bytes);
  void write(std::string_view text) { write(text.data(), text.size()); }
  /// To the disk, and closed: what was written survives a loss of power.
  void finish();

private:
  friend struct AtomicWrite;
  void close();

  std::string path;
  int descriptor = -1;
};

struct WriteOptions {
  bool program = false; ///< may be run by whom may read it
  bool durable = true;  ///< survives a loss of power
};

/// Lets `fill` write a file under a temporary name beside `path`, then renames
/// it. If anything fails, what was at `path` before is untouched and the
/// temporary file is gone. What is no regular file is written through; so is a
/// file that cannot be replaced, since it is mounted by itself or its folder
/// may not be written to. For that `fill` may be called again.
void writeAtomically(const std::string &path,
                     const std::function<void(FileWriter &)> &fill,
                     WriteOptions options = {});

/// Throws Error unless a file could be written at `path` now; leaves nothing.
void checkWritable(const std::string &path);

/// Whether something is there that cannot be replaced, only written to.
bool isSpecial(const std::string &path);

/// /dev/stdout and its like name an open file, whatever that is called.
bool isDescriptor(const std::string &path);

/// The file behind symbolic links, which need not be there yet. As many links
/// are followed as the system does: what is behind them may be one more.
std::string endOfLinks(const std::string &path);

/// Makes renames inside a directory durable.
void syncDirectory(const std::string &path);

/// The directory that holds `path`.
std::string parentOf(const std::string &path);

} // namespace lwcc::rt::train

#endif // LWCC_RUNTIME_TRAIN_FILES_OUTPUTFILES_H
