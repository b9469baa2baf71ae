//===- Loops.cpp - Steps rolled into loops --------------------------------===//
//
// Greedy: at each step takes the loop that begins there and saves most lines.
//
//===----------------------------------------------------------------------===//

#include "codegen/Loops.h"

using namespace lwcc;
using llvm::ArrayRef;

/// How often the first `period` steps come, each time with all micro-batches
/// advanced alike; 1 if they do not come back.
static int64_t timesOf(ArrayRef<Step> steps, size_t period) {
  if (steps.size() <= period)
    return 1;
  int64_t advance = steps[period].microBatch - steps[0].microBatch;
  size_t equal = period; // steps that are in the loop
  for (; advance > 0 && equal < steps.size(); ++equal) {
    const Step &now = steps[equal], &before = steps[equal - period];
    if (now.group != before.group || now.devices != before.devices ||
        now.microBatch != before.microBatch + advance)
      break;
  }
  return equal / period;
}

std::vector<Loop> lwcc::rollUp(ArrayRef<Step> steps) {
  // Longer bodies have not been met: eight stages of two chunks with three
  // tasks each, and as many micro-batches at once as stages, have 384.
  constexpr size_t longest = 512;
  std::vector<Loop> loops;
  while (!steps.empty()) {
    size_t period = 1;
    int64_t times = 1, saved = 0;
    for (size_t p = 1; p <= std::min(longest, steps.size() / 2); ++p) {
      // A loop has a line at its head and one at its end.
      int64_t found = timesOf(steps, p);
      int64_t saves = (found - 1) * int64_t(p) - 2;
      if (saves > saved)
        std::tie(period, times, saved) = std::tuple(p, found, saves);
    }
    Loop loop{steps.take_front(period).vec(), times, 0};
    if (times > 1)
      loop.advance = steps[period].microBatch - steps[0].microBatch;
    loops.push_back(std::move(loop));
    steps = steps.drop_front(period * times);
  }
  return loops;
}
