//===- Placer.h - Offsets of buffers, one after the other -------*- C++ -*-===//
//
// Places buffers in a given order: the inner loop of the search for offsets
// (MemoryProblem.cpp, which decides the order). Buffers that may hold data at
// the same time do not overlap.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_PASSES_MEMORY_PLACER_H
#define LWCC_PASSES_MEMORY_PLACER_H

#include "passes/memory/MemoryProblem.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLExtras.h"

#include <limits>

namespace lwcc::memory {

/// Places buffers in a given order: the inner loop of the search. `Conflict`
/// says whether two buffers conflict.
template <typename Conflict>
class Placer {
public:
  Placer(const MemoryProblem &problem, Conflict conflict)
      : conflict(std::move(conflict)) {
    for (int b = 0, e = problem.buffers.size(); b < e; ++b)
      costs.push_back(problem.cost(b));
  }

  /// Gives each buffer its wish if that is free, else the smallest gap in which
  /// it fits between the placed buffers that it conflicts with.
  MemorySolution place(llvm::ArrayRef<int> order,
                       llvm::ArrayRef<int64_t> wishes = {}) {
    collectWishes(order, wishes);
    elsewhere.clear();
    MemorySolution solution;
    solution.offsets.assign(order.size(), 0);
    for (int b : order) {
      int64_t offset = wishes.empty() ? -1 : wishes[b];
      if (offset >= 0 && isFree(offset, b)) {
        isGranted[wishOf[b]] = true;
      } else {
        offset = bestFit(b);
        elsewhere.insert(
            llvm::upper_bound(elsewhere, offset,
                              [](int64_t begin, const Placed &other) {
                                return begin < other.begin;
                              }),
            {offset, offset + costs[b], b});
      }
      solution.offsets[b] = offset;
      solution.arena = std::max(solution.arena, offset + costs[b]);
    }
    return solution;
  }

private:
  /// The bytes of a buffer.
  struct Placed {
    int64_t begin, end;
    int buffer;
  };

  void collectWishes(llvm::ArrayRef<int> order,
                     llvm::ArrayRef<int64_t> wishes) {
    wished.clear();
    if (!wishes.empty())
      for (int b : order)
        if (wishes[b] >= 0)
          wished.push_back({wishes[b], wishes[b] + costs[b], b});
    llvm::stable_sort(wished, [](const Placed &x, const Placed &y) {
      return x.begin < y.begin;
    });
    isGranted.assign(wished.size(), false);
    reach.assign(wished.size(), 0);
    wishOf.assign(costs.size(), -1);
    int64_t furthest = 0;
    for (auto [i, wish] : llvm::enumerate(wished)) {
      wishOf[wish.buffer] = static_cast<int>(i);
      reach[i] = furthest = std::max(furthest, wish.end);
    }
  }

  /// Whether no placed buffer that conflicts with `b` overlaps it at `offset`.
  /// Few overlap, so that few are asked whether they conflict.
  bool isFree(int64_t offset, int b) const {
    const int64_t end = offset + costs[b];
    auto isInTheWay = [&](const Placed &other) {
      return other.begin < end && offset < other.end &&
             conflict(b, other.buffer);
    };
    size_t i = llvm::lower_bound(wished, end,
                                 [](const Placed &other, int64_t at) {
                                   return other.begin < at;
                                 }) -
               wished.begin();
    for (; i > 0 && reach[i - 1] > offset; --i)
      if (isGranted[i - 1] && isInTheWay(wished[i - 1]))
        return false;
    return llvm::none_of(elsewhere, isInTheWay);
  }

  int64_t bestFit(int b) const {
    int64_t best = -1, bestGap = std::numeric_limits<int64_t>::max();
    int64_t end = 0; // of the conflicting buffers passed so far
    auto pass = [&](const Placed &other) {
      if (!conflict(b, other.buffer))
        return;
      const int64_t gap = other.begin - end;
      if (gap >= costs[b] && gap < bestGap) {
        best = end;
        bestGap = gap;
      }
      end = std::max(end, other.end);
    };
    // Both lists, in the order of the first bytes.
    const Placed *next = elsewhere.data(), *last = next + elsewhere.size();
    for (auto [wish, granted] : llvm::zip_equal(wished, isGranted)) {
      if (!granted)
        continue;
      for (; next != last && next->begin <= wish.begin; ++next)
        pass(*next);
      pass(wish);
    }
    for (; next != last; ++next)
      pass(*next);
    return best >= 0 ? best : end;
  }

  Conflict conflict;
  std::vector<int64_t> costs;
  /// The wishes by their first bytes, and which were granted so far. `reach`:
  /// the last byte of a wish and of all before it.
  std::vector<Placed> wished;
  std::vector<char> isGranted;
  std::vector<int64_t> reach;
  std::vector<int> wishOf;       ///< of a buffer: its number in `wished`, or -1
  std::vector<Placed> elsewhere; ///< where no wish was granted, by first bytes
};
template <typename Conflict>
Placer(const MemoryProblem &, Conflict) -> Placer<Conflict>;

} // namespace lwcc::memory

#endif // LWCC_PASSES_MEMORY_PLACER_H
