//===- Embedding.cpp - Rows of a table by their numbers ---------*- C++ -*-===//
//
// The gradient first lists for each row of the table who took it, by counting.
// Then every row is the sum of its list, in order and in double, so that the
// result does not depend on threads.
//
//===----------------------------------------------------------------------===//
#include "runtime/core/EmbeddingBody.h"
#include "runtime/cpu/Lane.h"
#include "runtime/cpu/Parallel.h"

#include <algorithm>
#include <limits>

namespace lwcc::rt {

/// So many elements are worth a thread of their own.
static constexpr int64_t elementsPerThread = 4096;

static int64_t rowsPerThread(int64_t columns) {
  return std::max<int64_t>(elementsPerThread / std::max<int64_t>(columns, 1),
                           1);
}

void embedding(Lane &lane, Tensor y, Tensor table, Tensor at) {
  CpuLane &on = cpuLane(lane);
  on.append("embedding", {y}, [=, threads = on.threads] {
    const Tables of(table, at);
    parallelFor(threads, at.elements(), rowsPerThread(of.columns),
                [&](int64_t begin, int64_t end) {
                  for (int64_t i = begin; i < end; ++i) {
                    float *to = y.as<float>() + i * of.columns;
                    const int64_t row = rowAt(at.as<float>()[i], of.rows);
                    if (row < 0)
                      std::fill_n(to, of.columns,
                                  std::numeric_limits<float>::quiet_NaN());
                    else
                      std::copy_n(table.as<float>() +
                                      (i / of.takers * of.rows + row) *
                                          of.columns,
                                  of.columns, to);
                  }
                });
  });
}

namespace {
/// For each row of a table the places that took it: those of row r are
/// list[first[r]] to list[first[r + 1]], in ascending order.
struct Takers {
  int64_t *first, *list;

  Takers(char *memory, int64_t rows)
      : first(reinterpret_cast<int64_t *>(memory)), list(first + rows + 1) {}

  static int64_t bytes(int64_t rows, int64_t count) {
    return (rows + 1 + count) * static_cast<int64_t>(sizeof(int64_t));
  }

  void fill(const float *at, int64_t count, int64_t rows) {
    std::fill_n(first, rows + 1, 0);
    for (int64_t i = 0; i < count; ++i)
      if (int64_t row = rowAt(at[i], rows); row >= 0)
        ++first[row + 1];
    for (int64_t row = 0; row < rows; ++row)
      first[row + 1] += first[row];
    // Each place goes to the end of its row's list, which moves on.
    for (int64_t i = 0; i < count; ++i)
      if (int64_t row = rowAt(at[i], rows); row >= 0)
        list[first[row]++] = i;
    std::copy_backward(first, first + rows, first + rows + 1);
    first[0] = 0;
  }
};
} // namespace

/// The rows of one table that `count` numbers took.
static void addTaken(const Takers &takers, int threads, int64_t rows,
                     int64_t columns, const float *dy, float *dtable) {
  parallelFor(
      threads, rows, rowsPerThread(columns), [&](int64_t begin, int64_t end) {
        constexpr int64_t width = 64; // columns that are summed together
        double sum[width];
        for (int64_t row = begin; row < end; ++row)
          for (int64_t c = 0; c < columns; c += width) {
            const int64_t some = std::min(width, columns - c);
            std::fill_n(sum, some, 0.0);
            for (int64_t k = takers.first[row]; k < takers.first[row + 1];
                 ++k) {
              const float *from = dy + takers.list[k] * columns + c;
              for (int64_t j = 0; j < some; ++j)
                sum[j] += from[j];
            }
            std::copy_n(sum, some, dtable + row * columns + c);
          }
      });
}

void embedding_grad(Lane &lane, Tensor dtable, Tensor dy, Tensor at) {
  CpuLane &on = cpuLane(lane);
  const Tables of(dtable, at);
  on.needWorkspace(Takers::bytes(of.rows, of.takers));
  on.append("embedding_grad", {dtable}, [=, &on] {
    Takers takers(on.workspace(), of.rows);
    for (int64_t table = 0; table < of.number; ++table) {
      takers.fill(at.as<float>() + table * of.takers, of.takers, of.rows);
      addTaken(takers, on.threads, of.rows, of.columns,
               dy.as<float>() + table * of.takers * of.columns,
               dtable.as<float>() + table * of.rows * of.columns);
    }
  });
}

} // namespace lwcc::rt
