//===- Parallel.h - Tasks beside each other ---------------------*- C++ -*-===//
//
// Runs a few large tasks on as many threads as there are cores. A system that
// gives no further thread (a limit of processes or memory) is no error: what
// has no thread of its own runs in the caller's. LLVM's own pools end the
// process there.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_IR_PARALLEL_H
#define LWCC_IR_PARALLEL_H

#include "llvm/ADT/STLFunctionalExtras.h"

#include <algorithm>
#include <atomic>
#include <pthread.h>
#include <thread>
#include <vector>

namespace lwcc {

/// Runs task(0) to task(count - 1), in any order.
inline void inParallel(size_t count, llvm::function_ref<void(size_t)> task) {
  struct Tasks {
    llvm::function_ref<void(size_t)> task;
    size_t count;
    std::atomic<size_t> next = 0;

    void work() {
      for (size_t i = next++; i < count; i = next++)
        task(i);
    }
  } tasks{task, count};
  const size_t wanted = std::min<size_t>(
      count, std::max(1U, std::thread::hardware_concurrency()));
  std::vector<pthread_t> threads;
  for (size_t i = 1; i < wanted; ++i) {
    pthread_t thread;
    auto *work = +[](void *given) -> void * {
      static_cast<Tasks *>(given)->work();
      return nullptr;
    };
    if (pthread_create(&thread, nullptr, work, &tasks) == 0)
      threads.push_back(thread);
  }
  tasks.work();
  for (pthread_t thread : threads)
    pthread_join(thread, nullptr);
}

} // namespace lwcc

#endif // LWCC_IR_PARALLEL_H
