//===- Files.cpp - Files that are read or written as a whole --------------===//

#include "runtime/train/Files.h"

#include "runtime/core/Error.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <system_error>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace lwcc::rt::train {

void throwSystemError(const std::string &path, const char *verb) {
  throw Error(path + ": cannot " + verb + ": " +
              std::generic_category().message(errno));
}

MappedFile::MappedFile(const std::string &path) {
  int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0)
    throwSystemError(path, "open");
  struct stat info;
  if (::fstat(file, &info) != 0) {
    ::close(file);
    throwSystemError(path, "read");
  }
  if (!S_ISREG(info.st_mode)) {
    ::close(file);
    throw Error(path + ": not a regular file");
  }
  length = info.st_size;
  if (length > 0) { // an empty mapping is an error of mmap
    void *mapping = ::mmap(nullptr, length, PROT_READ, MAP_PRIVATE, file, 0);
    if (mapping == MAP_FAILED) {
      ::close(file);
      throwSystemError(path, "map into memory");
    }
    bytes = static_cast<const char *>(mapping);
  }
  ::close(file);
}

MappedFile::~MappedFile() {
  if (bytes)
    ::munmap(const_cast<char *>(bytes), length);
}

FileWriter::FileWriter(const std::string &path) : path(path) {
  descriptor =
      ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (descriptor < 0)
    throwSystemError(path, "write");
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
  int closing = descriptor;
  descriptor = -1;
  if (::close(closing) != 0)
    throwSystemError(path, "write");
}

/// Beside `path`, so that the rename stays inside one file system.
static std::string temporaryName(const std::string &path) {
  return path + ".tmp-" + std::to_string(::getpid());
}

void writeAtomically(const std::string &path,
                     const std::function<void(FileWriter &)> &fill) {
  std::string temporary = temporaryName(path);
  try {
    FileWriter writer(temporary);
    fill(writer);
    writer.finish();
    if (::rename(temporary.c_str(), path.c_str()) != 0)
      throwSystemError(path, "write");
  } catch (...) {
    ::unlink(temporary.c_str());
    throw;
  }
  syncDirectory(parentOf(path));
}

void checkWritable(const std::string &path) {
  if (std::filesystem::is_directory(path))
    throw Error(path + ": cannot write: is a directory");
  // A pipe or a device has nothing beside it.
  if (std::filesystem::exists(path) &&
      !std::filesystem::is_regular_file(path)) {
    if (::access(path.c_str(), W_OK) != 0)
      throwSystemError(path, "write");
    return;
  }
  std::string temporary = temporaryName(path);
  int file = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
  if (file < 0)
    throwSystemError(path, "write");
  ::close(file);
  ::unlink(temporary.c_str());
}

void syncDirectory(const std::string &path) {
  int directory = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (directory < 0)
    throwSystemError(path, "open");
  // Some network file systems cannot; the rename itself has happened.
  ::fsync(directory);
  ::close(directory);
}

std::string parentOf(const std::string &path) {
  std::string parent = std::filesystem::path(path).parent_path().string();
  return parent.empty() ? "." : parent;
}

} // namespace lwcc::rt::train
