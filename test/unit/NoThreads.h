//===- NoThreads.h - A process that may start no thread ---------*- C++ -*-===//
#ifndef LWCC_TEST_UNIT_NOTHREADS_H
#define LWCC_TEST_UNIT_NOTHREADS_H

#include <sys/resource.h>
#include <unistd.h>

namespace lwcc {

/// Lets this process have the thread that it has, and no other. Limits do not
/// bind root, who becomes somebody else. Ends the process if that cannot be.
inline void forbidThreads() {
  rlimit one = {1, 1};
  bool limited = setrlimit(RLIMIT_NPROC, &one) == 0;
  if (geteuid() == 0)
    limited &= setgid(65534) == 0 && setuid(65534) == 0;
  if (!limited)
    _exit(3);
}

} // namespace lwcc

#endif // LWCC_TEST_UNIT_NOTHREADS_H
