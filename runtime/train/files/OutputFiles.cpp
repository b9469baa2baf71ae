//===- OutputFiles.cpp - Files that appear as a whole ---------------------===//

#include "runtime/train/files/OutputFiles.h"

#include "runtime/train/files/SystemError.h"
#include "runtime/train/files/Temporaries.h"

#include <algorithm>
#include <charconv>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <optional>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

namespace fs = std::filesystem;

namespace lwcc::rt::train {

//===----------------------------------------------------------------------===//
// FileWriter
//===----------------------------------------------------------------------===//

FileWriter::FileWriter(const std::string &path, const std::string &shownAs,
                       int flags, int mode)
    : path(shownAs) {
  descriptor = ::open(path.c_str(),
                      O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | flags, mode);
  if (descriptor < 0)
    throwSystemError(shownAs, "write");
}

FileWriter::~FileWriter() {
  if (descriptor >= 0)
    ::close(descriptor);
}

void FileWriter::write(const void *data, int64_t bytes) {
  const char *next = static_cast<const char *>(data);
  while (bytes > 0) {
    // One call moves at most 2 GiB.
    ssize_t written =
        ::write(descriptor, next, std::min<int64_t>(bytes, int64_t(1) << 30));
    if (written < 0 && errno == EINTR)
      continue;
    if (written < 0)
      throwSystemError(path, "write");
    next += written;
    bytes -= written;
  }
}

void FileWriter::finish() {
  if (::fsync(descriptor) != 0 && errno != EINVAL) // EINVAL: a pipe or device
    throwSystemError(path, "write");
  close();
}

void FileWriter::close() {
  int closing = descriptor;
  descriptor = -1;
  if (::close(closing) != 0)
    throwSystemError(path, "write");
}

//===----------------------------------------------------------------------===//
// Places
//===----------------------------------------------------------------------===//

bool isSpecial(const std::string &path) {
  struct stat info;
  return ::stat(path.c_str(), &info) == 0 && !S_ISREG(info.st_mode) &&
         !S_ISDIR(info.st_mode);
}

bool isDescriptor(const std::string &path) {
  return path.starts_with("/dev/fd/") || path.starts_with("/dev/std") ||
         path.starts_with("/proc/");
}

static bool isWrittenThrough(const std::string &path) {
  return isDescriptor(path) || isSpecial(path);
}

std::string endOfLinks(const std::string &path) {
  constexpr int most = 40; // as many as the system follows
  fs::path place(path);
  std::error_code error;
  for (int links = 0; links < most && fs::is_symlink(place, error); ++links)
    place = place.parent_path() / fs::read_symlink(place, error);
  return place.string();
}

static std::string placeOf(const std::string &path) {
  std::string place = endOfLinks(path);
  if (std::error_code error; fs::is_symlink(place, error)) {
    errno = ELOOP;
    throwSystemError(path, "write");
  }
  return place;
}

std::string parentOf(const std::string &path) {
  std::string parent = fs::path(path).parent_path().string();
  return parent.empty() ? "." : parent;
}

void syncDirectory(const std::string &path) {
  int directory = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (directory < 0)
    throwSystemError(path, "open");
  // Some network file systems cannot; the rename itself has happened.
  ::fsync(directory);
  ::close(directory);
}

//===----------------------------------------------------------------------===//
// Temporary files
//===----------------------------------------------------------------------===//

/// Of whose temporary file it is, the number of the process follows.
static constexpr std::string_view infix = ".lwcc-tmp-";

/// What a temporary name begins with: as much of the file's as fits.
static std::string stemOf(const std::string &place) {
  constexpr size_t most = 200;
  return fs::path(place).filename().string().substr(0, most);
}

/// Beside `place`, so that the rename stays inside one file system.
static std::string temporaryName(const std::string &place) {
  return (fs::path(place).parent_path() /
          (stemOf(place) + std::string(infix) + std::to_string(::getpid())))
      .string();
}

/// The process that a temporary name belongs to, if `name` is one of `stem`.
static std::optional<pid_t> ownerOf(std::string_view name,
                                    std::string_view stem) {
  if (!name.starts_with(stem) || !name.substr(stem.size()).starts_with(infix))
    return std::nullopt;
  std::string_view digits = name.substr(stem.size() + infix.size());
  pid_t owner = 0;
  auto [end, error] =
      std::from_chars(digits.data(), digits.data() + digits.size(), owner);
  if (error != std::errc() || owner <= 0 || digits != std::to_string(owner))
    return std::nullopt;
  return owner;
}

/// Removes the temporary files of `place` whose processes were killed: no
/// process has their number, and, since it may live where other numbers are
/// given (in a container), none has the file locked.
static void removeStale(const std::string &place) {
  const std::string stem = stemOf(place);
  std::error_code error;
  for (fs::directory_iterator entry(parentOf(place), error), end;
       !error && entry != end; entry.increment(error)) {
    std::optional<pid_t> owner =
        ownerOf(entry->path().filename().string(), stem);
    if (!owner || ::kill(*owner, 0) == 0 || errno != ESRCH)
      continue;
    int file = ::open(entry->path().c_str(),
                      O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (file < 0)
      continue;
    struct stat info;
    if (::fstat(file, &info) == 0 && S_ISREG(info.st_mode) &&
        ::flock(file, LOCK_EX | LOCK_NB) == 0)
      ::unlink(entry->path().c_str());
    ::close(file);
  }
}

//===----------------------------------------------------------------------===//
// Writing
//===----------------------------------------------------------------------===//

/// Why nothing may be made in a folder.
static bool isForbidden(int reason) {
  return reason == EACCES || reason == EPERM || reason == EROFS;
}

/// One call of writeAtomically.
struct AtomicWrite {
  const std::string &path;
  const std::function<void(FileWriter &)> &fill;
  const WriteOptions &options;

  void finish(FileWriter &writer) {
    if (options.durable)
      writer.finish();
    else
      writer.close();
  }

  void through(const std::string &place) {
    FileWriter writer(place, path, 0);
    fill(writer);
    finish(writer);
  }

  /// Whom the old file belongs to, and who may do what with it.
  void keepMode(const FileWriter &writer, const struct stat &old) {
    if (old.st_uid != ::geteuid() || old.st_gid != ::getegid())
      (void)!::fchown(writer.descriptor, old.st_uid, old.st_gid);
    mode_t mode = old.st_mode & 07777;
    if (options.program)
      mode |= (mode & 0444) >> 2;
    ::fchmod(writer.descriptor, mode);
  }

  void run() {
    if (isWrittenThrough(path))
      return through(path);
    const std::string place = placeOf(path);
    removeStale(place);
    struct stat old;
    const bool exists = ::stat(place.c_str(), &old) == 0;
    Temporary temporary(temporaryName(place));
    ::unlink(temporary.path().c_str()); // of a process that had our number
    std::optional<FileWriter> writer;
    try {
      // Exclusive: nobody's link is followed.
      writer.emplace(temporary.path(), path, O_EXCL,
                     options.program ? 0777 : 0666);
    } catch (const SystemError &error) {
      // A file may be writable where its folder is not.
      if (!exists || !S_ISREG(old.st_mode) || !isForbidden(error.code))
        throw;
      temporary.keep();
      return through(place);
    }
    ::flock(writer->descriptor, LOCK_EX | LOCK_NB);
    fill(*writer);
    if (exists)
      keepMode(*writer, old);
    finish(*writer);
    if (::rename(temporary.path().c_str(), place.c_str()) != 0) {
      if (errno != EBUSY)
        throwSystemError(path, "write");
      // A file that is mounted by itself, as containers do, cannot be replaced.
      return through(place);
    }
    temporary.keep();
    if (options.durable)
      syncDirectory(parentOf(place));
  }
};

void writeAtomically(const std::string &path,
                     const std::function<void(FileWriter &)> &fill,
                     WriteOptions options) {
  AtomicWrite{path, fill, options}.run();
}

void checkWritable(const std::string &path) {
  if (std::error_code error; fs::is_directory(path, error))
    throw Error(path + ": cannot write: is a directory");
  if (isDescriptor(path))
    return;
  if (isSpecial(path)) { // has nothing beside it
    if (::access(path.c_str(), W_OK) != 0)
      throwSystemError(path, "write");
    return;
  }
  const std::string place = placeOf(path);
  removeStale(place);
  Temporary temporary(temporaryName(place));
  ::unlink(temporary.path().c_str());
  int file = ::open(temporary.path().c_str(),
                    O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (file >= 0) {
    ::close(file);
    return;
  }
  const int reason = errno;
  if (!isForbidden(reason) || ::access(place.c_str(), W_OK) != 0)
    throw SystemError(path, "write", reason);
}

} // namespace lwcc::rt::train
