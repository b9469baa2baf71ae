//===- LeastOver.cpp - The least over one variable ------------------------===//

#include "passes/plan/minsum/LeastOver.h"
#include "passes/plan/minsum/Factors.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>

using namespace lwcc;
using namespace lwcc::plan;

namespace {
/// How many sums are formed side by side: as many as fit into a register, in
/// several registers, so that no addition waits for the one before.
constexpr size_t width = 8, registers = 4, lanes = width * registers;
using Lanes [[gnu::vector_size(width * sizeof(double)),
              gnu::aligned(alignof(double))]] = double;

/// A factor of the variable that is eliminated, in the layout
/// [outer...][value]. A factor that has the neighbour `inner`, too, is
/// [outer...][block][value][lane], with a block for every `lanes` values of it.
struct Term {
  llvm::SmallVector<size_t, 4> strides; ///< of the outer ones, 0: not in it
  bool hasInner;
  std::vector<double> costs;

  Term(const Factor &factor, int variable, llvm::ArrayRef<int> outer, int inner,
       const std::vector<int> &values)
      : strides(outer.size(), 0),
        hasInner(llvm::is_contained(factor.variables, inner)) {
    size_t count = values[variable], size = count;
    if (hasInner)
      size *= lanes * llvm::divideCeil(values[inner], lanes);
    for (size_t d = outer.size(); d-- > 0;)
      if (llvm::is_contained(factor.variables, outer[d])) {
        strides[d] = size;
        size *= values[outer[d]];
      }
    costs.resize(size);
    std::vector<int> at(values.size(), 0);
    for (double cost : factor.costs) {
      size_t value = at[variable];
      if (hasInner)
        value = (at[inner] / lanes * count + value) * lanes + at[inner] % lanes;
      costs[start(outer, at) + value] = cost;
      advance(at, factor.variables, values);
    }
  }
  /// Where the costs for these values of the outer variables begin.
  size_t start(llvm::ArrayRef<int> outer, const std::vector<int> &at) const {
    size_t sum = 0;
    for (size_t d = 0; d < outer.size(); ++d)
      sum += strides[d] * at[outer[d]];
    return sum;
  }
};
} // namespace

/// For every lane of each block, the least over `count` values of what `base`
/// and the terms add. Compiled for several processors, among which the program
/// chooses when it starts: their sums are the same. Not with the thread
/// sanitizer, whose run time is not up yet then.
#ifndef __SANITIZE_THREAD__
[[gnu::target_clones("avx512f", "avx2", "default")]]
#endif
static void leastSums(const double *base, llvm::ArrayRef<const double *> terms,
                      size_t count, size_t blocks, double *result) {
  for (size_t block = 0; block < blocks; ++block) {
    Lanes least[registers];
    for (Lanes &each : least)
      each = Lanes{} + infinity;
    for (size_t x = 0; x < count; ++x) {
      size_t at = (block * count + x) * lanes;
#pragma GCC unroll 4
      for (size_t r = 0; r < registers; ++r) {
        Lanes sum = Lanes{} + base[x];
        for (const double *term : terms)
          sum += *reinterpret_cast<const Lanes *>(term + at + r * width);
        least[r] = sum < least[r] ? sum : least[r];
      }
    }
    for (size_t r = 0; r < registers; ++r)
      *reinterpret_cast<Lanes *>(result + block * lanes + r * width) = least[r];
  }
}

Factor lwcc::plan::leastOver(int variable, const std::vector<int> &neighbours,
                             llvm::ArrayRef<Factor> own,
                             const std::vector<int> &values) {
  int inner = neighbours.back();
  llvm::ArrayRef<int> outer = llvm::ArrayRef(neighbours).drop_back();
  std::vector<Term> terms;
  for (const Factor &factor : own)
    terms.emplace_back(factor, variable, outer, inner, values);
  size_t results = 1, rows = values[inner], count = values[variable];
  for (int v : neighbours)
    results *= values[v];
  Factor made{neighbours, std::vector<double>(results)};
  std::vector<int> at(values.size(), 0);
  size_t blocks = llvm::divideCeil(rows, lanes);
  std::vector<double> base(count), least(blocks * lanes);
  llvm::SmallVector<const double *> inRow;
  for (size_t row = 0; row < results; row += rows) {
    std::fill(base.begin(), base.end(), 0.0);
    inRow.clear();
    for (const Term &term : terms) {
      const double *costs = &term.costs[term.start(outer, at)];
      if (term.hasInner)
        inRow.push_back(costs);
      else
        for (size_t x = 0; x < count; ++x)
          base[x] += costs[x];
    }
    leastSums(base.data(), inRow, count, blocks, least.data());
    std::copy_n(least.begin(), rows, made.costs.begin() + row);
    advance(at, outer, values);
  }
  return made;
}
