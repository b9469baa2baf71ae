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
  now.site = site;
  if (isShared(address)) {
    if (!accessShared(address, bytes, writes, atomic))
      grid->abandon();
  } else if (world().memory.holds(address)) {
    if (!access(address, bytes, writes, atomic))
      grid->abandon();
  } else if (writes || address < &__executable_start || address >= &_end) {
    // Constants of the program are read, and the place of the thread.
    fault(std::string(ops[now.op].name) + (writes ? " writes" : " reads") +
          " memory of the host");
    grid->abandon();
  }
  now.site = nullptr;
}

//===----------------------------------------------------------------------===//
// -fsanitize=thread
//===----------------------------------------------------------------------===//

#define LWCC_SITE __builtin_return_address(0)
#define LWCC_ACCESSES(BYTES)                                                   \
  void __tsan_read##BYTES(void *at) { touch(at, BYTES, false, LWCC_SITE); }    \
  void __tsan_write##BYTES(void *at) { touch(at, BYTES, true, LWCC_SITE); }    \
  void __tsan_unaligned_read##BYTES(void *at) {                                \
    touch(at, BYTES, false, LWCC_SITE);                                        \
  }                                                                            \
  void __tsan_unaligned_write##BYTES(void *at) {                               \
    touch(at, BYTES, true, LWCC_SITE);                                         \
  }                                                                            \
  void __tsan_read_write##BYTES(void *at) {                                    \
    touch(at, BYTES, false, LWCC_SITE);                                        \
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

static void report(const SourceLocation &at, const std::string &what) {
  const char *slash = std::strrchr(at.file, '/');
  const bool inKernel = Grid::running != nullptr;
  fault((inKernel ? std::string(ops[now.op].name) : "host code") + ": " + what +
        " (" + (slash ? slash + 1 : at.file) + ":" + std::to_string(at.line) +
        ")");
  if (inKernel)
    Grid::running->abandon();
}

void __ubsan_handle_type_mismatch_v1(TypeMismatch *found, uintptr_t) {
  report(found->location, "an access that is not aligned to " +
                              std::to_string(1u << found->logAlignment) +
                              " bytes");
}
void __ubsan_handle_out_of_bounds(OutOfBounds *found, uintptr_t index) {
  report(found->location, "index " +
                              std::to_string(static_cast<intptr_t>(index)) +
                              " is outside of its array");
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

void emulation::waitForBlock() { Grid::running->waitForBlock(LWCC_SITE); }
uint64_t emulation::exchange(uint32_t mask, uint64_t value, int source) {
  return Grid::running->meet(mask, value, source, /*isVote=*/false);
}
uint32_t emulation::vote(uint32_t mask, bool holds) {
  return static_cast<uint32_t>(
      Grid::running->meet(mask, holds, 0, /*isVote=*/true));
}
void emulation::atomically(void *address, size_t bytes,
                           void (*change)(void *, void *), void *context) {
  touch(address, bytes, false, LWCC_SITE, /*atomic=*/true);
  touch(address, bytes, true, LWCC_SITE, /*atomic=*/true);
  change(address, context);
}
