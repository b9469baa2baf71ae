//===- Log.cpp - A line of JSON for every step ----------------------------===//

#include "runtime/train/report/Log.h"
#include "runtime/train/files/SystemError.h"

#include <cerrno>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace lwcc::rt::train {

Log::Log(const std::string &path, bool append) : path(path) {
  if (path.empty())
    return;
  descriptor = ::open(
      path.c_str(),
      O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | (append ? 0 : O_TRUNC), 0666);
  if (descriptor < 0)
    throwSystemError(path, "write");
}

Log::~Log() {
  if (descriptor >= 0)
    ::close(descriptor);
}

void Log::write(const JsonObject &record) {
  if (descriptor < 0)
    return;
  std::string line = record.str() + "\n";
  for (size_t done = 0; done < line.size();) {
    ssize_t count = ::write(descriptor, line.data() + done, line.size() - done);
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
