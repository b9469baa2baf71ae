//===- Accesses.h - Who touches which bytes, and when -----------*- C++ -*-===//
//
// The calls of one sequence against a shadow of every arena (shadow memory, as
// in dynamic race detectors such as FastTrack, Flanagan and Freund 2009). The
// shadow is an interval map: for each byte the root buffer it belongs to, the
// last write, and the last read on every lane since (rules E6, E7 and E8 of
// ir/exec/README.md).
//
// An access is compared with these alone, and that suffices. Happens-before is
// transitive: if the access is ordered behind the last write, and that write
// behind all accesses before it, the access is ordered behind all. If an
// earlier link is missing, it was reported there. The cost is linear in the
// accesses times the intervals that each touches.
//
// Not decided here: what is ordered behind what (ir/exec/HappensBefore.h), and
// whether the buffers may lie where they do (Layout.h).
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_PASSES_VERIFY_ACCESSES_H
#define LWCC_PASSES_VERIFY_ACCESSES_H

#include "ir/exec/HappensBefore.h"
#include "passes/verify/Layout.h"

#include <map>

namespace lwcc::proof {

/// A past access, in the shadow. (The op of the dialect is EventOp.)
struct Event {
  Stamp stamp;       ///< index 0: the value at the start of the run
  exec::CallOp call; ///< null at the start of the run
};

/// What the shadow knows about an interval of an arena.
struct Known {
  int64_t end = 0;
  exec::BufferOp owner; ///< root buffer through which it was last written
  Event write;
  llvm::SmallVector<Event, 2> reads; ///< the last per lane since that write
};

/// The intervals of an arena that hold something, by first byte.
class Shadow {
public:
  using Map = std::map<int64_t, Known>;

  /// Splits the interval that contains `at`, so that one begins there.
  void splitAt(int64_t at) {
    auto after = pieces.upper_bound(at);
    if (after == pieces.begin())
      return;
    auto piece = std::prev(after);
    if (piece->first == at || piece->second.end <= at)
      return;
    Known tail = piece->second;
    piece->second.end = at;
    pieces.emplace_hint(after, at, std::move(tail));
  }

  /// The intervals inside [begin, end); those at its ends are split first.
  llvm::iterator_range<Map::iterator> inside(int64_t begin, int64_t end) {
    splitAt(begin);
    splitAt(end);
    return {pieces.lower_bound(begin), pieces.lower_bound(end)};
  }

  /// The first byte of [begin, end) that holds nothing, or `end`.
  int64_t firstHole(int64_t begin, int64_t end) {
    int64_t at = begin;
    for (auto &[start, piece] : inside(begin, end)) {
      if (start > at)
        break;
      at = piece.end;
    }
    return at;
  }

  void write(const Extent &to, const Event &event) {
    auto range = inside(to.begin, to.end);
    pieces.erase(range.begin(), range.end());
    if (to.begin < to.end)
      pieces[to.begin] = {to.end, to.root, event, {}};
  }

private:
  Map pieces;
};

class Accesses {
public:
  /// At the start of a run the persistent buffers hold values.
  Accesses(exec::ProgramOp program, const Layout &layout);

  /// Reports what is wrong with a call's reads and writes, and takes note of
  /// them. The call is the last that was appended to its lane, at `stamp`.
  mlir::LogicalResult add(exec::CallOp call, Stamp stamp,
                          const HappensBefore &order);

  /// How many bytes of a buffer the calls have written.
  int64_t written(exec::BufferOp buffer);

private:
  void checkSharing(exec::CallOp call);
  void checkRead(exec::CallOp call, const Extent &from, int lane,
                 const HappensBefore &order, Shadow &shadow);
  void checkWrite(exec::CallOp call, const Extent &to, int lane,
                  const HappensBefore &order, Shadow &shadow);

  mlir::InFlightDiagnostic error(mlir::Operation *op) {
    ok = false;
    return op->emitOpError();
  }
  /// The tensors of a list that are not absent.
  llvm::SmallVector<const Extent *> present(mlir::ArrayAttr tensors) {
    llvm::SmallVector<const Extent *> result;
    for (mlir::Attribute a : tensors)
      if (auto name = mlir::dyn_cast<mlir::FlatSymbolRefAttr>(a))
        result.push_back(&layout.of(name.getAttr()));
    return result;
  }
  const Extent *at(mlir::ArrayAttr tensors, size_t index) {
    auto name = mlir::dyn_cast<mlir::FlatSymbolRefAttr>(tensors[index]);
    return name ? &layout.of(name.getAttr()) : nullptr;
  }

  const Layout &layout;
  std::vector<Shadow> now; ///< by device
  bool ok = true;          ///< of the call at hand
};

} // namespace lwcc::proof

#endif // LWCC_PASSES_VERIFY_ACCESSES_H
