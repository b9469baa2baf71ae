//===- Fibre.cpp - Stacks that a thread changes between -------------------===//

#include "Fibre.h"

#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include <sys/mman.h>

using namespace lwcc::emulation;

#ifndef __x86_64__
#error "the emulation changes stacks on x86-64 only"
#endif

// What a function must keep, by the System V ABI.
asm(R"(
.text
.globl lwccSwitchStacks
.type lwccSwitchStacks, @function
lwccSwitchStacks:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
.size lwccSwitchStacks, . - lwccSwitchStacks
)");

Stacks::Stacks(size_t count) : count(count) {
  void *memory = mmap(nullptr, count * bytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) {
    std::perror("emulation: no addresses for stacks");
    std::abort();
  }
  base = static_cast<char *>(memory);
  // Below each, what runs over its end.
  for (size_t i = 0; i < count; ++i)
    mprotect(base + i * bytes, 4096, PROT_NONE);
  giveAllBack();
}

void Stacks::giveAllBack() {
  free.clear();
  for (size_t i = count; i-- > 0;)
    free.push_back(base + i * bytes);
}

Stacks::~Stacks() { munmap(base, count * bytes); }

void *Stacks::take(void (*entry)()) {
  char *stack = free.back();
  free.pop_back();
  auto *top = reinterpret_cast<uint64_t *>(stack + bytes);
  // As if called: the pointer is 8 off a multiple of 16 behind the return.
  *--top = 0;
  *--top = reinterpret_cast<uint64_t>(entry);
  return top - 6; // the registers, of any value
}

void Stacks::giveBack(void *taken) {
  const size_t index =
      static_cast<size_t>(static_cast<char *>(taken) - base) / bytes;
  free.push_back(base + index * bytes);
}
