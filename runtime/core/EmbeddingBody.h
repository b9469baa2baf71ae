//===- EmbeddingBody.h - Which row of a table a number names ----*- C++ -*-===//
//
// The rules that both backends of the embedding and its gradient share. Numbers
// of rows are data like any other, that is float32, which has all integers up
// to 2^24; larger tables are refused when a model is imported.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_RUNTIME_CORE_EMBEDDINGBODY_H
#define LWCC_RUNTIME_CORE_EMBEDDINGBODY_H

#include "runtime/core/HostDevice.h"
#include "runtime/core/Tensor.h"

#include <cstdint>

namespace lwcc::rt {

/// One table [rows, columns] for all numbers, or one for those of each sample.
struct Tables {
  int64_t number, rows, columns;
  int64_t takers; ///< how many numbers each has

  Tables(const Tensor &table, const Tensor &at)
      : number(table.rank == 3 ? table.dim[0] : 1),
        rows(table.dim[table.rank - 2]), columns(table.dim[table.rank - 1]),
        takers(at.elements() / number) {}
};

/// The row of a table of `rows` rows, or -1 where `at` is no number of one.
LWCC_HD int64_t rowAt(float at, int64_t rows) {
  const float count = static_cast<float>(rows);
  if (!(at >= -count && at < count)) // NaN, too
    return -1;
  const int64_t row = static_cast<int64_t>(at);
  return row < 0 ? row + rows : row;
}

} // namespace lwcc::rt

#endif // LWCC_RUNTIME_CORE_EMBEDDINGBODY_H
