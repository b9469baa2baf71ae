//===- Arena.h - Large zeroed blocks of memory ------------------*- C++ -*-===//
//
// Memory of a device of the CPU backend, and the workspaces of its lanes:
// mapped at once, zeroed by the kernel, on huge pages where it can, with a page
// behind it that stops who writes past its end.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_RUNTIME_CPU_ARENA_H
#define LWCC_RUNTIME_CPU_ARENA_H

#include <cstdint>
#include <string>
#include <utility>

namespace lwcc::rt {

class Arena {
public:
  enum Use {
    own,
    image ///< of memory elsewhere: only pages that are written to take memory
  };
  Arena() = default;
  /// Throws Error if the system has no such memory.
  explicit Arena(int64_t bytes, Use use = own);
  ~Arena();
  Arena(Arena &&other) noexcept { swap(other); }
  Arena &operator=(Arena &&other) noexcept {
    swap(other);
    return *this;
  }

  char *data() const { return base; }
  int64_t bytes() const { return size; }
  /// The first byte that nobody may touch: `bytes()` rounded up to pages.
  char *end() const { return base + room; }

private:
  void swap(Arena &other) {
    std::swap(base, other.base);
    std::swap(size, other.size);
    std::swap(room, other.room);
    std::swap(mapped, other.mapped);
  }

  char *base = nullptr;
  int64_t size = 0;
  int64_t room = 0;   ///< size in whole pages
  int64_t mapped = 0; ///< bytes of the mapping, with the guard
};

/// "1.5 GiB", for messages.
std::string formatBytes(int64_t bytes);

} // namespace lwcc::rt

#endif // LWCC_RUNTIME_CPU_ARENA_H
