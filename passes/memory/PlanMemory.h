//===- PlanMemory.h - Memory of an exec program -----------------*- C++ -*-===//
//
// Sets the offset of every buffer and the size of every arena. Also reports
// what fills the memory of a device, for --explain, -v and the error of
// --memory.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_PASSES_MEMORY_PLANMEMORY_H
#define LWCC_PASSES_MEMORY_PLANMEMORY_H

#include "ir/exec/Exec.h"

#include <string>
#include <vector>

namespace lwcc {

/// Plans all devices of a program. Fails, with diagnostics, only for programs
/// that break the rules of ir/exec/README.md.
mlir::LogicalResult planMemory(exec::ProgramOp program);

/// Where a planned program's memory goes.
struct MemoryReport {
  struct Alive {
    std::string buffer;
    int64_t bytes = 0; ///< rounded up to the alignment
  };
  struct Device {
    std::string name;
    int64_t persistent = 0; ///< parameters, state, input, ...
    /// The most that may be alive at the same time: no arena can be smaller.
    /// Sizes are rounded up to the alignment.
    int64_t maxLive = 0;
    int64_t arena = 0;
    /// The moment: a call of a sequence.
    std::string sequence, callee, layer, phase;
    std::vector<Alive> alive; ///< at that moment, largest first

    double ratio() const { return maxLive ? double(arena) / maxLive : 1.0; }
  };
  std::vector<Device> devices;
};

MemoryReport reportMemory(exec::ProgramOp program);

} // namespace lwcc

#endif // LWCC_PASSES_MEMORY_PLANMEMORY_H
