//===- Hooks.cpp - What compiled kernels call -----------------------------===//
//
// The functions that clang calls before each access to memory in code that is
// compiled with -fsanitize=thread, and where -fsanitize=alignment,bounds has
// found something; and the ones of Kernels.h. Outside of kernels they do
// nothing.
//
//===----------------------------------------------------------------------===//

#include "Grid.h"
#include "Shared.h"

#include <cstring>

using namespace lwcc;
using namespace lwcc::emulation;

extern "C" {
extern const char __executable_start, _end;
}

/// An access of a thread of a kernel.
static void touch(const void *address, size_t bytes, bool writes,
                  const void *site, bool atomic = false) {
  Grid *grid = Grid::running;
  if (!grid || grid->mayTouch(address))
    return;
  bool allowed = true;
  {
    Unwatched emulation;
    now.site = site;
    if (isShared(address)) {
      allowed = accessShared(address, bytes, writes, atomic);
    } else if (world().memory.holds(address) ||
               world().memory.isPinned(address, bytes)) {
      allowed = access(address, bytes, writes, atomic);
    } else if (writes || address < &__executable_start || address >= &_end) {
      // Constants of the program are read, and the place of the thread.
      fault(std::string(ops[now.op].name) + (writes ? " writes" : " reads") +
            " memory of the host");
      allowed = false;
    }
    now.site = nullptr;
  }
  if (!allowed)
    grid->abandon();
}

//===----------------------------------------------------------------------===//
// -fsanitize=thread
//===----------------------------------------------------------------------===//

#define LWCC_SITE __builtin_return_address(0)
/// An access that the compiler takes for aligned, to 8 bytes at most.
static void touchAligned(const void *address, size_t bytes, bool writes,
                         const void *site) {
  Grid *grid = Grid::running;
  if (grid &&
      reinterpret_cast<uintptr_t>(address) % std::min<size_t>(bytes, 8)) {
    {
      Unwatched emulation;
      now.site = site;
      fault(std::string(ops[now.op].name) +
            ": an access not aligned to bytes " + std::to_string(bytes));
    }
    grid->abandon();
  }
  touch(address, bytes, writes, site);
}

#define LWCC_ACCESSES(BYTES)                                                   \
  void __tsan_read##BYTES(void *at) {                                          \
    touchAligned(at, BYTES, false, LWCC_SITE);                                 \
  }                                                                            \
  void __tsan_write##BYTES(void *at) {                                         \
    touchAligned(at, BYTES, true, LWCC_SITE);                                  \
  }                                                                            \
  void __tsan_unaligned_read##BYTES(void *at) {                                \
    touch(at, BYTES, false, LWCC_SITE);                                        \
  }                                                                            \
  void __tsan_unaligned_write##BYTES(void *at) {                               \
    touch(at, BYTES, true, LWCC_SITE);                                         \
  }                                                                            \
  void __tsan_read_write##BYTES(void *at) {                                    \
    touchAligned(at, BYTES, false, LWCC_SITE);                                 \
    touch(at, BYTES, true, LWCC_SITE);                                         \
  }                                                                            \
  void __tsan_unaligned_read_write##BYTES(void *at) {                          \
    touch(at, BYTES, false, LWCC_SITE);                                        \
    touch(at, BYTES, true, LWCC_SITE);                                         \
  }

extern "C" {
LWCC_ACCESSES(1)
LWCC_ACCESSES(2)
LWCC_ACCESSES(4)
LWCC_ACCESSES(8)
LWCC_ACCESSES(16)

void __tsan_init() {}
void __tsan_func_entry(void *) {}
void __tsan_func_exit() {}
void __tsan_vptr_read(void **) {}
void __tsan_vptr_update(void **at, void *value) { *at = value; }

void *__tsan_memcpy(void *to, const void *from, size_t bytes) {
  if (bytes) {
    touch(from, bytes, false, LWCC_SITE);
    touch(to, bytes, true, LWCC_SITE);
  }
  return std::memcpy(to, from, bytes);
}
void *__tsan_memmove(void *to, const void *from, size_t bytes) {
  if (bytes) {
    touch(from, bytes, false, LWCC_SITE);
    touch(to, bytes, true, LWCC_SITE);
  }
  return std::memmove(to, from, bytes);
}
void *__tsan_memset(void *to, int value, size_t bytes) {
  if (bytes)
    touch(to, bytes, true, LWCC_SITE);
  return std::memset(to, value, bytes);
}

//===----------------------------------------------------------------------===//
// -fsanitize=alignment,bounds
//===----------------------------------------------------------------------===//

namespace {
struct SourceLocation {
  const char *file;
  uint32_t line, column;
};
struct TypeMismatch {
  SourceLocation location;
  const void *type;
  unsigned char logAlignment, kind;
};
struct OutOfBounds {
  SourceLocation location;
  const void *arrayType, *indexType;
};
} // namespace

static void report(const SourceLocation &at, const char *what, size_t n) {
  Grid *grid = Grid::running;
  {
    Unwatched emulation;
    const char *slash = std::strrchr(at.file, '/');
    fault((grid ? std::string(ops[now.op].name) : "host code") + ": " + what +
          std::to_string(n) + " (" + (slash ? slash + 1 : at.file) + ":" +
          std::to_string(at.line) + ")");
  }
  if (grid)
    grid->abandon();
}

void __ubsan_handle_type_mismatch_v1(TypeMismatch *found, uintptr_t) {
  report(found->location, "an access not aligned to bytes ",
         size_t(1) << found->logAlignment);
}
void __ubsan_handle_out_of_bounds(OutOfBounds *found, uintptr_t index) {
  report(found->location, "outside of an array, index ", index);
}
} // extern "C"

//===----------------------------------------------------------------------===//
// Kernels.h
//===----------------------------------------------------------------------===//

namespace lwcc::emulation {
void waitForBlock();
uint64_t exchange(uint32_t mask, uint64_t value, int source);
uint32_t vote(uint32_t mask, bool holds);
void atomically(void *address, size_t bytes, void (*change)(void *, void *),
                void *context);
} // namespace lwcc::emulation

void emulation::waitForBlock() {
  Grid *grid = Grid::running;
  Unwatched emulation;
  grid->waitForBlock(LWCC_SITE);
}
uint64_t emulation::exchange(uint32_t mask, uint64_t value, int source) {
  Grid *grid = Grid::running;
  Unwatched emulation;
  return grid->meet(mask, value, source, /*isVote=*/false);
}
uint32_t emulation::vote(uint32_t mask, bool holds) {
  Grid *grid = Grid::running;
  Unwatched emulation;
  return static_cast<uint32_t>(grid->meet(mask, holds, 0, /*isVote=*/true));
}
void emulation::atomically(void *address, size_t bytes,
                           void (*change)(void *, void *), void *context) {
  touch(address, bytes, false, LWCC_SITE, /*atomic=*/true);
  touch(address, bytes, true, LWCC_SITE, /*atomic=*/true);
  Unwatched emulation;
  change(address, context);
}
