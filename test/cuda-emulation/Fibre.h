//===- Fibre.h - Stacks that a thread changes between -----------*- C++ -*-===//
//
// The threads of a block as fibres of the one host thread: a change costs some
// nanoseconds. A fibre runs until it says so, or to its end.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_TEST_CUDAEMULATION_FIBRE_H
#define LWCC_TEST_CUDAEMULATION_FIBRE_H

#include <cstddef>
#include <vector>

namespace lwcc::emulation {

/// Saves the registers and the stack's pointer at *from, and goes on where `to`
/// was saved.
extern "C" void lwccSwitchStacks(void **from, void *to);

/// Stacks for the threads of one block.
class Stacks {
public:
  static constexpr size_t bytes = size_t(64) << 10;
  explicit Stacks(size_t count);
  Stacks(const Stacks &) = delete;
  ~Stacks();

  /// A stack on which, once it is switched to, `entry` runs, which must not
  /// return. The one that was given back last comes first.
  void *take(void (*entry)());
  void giveBack(void *taken);
  void giveAllBack();
  /// Of all stacks.
  bool holds(const void *address) const {
    return static_cast<size_t>(static_cast<const char *>(address) - base) <
           count * bytes;
  }

private:
  char *base;
  size_t count;
  std::vector<char *> free;
};

} // namespace lwcc::emulation

#endif // LWCC_TEST_CUDAEMULATION_FIBRE_H
