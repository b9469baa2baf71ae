//===- PlanMemory.h - Memory of an exec program -----------------*- C++ -*-===//
//
// Decides the offset of every buffer and the size of every arena of an exec
// program, and reports what fills a device's memory (for --explain, -v, and the
// error of --memory).
//
// Does not decide which values share a buffer (StorageMap in passes/schedule);
// ScheduleVerifier.cpp checks the result.
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

/// What fills the memory of each device, for people.
struct MemoryReport {
  /// A buffer of the largest set that must be in memory together.
  struct Alive {
    std::string buffer;
    int64_t bytes = 0; ///< rounded up to the alignment
  };
  struct Device {
    std::string name;
    int64_t persistent = 0; ///< bytes of buffers that outlive a run
    /// The largest set of buffers found that must be in memory together,
    /// persistent ones included: no arena can be smaller. Sizes are rounded up
    /// to the alignment.
    int64_t maxLive = 0;
    int64_t arena = 0;
    /// The call at which that set is alive.
    std::string sequence, callee, layer, phase;
    std::vector<Alive> alive; ///< at that moment, largest first

    double ratio() const { return maxLive ? double(arena) / maxLive : 1.0; }
  };
  std::vector<Device> devices;
};

/// The memory report of a program whose memory is planned.
MemoryReport reportMemory(exec::ProgramOp program);

} // namespace lwcc

#endif // LWCC_PASSES_MEMORY_PLANMEMORY_H
