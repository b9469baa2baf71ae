//===- Parallel.h - Static parallel loops -----------------------*- C++ -*-===//
//
// How an operator of the CPU backend uses its lane's threads: a range is cut
// into equal parts, one per thread, so that which thread computes what never
// depends on timing. With one thread there is no OpenMP at all, which keeps
// lanes of one thread cheap and lets ThreadSanitizer check them. What includes
// this header needs no flag of OpenMP's: its parallel regions are in
// Threads.cpp.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_RUNTIME_CPU_PARALLEL_H
#define LWCC_RUNTIME_CPU_PARALLEL_H

#include "runtime/core/Clones.h"

#include <algorithm>
#include <cstdint>

namespace lwcc::rt {

/// The number of threads that OpenMP regions and oneDNN use from here on, in
/// this thread, until the end of the scope. oneDNN cuts its work when a
/// primitive is created, so creation and execution must agree.
class ThreadScope {
public:
  explicit ThreadScope(int threads);
  ~ThreadScope();
  ThreadScope(const ThreadScope &) = delete;
  ThreadScope &operator=(const ThreadScope &) = delete;

private:
  int saved;
};

/// Calls part(context, p) for each p of [0, parts), in as many threads.
void runParts(int64_t parts, void (*part)(const void *context, int64_t p),
              const void *context);

/// Calls body(begin, end) for parts of [0, n), in at most `threads` threads and
/// with at least `grain` iterations each.
template <typename Body>
void parallelFor(int threads, int64_t n, int64_t grain, const Body &body) {
  int64_t parts = std::min<int64_t>(threads, n / std::max<int64_t>(grain, 1));
  if (parts <= 1) {
    if (n > 0)
      body(int64_t(0), n);
    return;
  }
  struct Loop {
    const Body &body;
    int64_t n, parts;
  } loop{body, n, parts};
  runParts(
      parts,
      [](const void *context, int64_t p) {
        const Loop &l = *static_cast<const Loop *>(context);
        l.body(l.n * p / l.parts, l.n * (p + 1) / l.parts);
      },
      &loop);
}

} // namespace lwcc::rt

#endif // LWCC_RUNTIME_CPU_PARALLEL_H
