//===- Files.cpp - Files that are read or written as a whole --------------===//

#include "runtime/train/Files.h"

#include "runtime/core/Error.h"
#include "runtime/train/Temporaries.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <csignal>
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

//===----------------------------------------------------------------------===//
// Input
//===----------------------------------------------------------------------===//

namespace {
/// What the handler of SIGBUS has to know of a mapping.
struct Mapping {
  std::atomic<const char *> begin = nullptr;
  const char *end = nullptr;
  const char *path = nullptr;
};
} // namespace

/// More files than are ever open; one beyond has no message.
static Mapping mappings[64];
/// Its address, which no mapping has, claims an entry that is being filled in.
static const char claimed = 0;
static struct sigaction oldBusAction;

static void writeError(const char *text) {
  // There is nobody to tell if this fails.
  [[maybe_unused]] ssize_t written =
      ::write(STDERR_FILENO, text, std::strlen(text));
}

/// Calls only what POSIX allows in a handler.
static void onBusError(int signal, siginfo_t *info, void *) {
  const char *address = static_cast<const char *>(info->si_addr);
  for (const Mapping &mapping : mappings) {
    const char *begin = mapping.begin;
    if (!begin || begin == &claimed || address < begin ||
        address >= mapping.end)
      continue;
    writeError("\nerror: ");
    writeError(mapping.path);
    writeError(": was cut short, or cannot be read any more, while it was in "
               "use\n");
    removeTemporaries();
    ::_exit(1);
  }
  // Not ours: happens again, as if we were not here.
  ::sigaction(signal, &oldBusAction, nullptr);
}

static void addMapping(const char *begin, int64_t length, const char *path) {
  static const bool installed = [] {
    struct sigaction action = {};
    action.sa_sigaction = onBusError;
    action.sa_flags = SA_SIGINFO;
    ::sigemptyset(&action.sa_mask);
    return ::sigaction(SIGBUS, &action, &oldBusAction) == 0;
  }();
  (void)installed;
  for (Mapping &mapping : mappings) {
    const char *none = nullptr;
    if (!mapping.begin.compare_exchange_strong(none, &claimed))
      continue;
    mapping.end = begin + length;
    mapping.path = path;
    mapping.begin = begin;
    return;
  }
}

static void removeMapping(const char *begin) {
  for (Mapping &mapping : mappings)
    if (mapping.begin == begin)
      mapping.begin = nullptr;
}

MappedFile::MappedFile(const std::string &path) : path(path) {
  // A pipe would be waited for, without O_NONBLOCK.
  int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
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
    addMapping(bytes, length, this->path.c_str());
  }
  ::close(file);
}

MappedFile::~MappedFile() {
  if (!bytes)
    return;
  removeMapping(bytes);
  ::munmap(const_cast<char *>(bytes), length);
}

//===----------------------------------------------------------------------===//
// Output
//===----------------------------------------------------------------------===//

FileWriter::FileWriter(const std::string &path, const std::string &shownAs)
    : path(shownAs) {
  descriptor =
      ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
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
  int closing = descriptor;
  descriptor = -1;
  if (::close(closing) != 0)
    throwSystemError(path, "write");
}

/// Whether something is there that cannot be replaced, only written to.
static bool isSpecial(const std::string &path) {
  struct stat info;
  return ::stat(path.c_str(), &info) == 0 && !S_ISREG(info.st_mode) &&
         !S_ISDIR(info.st_mode);
}

/// The file behind symbolic links, even where it does not exist yet.
static std::string behindLinks(const std::string &path) {
  namespace fs = std::filesystem;
  fs::path place(path);
  std::error_code error;
  for (int links = 0; fs::is_symlink(place, error); ++links) {
    if (links == 40) { // the system's own limit
      errno = ELOOP;
      throwSystemError(path, "write");
    }
    place = place.parent_path() / fs::read_symlink(place, error);
  }
  return place.string();
}

/// Beside `path`, so that the rename stays inside one file system.
static std::string temporaryName(const std::string &path) {
  return path + ".tmp-" + std::to_string(::getpid());
}

void writeAtomically(const std::string &path,
                     const std::function<void(FileWriter &)> &fill) {
  if (isSpecial(path)) {
    FileWriter writer(path);
    fill(writer);
    writer.finish();
    return;
  }
  std::string place = behindLinks(path);
  Temporary temporary(temporaryName(place));
  FileWriter writer(temporary.path(), path);
  fill(writer);
  struct stat old;
  if (::stat(place.c_str(), &old) == 0)
    ::chmod(temporary.path().c_str(), old.st_mode & 07777);
  writer.finish();
  if (::rename(temporary.path().c_str(), place.c_str()) != 0) {
    if (errno != EBUSY)
      throwSystemError(path, "write");
    // A file that is mounted by itself, as containers do, cannot be replaced.
    MappedFile whole(temporary.path());
    FileWriter through(place, path);
    through.write(whole.text());
    through.finish();
    return;
  }
  temporary.keep();
  syncDirectory(parentOf(place));
}

void checkWritable(const std::string &path) {
  if (std::error_code error; std::filesystem::is_directory(path, error))
    throw Error(path + ": cannot write: is a directory");
  if (isSpecial(path)) { // has nothing beside it
    if (::access(path.c_str(), W_OK) != 0)
      throwSystemError(path, "write");
    return;
  }
  Temporary temporary(temporaryName(behindLinks(path)));
  int file =
      ::open(temporary.path().c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
  if (file < 0)
    throwSystemError(path, "write");
  ::close(file);
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
