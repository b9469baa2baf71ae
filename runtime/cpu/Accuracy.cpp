//===- Accuracy.cpp - Top-1 and top-5 counts, ranks of labels ---*- C++ -*-===//
//
// Counts top-1 and top-5. Threads add counts in any order: they are integers,
// so that the sum is the same.
//
//===----------------------------------------------------------------------===//
#include "runtime/core/LabelBody.h"
#include "runtime/cpu/Lane.h"
#include "runtime/cpu/Rows.h"

#include <atomic>

namespace lwcc::rt {

void accuracy(Lane &lane, Tensor counts, Tensor logits, Tensor labels) {
  CpuLane &on = cpuLane(lane);
  AxisRows<2> rows({logits, labels}, 1);
  on.append("accuracy", {counts}, [=, threads = on.threads] {
    std::atomic<int32_t> top1 = 0, top5 = 0;
    rows.forEach(threads, [&](int64_t, const int64_t (&at)[2]) {
      int32_t label = labels.as<int32_t>()[at[1]];
      if (label < 0 || label >= rows.length)
        return;
      const float *x = logits.as<float>() + at[0];
      float own = x[label * rows.step[0]];
      int64_t before = 0;
      for (int64_t c = 0; c < rows.length; ++c)
        before += ranksBefore(x[c * rows.step[0]], c, own, label);
      top1 += before < 1;
      top5 += before < 5;
    });
    counts.as<float>()[0] = static_cast<float>(top1);
    counts.as<float>()[1] = static_cast<float>(top5);
  });
}

void label_rank(Lane &lane, Tensor rank, Tensor logits, Tensor own,
                Tensor labels, const LabelRankParams &params) {
  CpuLane &on = cpuLane(lane);
  AxisRows<4> rows({logits, labels, own, rank}, 1);
  int64_t first = params.first_class;
  on.append("label_rank", {rank}, [=, threads = on.threads] {
    rows.forEach(threads, [&](int64_t, const int64_t (&at)[4]) {
      int32_t label = labels.as<int32_t>()[at[1]];
      const float *x = logits.as<float>() + at[0];
      float mine = own.as<float>()[at[2]];
      int64_t before = 0;
      for (int64_t c = 0; c < rows.length; ++c)
        before += ranksBefore(x[c * rows.step[0]], first + c, mine, label);
      rank.as<float>()[at[3]] = label < 0
                                    ? std::numeric_limits<float>::infinity()
                                    : static_cast<float>(before);
    });
  });
}

} // namespace lwcc::rt
