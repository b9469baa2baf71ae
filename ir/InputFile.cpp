//===- InputFile.cpp - Files that the compiler reads ----------------------===//

#include "ir/InputFile.h"

#include "llvm/ADT/ScopeExit.h"
#include "llvm/Support/SmallVectorMemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"

#include <cerrno>

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace lwcc;
using llvm::Error;
using llvm::StringRef;
using Buffer = std::unique_ptr<llvm::MemoryBuffer>;

static Error systemError(int code) {
  return llvm::errorCodeToError(std::error_code(code, std::generic_category()));
}

static Error tooLarge(int64_t most) {
  constexpr int64_t mebibyte = int64_t(1) << 20;
  const bool round = most % mebibyte == 0;
  return llvm::createStringError(
      "has more than " + llvm::Twine(round ? most / mebibyte : most) +
      (round ? " MiB" : " bytes") + ", the most that is read");
}

/// What is no file, piece by piece: its size is known at its end.
static llvm::Expected<Buffer> readStream(int descriptor, StringRef path,
                                         int64_t most) {
  constexpr size_t piece = size_t(1) << 20;
  llvm::SmallVector<char, 0> bytes;
  for (bool said = false;;) {
    pollfd ready = {descriptor, POLLIN, 0};
    int events = poll(&ready, 1, said ? -1 : 1000);
    if (events < 0 && errno != EINTR)
      return systemError(errno);
    if (events == 0) {
      llvm::errs() << "lwcc: note: waiting for " << path
                   << ", into which nobody has written yet\n";
      said = true;
    }
    if (events <= 0)
      continue;
    const size_t before = bytes.size();
    bytes.resize_for_overwrite(before + piece);
    ssize_t count = read(descriptor, bytes.data() + before, piece);
    int reason = errno;
    bytes.truncate(before + std::max<ssize_t>(count, 0));
    if (count == 0)
      return std::make_unique<llvm::SmallVectorMemoryBuffer>(std::move(bytes),
                                                             path);
    if (count < 0 && reason != EINTR && reason != EAGAIN)
      return systemError(reason);
    if (static_cast<int64_t>(bytes.size()) > most)
      return tooLarge(most);
  }
}

llvm::Expected<Buffer> lwcc::readInput(StringRef path, int64_t most) {
  // Opening a pipe would wait for its writer, and could not say so.
  int descriptor = open(path.str().c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0)
    return systemError(errno);
  llvm::scope_exit closed([&] { close(descriptor); });
  struct stat info;
  if (fstat(descriptor, &info) != 0)
    return systemError(errno);
  if (S_ISDIR(info.st_mode))
    return systemError(EISDIR);
  // Files without a size are the system's, which makes them when they are read.
  if (!S_ISREG(info.st_mode) || info.st_size == 0)
    return readStream(descriptor, path, most);
  if (info.st_size > most)
    return tooLarge(most);
  auto buffer = llvm::MemoryBuffer::getFile(path, /*IsText=*/false,
                                            /*RequiresNullTerminator=*/false);
  if (!buffer)
    return llvm::errorCodeToError(buffer.getError());
  return std::move(*buffer);
}
