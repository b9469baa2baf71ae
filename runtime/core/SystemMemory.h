//===- SystemMemory.h - Memory of this machine ------------------*- C++ -*-===//
//
// How much memory the machine has and how much of it may still be taken, within
// the limits of the process's control group (a container's). What it is taken
// for is decided by who asks.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_RUNTIME_CORE_SYSTEMMEMORY_H
#define LWCC_RUNTIME_CORE_SYSTEMMEMORY_H

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <limits>
#include <string>

namespace lwcc::rt {

struct SystemMemory {
  /// Bytes; huge numbers if the system does not say.
  int64_t total = std::numeric_limits<int64_t>::max();
  int64_t available = std::numeric_limits<int64_t>::max(); ///< without swapping
};

/// As it is now.
inline SystemMemory systemMemory() {
  SystemMemory memory;
  std::ifstream meminfo("/proc/meminfo");
  std::string key, unit;
  for (int64_t kib = 0; meminfo >> key >> kib && std::getline(meminfo, unit);) {
    if (key == "MemTotal:")
      memory.total = kib << 10;
    if (key == "MemAvailable:")
      memory.available = kib << 10;
  }
  // A container's limit: what it may use less what it cannot give back.
  std::ifstream limitFile("/sys/fs/cgroup/memory.max");
  std::ifstream statFile("/sys/fs/cgroup/memory.stat");
  int64_t limit = 0, used = 0;
  if (limitFile >> limit) {
    for (int64_t value; statFile >> key >> value;)
      if (key == "anon")
        used = value;
    memory.total = std::min(memory.total, limit);
    memory.available =
        std::min(memory.available, std::max<int64_t>(limit - used, 0));
  }
  return memory;
}

} // namespace lwcc::rt

#endif // LWCC_RUNTIME_CORE_SYSTEMMEMORY_H
