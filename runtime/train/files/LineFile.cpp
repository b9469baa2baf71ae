//===- LineFile.cpp - A file that grows by whole lines --------------------===//

#include "runtime/train/files/LineFile.h"

#include "runtime/train/files/SystemError.h"

#include <cerrno>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace lwcc::rt::train {

LineFile::LineFile(const std::string &path, bool keep) : path(path) {
  if (path.empty())
    return;
  descriptor = ::open(
      path.c_str(),
      O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | (keep ? 0 : O_TRUNC), 0666);
  if (descriptor < 0)
    throwSystemError(path, "write");
}

LineFile::~LineFile() {
  if (descriptor >= 0)
    ::close(descriptor);
}

bool LineFile::isEmpty() const {
  struct stat info;
  return ::fstat(descriptor, &info) != 0 || info.st_size == 0;
}

void LineFile::appendBytes(std::string_view bytes) {
  if (descriptor < 0)
    return;
  for (size_t done = 0; done < bytes.size();) {
    ssize_t count =
        ::write(descriptor, bytes.data() + done, bytes.size() - done);
    if (count < 0 && errno == EINTR)
      continue;
    if (count < 0) {
      int reason = errno;
      struct stat info;
      if (done > 0 && ::fstat(descriptor, &info) == 0 &&
          S_ISREG(info.st_mode) &&
          ::ftruncate(descriptor, info.st_size - off_t(done)) != 0)
        reason = errno; // half a line stays
      errno = reason;
      throwSystemError(path, "write");
    }
    done += count;
  }
}

} // namespace lwcc::rt::train
