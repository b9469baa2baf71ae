//===- SampleGroups.h - Samples that are normalized together ----*- C++ -*-===//
//
// Which of a tensor's samples (its first dimension) belong to which group, when
// so many consecutive samples are a group. The tensor may be a part of the
// batch, which begins and ends within groups: then the first and the last group
// have fewer samples here.
//
// Groups of equal size stand in runs, so that a backend can treat a run at
// once: there are three at most.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_RUNTIME_CORE_SAMPLEGROUPS_H
#define LWCC_RUNTIME_CORE_SAMPLEGROUPS_H

#include "runtime/core/LoopNest.h"

#include <algorithm>
#include <cassert>
#include <vector>

namespace lwcc::rt {

/// Neighbouring groups with equally many samples each.
struct GroupRun {
  int64_t first, count;   ///< groups
  int64_t begin, samples; ///< the first group's first sample; samples per group
};

/// The groups of `samples` samples, in order; of the first, `skip` samples lie
/// before the tensor, skip < group. With a group of 0 all samples are one.
inline std::vector<GroupRun> groupRuns(int64_t samples, int64_t group,
                                       int64_t skip) {
  if (group == 0)
    return {{0, 1, 0, samples}};
  assert(skip >= 0 && skip < group && "skip is less than a group");
  std::vector<GroupRun> runs;
  int64_t first = 0, begin = 0;
  auto add = [&](int64_t count, int64_t size) {
    if (count == 0 || size == 0)
      return;
    runs.push_back({first, count, begin, size});
    first += count;
    begin += count * size;
  };
  if (skip > 0)
    add(1, std::min(group - skip, samples));
  add((samples - begin) / group, group);
  add(1, samples - begin);
  return runs;
}

/// Loops that copy the rows of x, one for each group of a run, to the samples
/// of the groups in y; from y's sample `begin` and x's row `first` on.
inline LoopNest<2> repeatNest(const Tensor &y, const Tensor &x,
                              const GroupRun &run) {
  LoopNest<2> nest;
  auto loop = [&](int64_t extent, int64_t to, int64_t from) {
    nest.extent[nest.rank] = extent;
    nest.stride[0][nest.rank] = to;
    nest.stride[1][nest.rank++] = from;
  };
  loop(run.count, run.samples * y.stride[0], x.stride[0]);
  loop(run.samples, y.stride[0], 0);
  for (int d = 1; d < y.rank; ++d)
    loop(y.dim[d], y.stride[d], x.stride[d]);
  collapse(nest);
  return nest;
}

} // namespace lwcc::rt

#endif // LWCC_RUNTIME_CORE_SAMPLEGROUPS_H
