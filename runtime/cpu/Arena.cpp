//===- Arena.cpp - Large zeroed blocks of memory ----------------*- C++ -*-===//
//
// See Arena.h.
//
//===----------------------------------------------------------------------===//
#include "runtime/cpu/Arena.h"
#include "runtime/core/Error.h"

#include <algorithm>
#include <cstdio>
#include <sys/mman.h>

namespace lwcc::rt {

/// Huge pages are 2 MiB on x86-64 and the usual size elsewhere; a mapping of
/// less than a few of them is better off with small pages.
static constexpr int64_t hugePage = int64_t(2) << 20;
/// Behind every arena, so that who writes past its end is stopped there and
/// does not change what lies behind it, which may be code.
static constexpr int64_t guardBytes = 4096;

Arena::Arena(int64_t bytes, Use use) : size(bytes) {
  if (bytes == 0)
    return;
  bool huge = use == own && bytes >= 4 * hugePage;
  int64_t page = huge ? hugePage : guardBytes;
  room = (bytes + page - 1) / page * page;
  // Of huge pages one more than needed, so that the start can be aligned.
  mapped = room + (huge ? page : 0) + guardBytes;
  void *at = mmap(
      nullptr, mapped, PROT_READ | PROT_WRITE,
      MAP_PRIVATE | MAP_ANONYMOUS | (use == image ? MAP_NORESERVE : 0), -1, 0);
  if (at == MAP_FAILED)
    throw Error("cannot map " + formatBytes(bytes) + " of memory");
  if (huge) {
    // Give the unaligned ends back.
    uintptr_t start = reinterpret_cast<uintptr_t>(at);
    uintptr_t aligned = (start + page - 1) / page * page;
    if (aligned != start)
      munmap(at, aligned - start);
    int64_t kept = room + guardBytes;
    int64_t tail = static_cast<int64_t>(start + mapped - (aligned + kept));
    if (tail > 0)
      munmap(reinterpret_cast<void *>(aligned + kept), tail);
    mapped = kept;
    at = reinterpret_cast<void *>(aligned);
    // Advice: without huge pages the arena works the same, only slower.
    madvise(at, room, MADV_HUGEPAGE);
  }
  base = static_cast<char *>(at);
  mprotect(base + room, guardBytes, PROT_NONE);
}

Arena::~Arena() {
  if (base)
    munmap(base, mapped);
}

std::string formatBytes(int64_t bytes) {
  const char *units[] = {"bytes", "KiB", "MiB", "GiB", "TiB"};
  double value = static_cast<double>(bytes);
  int unit = 0;
  for (; value >= 1024 && unit < 4; ++unit)
    value /= 1024;
  char text[32];
  std::snprintf(text, sizeof text, unit == 0 ? "%.0f %s" : "%.1f %s", value,
                units[unit]);
  return text;
}

} // namespace lwcc::rt
