//===- Embedding.cu - Rows of a table by their numbers --------------------===//
//
// The gradient has a block of threads for each row of a table and some of its
// columns, which looks through all of the table's numbers for its row: without
// atomic sums, so that every run gives the same bits. Not run on a GPU by the
// tests of the build machine; see tools/gpu-test.sh.
//
//===----------------------------------------------------------------------===//

#include "runtime/core/EmbeddingBody.h"
#include "runtime/cuda/BlockReduce.cuh"
#include "runtime/cuda/CudaMachine.h"

#include <algorithm>

using namespace lwcc;
using namespace lwcc::rt;
using namespace lwcc::rt::cuda;

namespace {

__global__ void __launch_bounds__(256)
    takeRows(int64_t items, Tables of, float *y, const float *table,
             const float *at) {
  const int64_t stride = int64_t(gridDim.x) * blockDim.x;
  for (int64_t item = int64_t(blockIdx.x) * blockDim.x + threadIdx.x;
       item < items; item += stride) {
    const int64_t taker = item / of.columns;
    const int64_t row = rowAt(at[taker], of.rows);
    const int64_t first = taker / of.takers * of.rows; // of its table
    y[item] = row < 0 ? NAN : table[(first + row - taker) * of.columns + item];
  }
}

constexpr int rowThreads = 128;

/// dtable[row, column] = the sum of dy[i, column] over all i with at[i] = row,
/// of each table.
__global__ void __launch_bounds__(rowThreads)
    addTakers(Tables of, float *dtable, const float *dy, const float *at) {
  __shared__ bool takes[rowThreads];
  const int64_t column = int64_t(blockIdx.y) * blockDim.x + threadIdx.x;
  for (int64_t item = blockIdx.x; item < of.number * of.rows;
       item += gridDim.x) {
    const int64_t table = item / of.rows, row = item - table * of.rows;
    const int64_t end = (table + 1) * of.takers;
    double sum = 0.0;
    for (int64_t first = table * of.takers; first < end; first += blockDim.x) {
      const int64_t i = first + threadIdx.x;
      const bool mine = i < end && rowAt(at[i], of.rows) == row;
      takes[threadIdx.x] = mine;
      // Most rows are not taken by any of so few; it also waits for `takes`.
      if (blockReduce(mine ? 1 : 0, Add()) == 0)
        continue;
      if (column < of.columns)
        for (int64_t k = 0; k < blockDim.x; ++k)
          if (takes[k])
            sum += dy[(first + k) * of.columns + column];
      __syncthreads(); // takes is written again
    }
    if (column < of.columns)
      dtable[item * of.columns + column] = static_cast<float>(sum);
  }
}

} // namespace

void rt::embedding(Lane &base, Tensor y, Tensor table, Tensor at) {
  CudaLane &lane = cudaLane(base);
  lane.append("embedding", {y}, [=, &lane] {
    lane.launch(takeRows, lane.blocksFor(y.elements(), 256), 256, y.elements(),
                Tables(table, at), y.as<float>(), table.as<const float>(),
                at.as<const float>());
  });
}

void rt::embedding_grad(Lane &base, Tensor dtable, Tensor dy, Tensor at) {
  CudaLane &lane = cudaLane(base);
  const Tables of(dtable, at);
  const dim3 blocks(
      static_cast<unsigned>(std::min<int64_t>(of.number * of.rows, 1 << 20)),
      static_cast<unsigned>((of.columns + rowThreads - 1) / rowThreads));
  lane.append("embedding_grad", {dtable}, [=, &lane] {
    lane.launch(addTakers, blocks, rowThreads, of, dtable.as<float>(),
                dy.as<const float>(), at.as<const float>());
  });
}
