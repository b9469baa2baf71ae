//===- Shared.cpp - The memory of a block ---------------------------------===//

#include "Shared.h"
#include "World.h"

using namespace lwcc;
using namespace lwcc::emulation;

bool emulation::accessShared(const void *address, size_t bytes, bool writes,
                             bool atomic) {
  static std::vector<Cell> cells(
      static_cast<size_t>(&__stop_lwcc_shared - &__start_lwcc_shared));
  const auto offset = static_cast<size_t>(static_cast<const char *>(address) -
                                          &__start_lwcc_shared);
  for (size_t i = 0; i < bytes; ++i) {
    if (offset + i >= cells.size()) {
      fault(std::string(ops[now.op].name) + " runs over __shared__ memory");
      return false;
    }
    Cell &cell = cells[offset + i];
    auto isOfBlock = [](const Accessor &by) {
      return by.op == now.op && by.block == now.block;
    };
    if (!isOfBlock(cell.writer) && !isOfBlock(cell.reader))
      cell = {};
    if (!writes && !cell.writer.op) {
      fault(std::string(ops[now.op].name) +
            " reads __shared__ memory that this block has not written");
      return false;
    }
    Accessor met;
    if (!world().races.note(cell, writes, atomic, met)) {
      fault(std::string("race: ") + ops[now.op].name +
            ": two threads of a block touch the same __shared__ memory, one "
            "writes, no barrier between");
      return false;
    }
  }
  return true;
}
