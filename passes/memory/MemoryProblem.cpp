//===- MemoryProblem.cpp - Offsets in an arena ----------------------------===//
//
// Buffers are placed greedily in some order (best fit), and the search is over
// orders. The lifetimes of a training step are nested: what the forward pass
// makes early, the backward pass frees late. That is why the order by size is
// within a few per cent of the lower bound before any search.
//
//===----------------------------------------------------------------------===//

#include "passes/memory/MemoryProblem.h"
#include "passes/memory/Placer.h"

#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

#include <limits>
#include <numeric>

using namespace lwcc;
using namespace lwcc::memory;

//===----------------------------------------------------------------------===//
// Problem
//===----------------------------------------------------------------------===//

void Lifetime::add(Stamp work, const Clock &clock, int position) {
  if (last.empty()) {
    before = clock;
    first = position;
  }
  end = position + 1;
  auto known = llvm::find_if(
      last, [&](const Stamp &stamp) { return stamp.lane == work.lane; });
  if (known != last.end()) {
    // What was finished before the lane's first access is finished before this.
    known->index = std::max(known->index, work.index);
    return;
  }
  last.push_back(work);
  for (auto [mine, now] : llvm::zip_equal(before, clock))
    mine = std::min(mine, now);
}

bool Lifetime::precedes(const Lifetime &other) const {
  if (last.empty() || other.last.empty())
    return true;
  for (const Stamp &stamp : last)
    if (stamp.index > other.before[stamp.lane])
      return false;
  return true;
}

int64_t MemoryProblem::cost(int buffer) const {
  return static_cast<int64_t>(llvm::alignTo(buffers[buffer].bytes, alignment));
}

bool MemoryProblem::conflict(int a, int b) const {
  const Lifetime &x = buffers[a].lifetime, &y = buffers[b].lifetime;
  // The order of appending is one legal interleaving. So buffers that are alive
  // together in it conflict, and others can only be ordered as they are in it.
  if (x.end <= y.first)
    return !x.precedes(y);
  if (y.end <= x.first)
    return !y.precedes(x);
  return !x.last.empty() && !y.last.empty();
}

/// The bytes that are alive at each position of the order of appending, as
/// pairs (bytes, position), largest first.
static std::vector<std::pair<int64_t, int>>
liveBytes(const MemoryProblem &problem) {
  // +cost where a buffer is born, -cost where it dies; deaths first.
  std::vector<std::pair<int, int64_t>> changes;
  for (int b = 0, e = problem.buffers.size(); b < e; ++b) {
    const Lifetime &life = problem.buffers[b].lifetime;
    if (life.first == life.end)
      continue;
    changes.push_back({life.first, problem.cost(b)});
    changes.push_back({life.end, -problem.cost(b)});
  }
  llvm::sort(changes);
  std::vector<std::pair<int64_t, int>> live;
  int64_t bytes = 0;
  for (auto [i, change] : llvm::enumerate(changes)) {
    bytes += change.second;
    if (i + 1 == changes.size() || changes[i + 1].first != change.first)
      live.push_back({bytes, change.first});
  }
  llvm::stable_sort(
      live, [](const auto &x, const auto &y) { return x.first > y.first; });
  return live;
}

/// Row b: the buffers that conflict with b.
using Conflicts = std::vector<llvm::BitVector>;

static Conflicts conflictsOf(const MemoryProblem &problem) {
  int n = problem.buffers.size();
  Conflicts conflicts(n, llvm::BitVector(n));
  std::vector<std::pair<int, int>> spans; // a dense copy, for the cache
  for (const Buffer &buffer : problem.buffers)
    spans.push_back({buffer.lifetime.first, buffer.lifetime.end});
  // Rows in blocks, so that they stay in the cache.
  constexpr int block = 64;
  for (int from = 0; from < n; from += block)
    for (int b = from + 1; b < n; ++b)
      for (int a = from, e = std::min(from + block, b); a < e; ++a)
        if ((spans[a].first < spans[b].second &&
             spans[b].first < spans[a].second) ||
            problem.conflict(a, b)) {
          conflicts[a].set(b);
          conflicts[b].set(a);
        }
  return conflicts;
}

static Peak maxLive(const MemoryProblem &problem, const Conflicts &conflicts) {
  int n = problem.buffers.size();
  std::vector<int> bySize(n);
  std::iota(bySize.begin(), bySize.end(), 0);
  llvm::stable_sort(
      bySize, [&](int a, int b) { return problem.cost(a) > problem.cost(b); });
  Peak peak;
  /// Grows a clique greedily by size. Buffers for which `wanted` holds are
  /// tried first.
  auto grow = [&](int position, auto wanted) {
    Peak found{0, position, {}};
    llvm::BitVector candidates(n, true); // conflict with all that was found
    for (bool first : {true, false})
      for (int b : bySize) {
        const Lifetime &life = problem.buffers[b].lifetime;
        if (first != wanted(b) || life.first == life.end || !candidates.test(b))
          continue;
        candidates &= conflicts[b];
        found.buffers.push_back(b);
        found.bytes += problem.cost(b);
      }
    if (found.bytes > peak.bytes)
      peak = std::move(found);
  };
  // Seeds: all buffers alive at one of the moments with the most bytes.
  constexpr int moments = 8, seeds = 32;
  std::vector<std::pair<int64_t, int>> live = liveBytes(problem);
  for (auto [bytes, position] : llvm::ArrayRef(live).take_front(moments))
    grow(position, [&, position = position](int b) {
      const Lifetime &life = problem.buffers[b].lifetime;
      return life.first <= position && position < life.end;
    });
  // With several lanes the maximum may be at no moment of this order: the large
  // buffers are seeds, too.
  for (int seed : llvm::ArrayRef(bySize).take_front(seeds))
    grow(problem.buffers[seed].lifetime.first,
         [&](int b) { return b == seed; });
  return peak;
}

