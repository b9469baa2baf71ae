//===- ControlFlow.h - Branches and loops in ONNX graphs --------*- C++ -*-===//
//
// A program of lwcc has no control flow. What a file has of it goes before the
// import: an If whose condition is known while compiling becomes the nodes of
// its branch, a Loop whose number of turns is known becomes as many copies of
// its body, a SequenceMap one for each element. The model itself is rewritten,
// so that the exported file agrees.
//
// GraphImporter finds out what is known, with shapes; this decides what a node
// becomes then, and says which Loops cannot be unrolled.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_FRONTEND_CONTROLFLOW_H
#define LWCC_FRONTEND_CONTROLFLOW_H

#include "frontend/NodeView.h"
#include "frontend/OnnxReader.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace lwcc {

/// Whether a graph has nodes that hold others.
bool hasControlFlow(const onnx::GraphProto &graph);

/// Calls `read` with each name that a node reads, also inside of the graphs
/// that it holds. Some of these are names of values in there.
void forEachRead(const onnx::NodeProto &node,
                 llvm::function_ref<void(const std::string &)> read);

/// What is known of an If or a Loop: which branch (0: else, 1: then), or how
/// many turns; of a SequenceMap: how many elements.
using Decisions = llvm::DenseMap<const onnx::NodeProto *, int64_t>;

/// How often a Loop turns that runs `most` times (none: without a bound), and
/// as long as its condition, `first` at the beginning, holds. None if it cannot
/// be said; `why` has the reason then.
std::optional<int64_t> turnsOf(const NodeView &loop,
                               std::optional<int64_t> most, bool first,
                               std::string &why);

/// Replaces the nodes by what was decided. Reports loops of too many turns.
mlir::LogicalResult expandControlFlow(OnnxFile &file,
                                      const Decisions &decisions,
                                      Reporter &reporter);

} // namespace lwcc

#endif // LWCC_FRONTEND_CONTROLFLOW_H
