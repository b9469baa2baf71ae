//===- Embedding.cu - Rows of a table by their numbers --------------------===//
//
// The gradient has a block of threads for each row of the table and some of its
// columns, which looks through all numbers for its row: without atomic sums, so
// that every run gives the same bits. Not run on a GPU by the tests of the
// build machine; see tools/gpu-test.sh.
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
    takeRows(int64_t items, int64_t rows, int64_t columns, float *y,
             const float *table, const float *at) {
  const int64_t stride = int64_t(gridDim.x) * blockDim.x;
  for (int64_t item = int64_t(blockIdx.x) * blockDim.x + threadIdx.x;
       item < items; item += stride) {
    const int64_t taker = item / columns;
    const int64_t row = rowAt(at[taker], rows);
    y[item] = row < 0 ? NAN : table[row * columns + item - taker * columns];
  }
}

constexpr int rowThreads = 128;

/// dtable[row, column] = the sum of dy[i, column] over all i with at[i] = row.
__global__ void __launch_bounds__(rowThreads)
    addTakers(int64_t rows, int64_t columns, int64_t count, float *dtable,
              const float *dy, const float *at) {
  __shared__ bool takes[rowThreads];
  const int64_t column = int64_t(blockIdx.y) * blockDim.x + threadIdx.x;
  for (int64_t row = blockIdx.x; row < rows; row += gridDim.x) {
    double sum = 0.0;
    for (int64_t first = 0; first < count; first += blockDim.x) {
      const int64_t i = first + threadIdx.x;
      const bool mine = i < count && rowAt(at[i], rows) == row;
      takes[threadIdx.x] = mine;
      // Most rows are not taken by any of so few; it also waits for `takes`.
      if (blockReduce(mine ? 1 : 0, Add()) == 0)
        continue;
      if (column < columns)
        for (int64_t k = 0; k < blockDim.x; ++k)
          if (takes[k])
            sum += dy[(first + k) * columns + column];
      __syncthreads(); // takes is written again
    }
    if (column < columns)
      dtable[row * columns + column] = static_cast<float>(sum);
  }
}

} // namespace

void rt::embedding(Lane &base, Tensor y, Tensor table, Tensor at) {
  CudaLane &lane = cudaLane(base);
  lane.append("embedding", {y}, [=, &lane] {
    lane.launch(takeRows, lane.blocksFor(y.elements(), 256), 256, y.elements(),
                table.dim[0], table.dim[1], y.as<float>(),
                table.as<const float>(), at.as<const float>());
  });
}

void rt::embedding_grad(Lane &base, Tensor dtable, Tensor dy, Tensor at) {
  CudaLane &lane = cudaLane(base);
  const int64_t rows = dtable.dim[0], columns = dtable.dim[1];
  const dim3 blocks(
      static_cast<unsigned>(std::min<int64_t>(rows, 1 << 20)),
      static_cast<unsigned>((columns + rowThreads - 1) / rowThreads));
  lane.append("embedding_grad", {dtable}, [=, &lane] {
    lane.launch(addTakers, blocks, rowThreads, rows, columns, at.elements(),
                dtable.as<float>(), dy.as<const float>(), at.as<const float>());
  });
}