Peak memory::maxLive(const MemoryProblem &problem) {
  return ::maxLive(problem, conflictsOf(problem));
}

//===----------------------------------------------------------------------===//
// Solve
//===----------------------------------------------------------------------===//

/// First candidates: by size, by size times length of life, by birth.
static std::vector<std::vector<int>> initialOrders(const MemoryProblem &p) {
  std::vector<int> birth(p.buffers.size());
  std::iota(birth.begin(), birth.end(), 0);
  auto life = [&](int b) -> const Lifetime & { return p.buffers[b].lifetime; };
  llvm::stable_sort(
      birth, [&](int a, int b) { return life(a).first < life(b).first; });
  std::vector<int> size = birth, area = birth;
  llvm::stable_sort(size, [&](int a, int b) { return p.cost(a) > p.cost(b); });
  auto areaOf = [&](int b) {
    return static_cast<double>(p.cost(b)) * (life(b).end - life(b).first);
  };
  llvm::stable_sort(area, [&](int a, int b) { return areaOf(a) > areaOf(b); });
  return {size, area, birth};
}

MemorySolution memory::solve(const MemoryProblem &problem,
                             const std::vector<int64_t> &wishes, int64_t slack,
                             int64_t harmless) {
  int n = problem.buffers.size();
  if (n == 0)
    return {};
  // An arena within a thousandth of a lower bound is good enough.
  auto enough = [](int64_t bound) { return bound + bound / 1000; };
  if (!wishes.empty()) {
    std::vector<int> wishing = initialOrders(problem).front();
    llvm::stable_sort(wishing, [&](int a, int b) {
      return (wishes[a] >= 0) > (wishes[b] >= 0);
    });
    MemorySolution solution = Placer(problem, [&](int a, int b) {
                                return problem.conflict(a, b);
                              }).place(wishing, wishes);
    // The bytes alive at a moment are a bound that needs no cliques.
    const auto live = liveBytes(problem);
    solution.bound = live.empty() ? 0 : live.front().first;
    solution.isWished = true;
    if (solution.arena <=
        std::max(enough(enough(solution.bound)) + slack,
                 std::min(harmless, solution.bound + solution.bound / 30)))
      return solution;
  }
  const Conflicts conflicts = conflictsOf(problem);
  const int64_t bound = ::maxLive(problem, conflicts).bytes;
  const int64_t goodEnough = enough(bound);
  Placer placer(problem, [&](int a, int b) { return conflicts[a].test(b); });

  std::vector<int> order;
  MemorySolution best;
  best.arena = std::numeric_limits<int64_t>::max();
  for (std::vector<int> &candidate : initialOrders(problem)) {
    MemorySolution solution = placer.place(candidate);
    if (solution.arena < best.arena) {
      best = std::move(solution);
      order = std::move(candidate);
    }
    if (best.arena == bound)
      break;
  }

  // Local search: a buffer that reaches above the bound is placed earlier. The
  // budget counts comparisons, not seconds, so that every machine gets the same
  // result.
  const int64_t budget = 100'000'000;
  int rounds =
      static_cast<int>(std::min<int64_t>(400, budget / (int64_t(n) * n + 1)));
  uint32_t random = 1;
  auto next = [&](uint32_t below) {
    random ^= random << 13;
    random ^= random >> 17;
    random ^= random << 5;
    return random % below;
  };
  for (int round = 0; round < rounds && best.arena > goodEnough; ++round) {
    std::vector<int> top; // places in `order` of the buffers above the bound
    for (auto [at, b] : llvm::enumerate(order))
      if (best.offsets[b] + problem.cost(b) > bound)
        top.push_back(static_cast<int>(at));
    int from = top[next(top.size())];
    if (from == 0)
      continue;
    std::vector<int> candidate = order;
    int to = next(from);
    std::rotate(candidate.begin() + to, candidate.begin() + from,
                candidate.begin() + from + 1);
    MemorySolution solution = placer.place(candidate);
    if (solution.arena <= best.arena) {
      best = std::move(solution);
      order = std::move(candidate);
    }
  }
  best.bound = bound;
  return best;
}

//===----------------------------------------------------------------------===//
// Verify
//===----------------------------------------------------------------------===//

std::string memory::verify(const MemoryProblem &problem,
                           const MemorySolution &solution) {
  int n = problem.buffers.size();
  if (static_cast<int>(solution.offsets.size()) != n)
    return "has " + std::to_string(solution.offsets.size()) + " offsets for " +
           std::to_string(n) + " buffers";
  for (int b = 0; b < n; ++b) {
    int64_t offset = solution.offsets[b];
    const std::string &name = problem.buffers[b].name;
    if (offset < 0 || offset % problem.alignment)
      return name + " lies at " + std::to_string(offset) +
             ", which is not a multiple of the alignment";
    if (offset + problem.buffers[b].bytes > solution.arena)
      return name + " reaches beyond the arena";
  }
  // Only pairs that overlap in space are asked whether they conflict.
  std::vector<int> byOffset(n);
  std::iota(byOffset.begin(), byOffset.end(), 0);
  llvm::stable_sort(byOffset, [&](int a, int b) {
    return solution.offsets[a] < solution.offsets[b];
  });
  std::vector<int> open;
  for (int b : byOffset) {
    llvm::erase_if(open, [&](int a) {
      return solution.offsets[a] + problem.buffers[a].bytes <=
             solution.offsets[b];
    });
    for (int a : open)
      if (problem.conflict(a, b))
        return problem.buffers[a].name + " and " + problem.buffers[b].name +
               " overlap and may hold data at the same time";
    open.push_back(b);
  }
  return "";
}
