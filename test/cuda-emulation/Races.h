//===- Races.h - Accesses that nothing orders -------------------*- C++ -*-===//
//
// Of each four bytes of device memory (of each byte, where one was touched
// alone; of a page, where it was only touched as a whole) it is known who wrote
// them last and who has read them since. An access
// is checked against those: two of which one writes must be ordered, whatever
// the order in which they ran here. What orders them is
//   - between two pieces of work, their clocks (Order.h);
//   - within a kernel, between blocks, nothing;
//   - within a block, between threads, a barrier.
// Atomic accesses may meet each other within a kernel.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_TEST_CUDAEMULATION_RACES_H
#define LWCC_TEST_CUDAEMULATION_RACES_H

#include "Order.h"

#include <memory>
#include <unordered_map>

namespace lwcc::emulation {

/// Who made an access. `many` stands for more than one.
struct Accessor {
  static constexpr uint32_t many = ~uint32_t(0);
  uint32_t op = 0; ///< 0: nobody
  uint32_t block = 0, thread = 0;
  uint32_t interval : 31 = 0;
  uint32_t atomic : 1 = 0;
};

struct Cell {
  Accessor writer, reader;
  uint32_t moreReaders = 0; ///< index of further work that has read; 0: none
};

class Races {
public:
  explicit Races(size_t reach);
  Races(const Races &) = delete;
  ~Races();

  /// Notes an access at an offset of device memory by what runs now. False
  /// where it meets another one, of which `met` says who made it.
  bool note(size_t offset, size_t bytes, bool writes, bool atomic,
            Accessor &met);
  /// One access to one cell.
  bool note(Cell &cell, bool writes, bool atomic, Accessor &met);
  /// What was here is over: freed memory, or another tensor's.
  void forget(size_t offset, size_t bytes);

private:
  static constexpr size_t pageBytes = 4096;
  struct Page {
    std::unique_ptr<Cell[]> cells;
    size_t bytesOfCell = pageBytes;
  };
  /// The page at an offset, with cells that an access of `bytes` bytes there
  /// covers wholly.
  Page &pageFor(size_t offset, size_t bytes);
  void split(Page &page, size_t bytesOfCell);
  bool noteReader(Cell &cell, const Accessor &by);

  Page **pages; ///< by offset / pageBytes; null: untouched
  size_t pageCount;
  std::vector<size_t> touched;
  std::vector<std::vector<Accessor>> more{1};
};

} // namespace lwcc::emulation

#endif // LWCC_TEST_CUDAEMULATION_RACES_H
