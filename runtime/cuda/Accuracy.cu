//===- Accuracy.cu - Ranks of labels among logits -------------------------===//
//
// One block of threads for each vector of logits; the counts are made by one
// block in a fixed order. Not run on a GPU by the tests of the build machine;
// see tools/gpu-test.sh.
//
//===----------------------------------------------------------------------===//

#include "runtime/core/LabelBody.h"
#include "runtime/cuda/BlockReduce.cuh"
#include "runtime/cuda/Rows.cuh"

using namespace lwcc;
using namespace lwcc::rt;
using namespace lwcc::rt::cuda;

namespace {

/// hits[row] = 1 if the label is among the five largest, 3 if it is the
/// largest, else 0.
__global__ void __launch_bounds__(256)
    rankLabels(const Rows rows, int32_t *hits, const float *logits,
               const int32_t *labels) {
  for (int64_t row = blockIdx.x; row < rows.count; row += gridDim.x) {
    const int64_t begin = rows.begin(row);
    const int64_t label = labels[row];
    const bool valid = label >= 0 && label < rows.extent;
    int before = 0;
    if (valid) {
      const float own = logits[begin + label * rows.stride];
      for (int64_t c = threadIdx.x; c < rows.extent; c += blockDim.x)
        before += ranksBefore(logits[begin + c * rows.stride], c, own, label);
    }
    before = blockReduce(before, Add());
    if (threadIdx.x == 0)
      hits[row] = !valid || before >= 5 ? 0 : before == 0 ? 3 : 1;
  }
}

/// rank[row] = how many logits, of the classes from `first` on, rank before
/// own[row].
__global__ void __launch_bounds__(256)
    countBefore(const Rows rows, int64_t first, float *rank,
                const float *logits, const float *own, const int32_t *labels) {
  for (int64_t row = blockIdx.x; row < rows.count; row += gridDim.x) {
    const int64_t begin = rows.begin(row), label = labels[row];
    const float mine = own[row];
    int before = 0;
    for (int64_t c = threadIdx.x; c < rows.extent; c += blockDim.x)
      before +=
          ranksBefore(logits[begin + c * rows.stride], first + c, mine, label);
    before = blockReduce(before, Add());
    if (threadIdx.x == 0)
      rank[row] = label < 0 ? INFINITY : static_cast<float>(before);
  }
}

__global__ void __launch_bounds__(256)
    countHits(int64_t rows, float *counts, const int32_t *hits) {
  int first = 0, five = 0;
  for (int64_t row = threadIdx.x; row < rows; row += blockDim.x) {
    first += hits[row] / 2;
    five += hits[row] % 2;
  }
  first = blockReduce(first, Add());
  five = blockReduce(five, Add());
  if (threadIdx.x == 0) {
    counts[0] = static_cast<float>(first);
    counts[1] = static_cast<float>(five);
  }
}

} // namespace

void rt::accuracy(Lane &base, Tensor counts, Tensor logits, Tensor labels) {
  CudaLane &lane = cudaLane(base);
  Rows rows = rowsOf(logits, 1);
  lane.append(
      "accuracy", {counts},
      [=, &lane] {
        auto *hits = reinterpret_cast<int32_t *>(lane.workspace());
        lane.launch(rankLabels, blocksFor(rows), threadsFor(rows), rows, hits,
                    logits.as<const float>(), labels.as<const int32_t>());
        lane.launch(countHits, 1, 256, rows.count, counts.as<float>(), hits);
      },
      rows.count * static_cast<int64_t>(sizeof(int32_t)));
}

void rt::label_rank(Lane &base, Tensor rank, Tensor logits, Tensor own,
                    Tensor labels, const LabelRankParams &params) {
  assert(labels.rank != 4 && "labels are row-major");
  CudaLane &lane = cudaLane(base);
  Rows rows = rowsOf(logits, 1);
  lane.append("label_rank", {rank}, [=, &lane, first = params.first_class] {
    lane.launch(countBefore, blocksFor(rows), threadsFor(rows), rows, first,
                rank.as<float>(), logits.as<const float>(),
                own.as<const float>(), labels.as<const int32_t>());
  });
}
