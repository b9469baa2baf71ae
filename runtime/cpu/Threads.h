//===- Threads.h - How many threads, and whether they start -----*- C++ -*-===//
//
// Checks, before anything is computed, that OpenMP can start as many threads as
// a lane is to have. There are two reasons. Some primitives of oneDNN wait
// until all threads of a team have arrived, and wait for ever if
// OMP_THREAD_LIMIT or the system allows fewer. And libgomp ends the process if
// it cannot start a thread.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_RUNTIME_CPU_THREADS_H
#define LWCC_RUNTIME_CPU_THREADS_H

#include <thread>
#include <vector>

namespace lwcc::rt {

/// The CPU threads of a machine: `wanted`, or with 0 as many as OpenMP says,
/// which are all cores unless OMP_NUM_THREADS says otherwise. Throws Error if
/// OMP_THREAD_LIMIT allows fewer than wanted.
int threadCount(int wanted);

/// How many of `most` threads that always have something to do would have a
/// core for themselves, at least 1. Tried for 30 ms, and where other work seems
/// to be on some cores five times as long: what passes does not count. A team
/// one of whose threads shares its core waits for that one in every loop, for
/// as long as the other work has the core: LeNet-5's steps of 1.6 ms take 4 to
/// 16 with two threads on two busy cores, and 2.4 with one thread.
int threadsWithCore(int most);

/// Throws Error unless that many more threads can be started.
void checkThreadsStart(int count);

/// Makes the calling thread's OpenMP team; returns how many threads it has. It
/// stays that large: OMP_DYNAMIC must not shrink it.
int startTeam(int threads);

/// What to say where the system refuses a thread.
[[noreturn]] void refuseThread(int count, const std::exception &cause);

} // namespace lwcc::rt

#endif // LWCC_RUNTIME_CPU_THREADS_H
