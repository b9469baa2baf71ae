//===- SystemMemory.h - Memory of this machine ------------------*- C++ -*-===//
//
// How much memory the machine has and how much of it may still be taken, within
// the limits of the process's control groups (a container's, for example), of
// both versions. What it is taken for is decided by who asks.
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

  /// A group's limit: what it may use less what it cannot give back. Groups
  /// without one have a word or a huge number there.
  void limitBy(const std::string &limit, const std::string &statistics,
               const std::string &usedKey) {
    int64_t most = 0, used = 0;
    if (!(std::ifstream(limit) >> most))
      return;
    std::ifstream file(statistics);
    std::string key;
    for (int64_t value; file >> key >> value;)
      if (key == usedKey)
        used = value;
    total = std::min(total, most);
    available = std::min(available, std::max<int64_t>(most - used, 0));
  }
};

/// As it is now. `root` stands before /proc and /sys, for tests.
inline SystemMemory systemMemory(const std::string &root = "") {
  SystemMemory memory;
  std::ifstream meminfo(root + "/proc/meminfo");
  std::string key, line;
  for (int64_t kib = 0; meminfo >> key >> kib && std::getline(meminfo, line);) {
    if (key == "MemTotal:")
      memory.total = kib << 10;
    if (key == "MemAvailable:")
      memory.available = kib << 10;
  }
  // "0::/a/b" is a group of version 2, "7:memory:/a/b" one of version 1. All
  // groups above it count, too. A container may see none but its own, as the
  // topmost one.
  std::ifstream groups(root + "/proc/self/cgroup");
  while (std::getline(groups, line)) {
    const size_t begin = line.find(':') + 1, end = line.find(':', begin);
    if (begin == 0 || end == std::string::npos)
      continue;
    std::string controllers = ",";
    controllers.append(line, begin, end - begin) += ',';
    const bool first = controllers.find(",memory,") != std::string::npos;
    if (!first && controllers != ",,")
      continue;
    std::string path = line.substr(end + 1);
    while (!path.empty()) {
      if (path == "/")
        path.clear();
      const std::string group =
          root + (first ? "/sys/fs/cgroup/memory" : "/sys/fs/cgroup") + path;
      memory.limitBy(group + (first ? "/memory.limit_in_bytes" : "/memory.max"),
                     group + "/memory.stat", first ? "total_rss" : "anon");
      if (!path.empty())
        path.resize(std::max<size_t>(path.rfind('/'), 1));
    }
  }
  return memory;
}

} // namespace lwcc::rt

#endif // LWCC_RUNTIME_CORE_SYSTEMMEMORY_H
