//===- Program.h - A program as prices see it -------------------*- C++ -*-===//
//
// One sequence of an exec program, without MLIR: what its lanes do in order,
// and how much work each call is. ReadProgram.h makes it from the IR;
// price/ProgramTime.h says how long it takes.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_PASSES_PLAN_MODEL_PROGRAM_H
#define LWCC_PASSES_PLAN_MODEL_PROGRAM_H

#include "passes/plan/model/LayerGraph.h"

#include "llvm/ADT/SmallVector.h"

#include <string>
#include <vector>

namespace lwcc::plan {

/// What a call reads on another device.
struct RemoteRead {
  Place device;
  double bytes = 0;
};

/// What the time of a call depends on.
struct PricedCall {
  Work work;    ///< with its key
  Place device; ///< that it runs on
  llvm::SmallVector<RemoteRead, 0> remote;
};

struct Program {
  struct Lane {
    std::string name, device;
    bool copies = false; ///< it exchanges with other devices
    int64_t threads = 1; ///< of those of all compute lanes of the device
  };
  struct Call {
    std::string callee, layer, phase;
    PricedCall priced;
  };
  /// What is appended to a lane: a call, or an event that is recorded or waited
  /// for.
  struct Item {
    enum Kind { call, record, wait } kind;
    int lane;
    int number; ///< of the call, or of the event
  };
  std::string name, hash, plan; ///< for people
  std::vector<Lane> lanes;
  std::vector<Call> calls;
  std::vector<Item> items; ///< in the order of appending
  int events = 0;
};

} // namespace lwcc::plan

#endif // LWCC_PASSES_PLAN_MODEL_PROGRAM_H
