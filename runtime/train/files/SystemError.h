//===- SystemError.h - What the system refuses ------------------*- C++ -*-===//
//
// An Error with the file's name and the system's reason.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_RUNTIME_TRAIN_FILES_SYSTEMERROR_H
#define LWCC_RUNTIME_TRAIN_FILES_SYSTEMERROR_H

#include "runtime/core/Error.h"

#include <cerrno>
#include <system_error>

namespace lwcc::rt::train {

/// "PATH: cannot VERB: REASON".
struct SystemError : Error {
  SystemError(const std::string &path, const char *verb, int code)
      : Error(path + ": cannot " + verb + ": " +
              std::generic_category().message(code)),
        code(code) {}
  int code;
};

/// With the reason of errno.
[[noreturn]] inline void throwSystemError(const std::string &path,
                                          const char *verb) {
  throw SystemError(path, verb, errno);
}

} // namespace lwcc::rt::train

#endif // LWCC_RUNTIME_TRAIN_FILES_SYSTEMERROR_H
