//===- SeriesParallel.cpp - Series and branches of a graph ----------------===//

#include "passes/plan/solve/SeriesParallel.h"

#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/EquivalenceClasses.h"
#include "llvm/ADT/STLExtras.h"

#include <map>
#include <numeric>

using namespace lwcc;
using namespace lwcc::plan;

namespace {
class Parts {
public:
  Parts(int blocks, const std::vector<std::pair<int, int>> &edges)
      : edges(edges), reaches(blocks, llvm::BitVector(blocks)) {
    std::vector<std::vector<int>> after(blocks);
    for (auto [from, to] : edges)
      after[from].push_back(to);
    for (int from = blocks; from-- > 0;) {
      reaches[from].set(from);
      for (int to : after[from])
        reaches[from] |= reaches[to];
    }
  }

  /// Appends blocks, in pieces that no edge joins.
  void append(const std::vector<int> &blocks, Series &series) const {
    std::vector<std::vector<int>> pieces = piecesOf(blocks);
    if (pieces.size() == 1)
      return appendPiece(pieces[0], series);
    Series::Member member{blocks, {}};
    for (const std::vector<int> &piece : pieces)
      appendPiece(piece, member.branches.emplace_back());
    series.members.push_back(std::move(member));
  }

private:
  const std::vector<std::pair<int, int>> &edges;
  std::vector<llvm::BitVector> reaches; ///< a block, from another one

  std::vector<std::vector<int>> piecesOf(const std::vector<int> &blocks) const {
    llvm::EquivalenceClasses<int> joined;
    for (int block : blocks)
      joined.insert(block);
    for (auto [from, to] : edges)
      if (llvm::is_contained(blocks, from) && llvm::is_contained(blocks, to))
        joined.unionSets(from, to);
    std::map<int, size_t> numbers; // of leaders
    std::vector<std::vector<int>> pieces;
    for (int block : blocks) {
      auto [known, isNew] =
          numbers.try_emplace(joined.getLeaderValue(block), pieces.size());
      if (isNew)
        pieces.emplace_back();
      pieces[known->second].push_back(block);
    }
    return pieces;
  }

  /// Appends one piece. A block that stands before or behind every other one is
  /// a member; between such blocks there may be branches.
  void appendPiece(const std::vector<int> &blocks, Series &series) const {
    std::vector<int> between;
    auto flush = [&] {
      if (between.size() == blocks.size()) // not series-parallel
        for (int block : between)
          series.members.push_back({{block}, {}});
      else if (!between.empty())
        append(between, series);
      between.clear();
    };
    for (int block : blocks) {
      bool parts = llvm::all_of(blocks, [&](int other) {
        return reaches[std::min(block, other)][std::max(block, other)];
      });
      if (!parts) {
        between.push_back(block);
        continue;
      }
      flush();
      series.members.push_back({{block}, {}});
    }
    flush();
  }
};
} // namespace

Series lwcc::plan::seriesOf(int blocks,
                            const std::vector<std::pair<int, int>> &edges) {
  std::vector<int> all(blocks);
  std::iota(all.begin(), all.end(), 0);
  Series series;
  Parts(blocks, edges).append(all, series);
  return series;
}
