//===- Threads.cpp - How many threads, and whether they start ---*- C++ -*-===//
//
// Also decides how long libgomp's threads spin before they sleep when they wait
// for each other. libgomp's default is 300,000 turns, some milliseconds. On a
// machine with other work a spinning thread uses up its share of a core while
// the thread that it waits for does not run: LeNet-5's step of a millisecond
// took a hundred. 20,000 turns, some hundred microseconds, are longer than the
// time between two calls, so that an idle machine loses nothing
// (tools/bench/shared.py). libgomp reads the number from the environment alone,
// before main runs: so the program sets it and starts itself once more.
//
// OpenMP's parallel regions are all here, that of parallel loops (Parallel.h),
// too.
//
//===----------------------------------------------------------------------===//
#include "runtime/cpu/Threads.h"
#include "runtime/core/Error.h"
#include "runtime/cpu/Parallel.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <mutex>
#include <omp.h>
#include <sys/auxv.h>
#include <time.h>
#include <unistd.h>

namespace lwcc::rt {

#if defined(__GLIBC__) && !defined(__SANITIZE_THREAD__)
/// Runs before all other initialization; glibc passes main's arguments. Changes
/// nothing if the user has set OMP_WAIT_POLICY or GOMP_SPINCOUNT.
[[gnu::constructor(101)]] static void boundSpinning(int, char **argv, char **) {
  if (std::getenv("GOMP_SPINCOUNT") || std::getenv("OMP_WAIT_POLICY"))
    return;
  if (getauxval(AT_BASE) == 0) // started by the loader's own name
    return;
  setenv("GOMP_SPINCOUNT", "20000", /*overwrite=*/0);
  execv("/proc/self/exe", argv); // returns where there is no /proc: as well
}
#endif

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

/// Seconds of processor time that the calling thread has had.
static double threadSeconds() {
  timespec time;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return double(time.tv_sec) + 1e-9 * double(time.tv_nsec);
}

int threadsWithCore(int most) {
  using Clock = std::chrono::steady_clock;
  constexpr auto window = std::chrono::milliseconds(30);
  constexpr int windows = 5;
  constexpr double ownCore = 0.85; // interrupts and short visitors allowed
  int best = 1;
  for (int i = 0; i < windows && best < most; ++i) {
    std::atomic<int> alone = 0;
    std::vector<std::thread> threads;
    try {
      for (int t = 0; t < most; ++t)
        threads.emplace_back([&] {
          double before = threadSeconds();
          auto begin = Clock::now(), now = begin;
          while (now - begin < window)
            now = Clock::now();
          std::chrono::duration<double> passed = now - begin;
          alone += threadSeconds() - before > ownCore * passed.count();
        });
    } catch (const std::exception &e) {
      for (std::thread &thread : threads)
        thread.join();
      refuseThread(most, e);
    }
    for (std::thread &thread : threads)
      thread.join();
    best = std::max(best, alone.load());
  }
  return best;
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

ThreadScope::ThreadScope(int threads) : saved(omp_get_max_threads()) {
  omp_set_dynamic(0); // or OMP_DYNAMIC may give fewer
  omp_set_num_threads(threads);
}

ThreadScope::~ThreadScope() { omp_set_num_threads(saved); }

void runParts(int64_t parts, void (*part)(const void *context, int64_t p),
              const void *context) {
#pragma omp parallel num_threads(static_cast<int>(parts))
  for (int64_t p = omp_get_thread_num(); p < parts; p += omp_get_num_threads())
    part(context, p);
}

void refuseThread(int count, const std::exception &cause) {
  throw Error("cannot start " + std::to_string(count) +
              (count == 1 ? " thread: " : " threads: ") + cause.what() +
              "; take fewer --threads, or raise the limit (ulimit -u, ulimit "
              "-v, a container's pids)");
}

} // namespace lwcc::rt
