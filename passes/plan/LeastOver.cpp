//===- LeastOver.cpp - The least over one variable ------------------------===//

#include "passes/plan/LeastOver.h"
#include "passes/plan/Factors.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>
#include <array>
#include <limits>

using namespace lwcc::plan;

namespace {
/// So many sums are formed side by side; unrolled, they stay in registers.
constexpr size_t lanes = 8;
using Lanes = std::array<double, lanes>;

/// A factor of the variable that is eliminated, laid out for that: [outer...]
/// [block][value], in a block the costs for `lanes` values of the neighbour
/// `inner`. Of a factor without it, one block with the same cost in all lanes.
struct Term {
  llvm::SmallVector<size_t, 4> strides; ///< of the outer ones, 0: not in it
  size_t blockStride;
  std::vector<Lanes> costs;

  Term(const Factor &factor, int variable, llvm::ArrayRef<int> outer, int inner,
       const std::vector<int> &values)
      : strides(outer.size(), 0) {
    bool hasInner = llvm::is_contained(factor.variables, inner);
    size_t count = values[variable], size = count;
    blockStride = hasInner ? count : 0;
    if (hasInner)
      size *= llvm::divideCeil(values[inner], lanes);
    for (size_t d = outer.size(); d-- > 0;)
      if (llvm::is_contained(factor.variables, outer[d])) {
        strides[d] = size;
        size *= values[outer[d]];
      }
    costs.resize(size);
    std::vector<int> at(values.size(), 0);
    for (double cost : factor.costs) {
      size_t to = start(outer, at) + at[variable];
      if (hasInner)
        costs[to + at[inner] / lanes * count][at[inner] % lanes] = cost;
      else
        costs[to].fill(cost);
      advance(at, factor.variables, values);
    }
  }
  /// Where the blocks of these values of the outer variables begin.
  size_t start(llvm::ArrayRef<int> outer, const std::vector<int> &at) const {
    size_t sum = 0;
    for (size_t d = 0; d < outer.size(); ++d)
      sum += strides[d] * at[outer[d]];
    return sum;
  }
};
} // namespace

/// The least over `count` values of the sum of the terms' costs, per lane.
static Lanes leastSums(llvm::ArrayRef<const Lanes *> terms, size_t count) {
  Lanes least;
  least.fill(std::numeric_limits<double>::infinity());
  for (size_t x = 0; x < count; ++x) {
    Lanes sum = {};
    for (const Lanes *costs : terms)
#pragma GCC unroll 8
      for (size_t i = 0; i < lanes; ++i)
        sum[i] += costs[x][i];
#pragma GCC unroll 8
    for (size_t i = 0; i < lanes; ++i)
      least[i] = sum[i] < least[i] ? sum[i] : least[i];
  }
  return least;
}

Factor lwcc::plan::leastOver(int variable, const std::vector<int> &neighbours,
                             llvm::ArrayRef<Factor> own,
                             const std::vector<int> &values) {
  int inner = neighbours.back();
  llvm::ArrayRef<int> outer = llvm::ArrayRef(neighbours).drop_back();
  std::vector<Term> terms;
  for (const Factor &factor : own)
    terms.emplace_back(factor, variable, outer, inner, values);
  size_t results = 1, rows = values[inner];
  for (int v : neighbours)
    results *= values[v];
  Factor made{neighbours, std::vector<double>(results)};
  std::vector<int> at(values.size(), 0);
  std::vector<const Lanes *> costs(terms.size());
  for (size_t row = 0; row < results; row += rows) {
    for (size_t block = 0; block < rows; block += lanes) {
      for (size_t t = 0; t < terms.size(); ++t)
        costs[t] = &terms[t].costs[terms[t].start(outer, at) +
                                   block / lanes * terms[t].blockStride];
      Lanes least = leastSums(costs, values[variable]);
      std::copy_n(least.begin(), std::min(lanes, rows - block),
                  made.costs.begin() + row + block);
    }
    advance(at, outer, values);
  }
  return made;
}
