//===- Threads.cpp - How many threads, and whether they start ---*- C++ -*-===//
//
// See Threads.h.
//
//===----------------------------------------------------------------------===//
#include "runtime/cpu/Threads.h"
#include "runtime/core/Error.h"

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <omp.h>
#include <system_error>

namespace lwcc::rt {

int threadCount(int wanted) {
#ifdef __SANITIZE_THREAD__
  return 1; // OpenMP's barriers are invisible to the sanitizer
#endif
  int limit = omp_get_thread_limit();
  if (wanted > limit)
    throw Error("--threads=" + std::to_string(wanted) +
                ": OMP_THREAD_LIMIT allows " + std::to_string(limit) +
                "; take fewer, or unset it");
  return wanted > 0 ? wanted : std::min(omp_get_max_threads(), limit);
}

void checkThreadsStart(int count) {
  std::mutex mutex;
  std::condition_variable changed;
  bool done = false;
  std::vector<std::thread> threads;
  auto finish = [&] {
    {
      std::lock_guard lock(mutex);
      done = true;
    }
    changed.notify_all();
    for (std::thread &thread : threads)
      thread.join();
  };
  try {
    for (int i = 0; i < count; ++i)
      threads.emplace_back([&] { // all at once: each waits for the last
        std::unique_lock lock(mutex);
        changed.wait(lock, [&] { return done; });
      });
  } catch (const std::exception &e) {
    finish();
    refuseThread(count, e);
  }
  finish();
}

int startTeam(int threads) {
  omp_set_dynamic(0);
  omp_set_num_threads(threads);
  if (threads == 1)
    return 1;
  int size = 0;
#pragma omp parallel num_threads(threads)
#pragma omp single
  size = omp_get_num_threads();
  return size;
}

void refuseThread(int count, const std::exception &cause) {
  throw Error("cannot start " + std::to_string(count) +
              (count == 1 ? " thread: " : " threads: ") + cause.what() +
              "; take fewer --threads, or raise the limit (ulimit -u, ulimit "
              "-v, a container's pids)");
}

} // namespace lwcc::rt
