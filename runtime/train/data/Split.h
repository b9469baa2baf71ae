//===- Split.h - Training data of which a part is held back -----*- C++ -*-===//
//
// --val-split: some images of the training data are not learned but validated
// on. Which ones is drawn by the seed alone: the same in every run, after a
// resume, on any plan and for any number of workers. Both parts keep the order
// of the source, so that --no-shuffle still means it.
//
// Decides which image is in which part; how the parts are transformed is the
// callers' business.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_RUNTIME_TRAIN_DATA_SPLIT_H
#define LWCC_RUNTIME_TRAIN_DATA_SPLIT_H

#include "runtime/train/data/DataSource.h"

#include <cstdint>
#include <memory>

namespace lwcc::rt::train {

struct DataSplit {
  std::unique_ptr<DataSource> training, validation;
};

/// How many of the images a part of them is: rounded, at least one.
int64_t heldBack(int64_t images, double part);

/// Holds a part of the images back, the first ones of a permutation that is
/// drawn as the order of an epoch is (DataOrder.h), with stream "validation
/// split" and step 0. At least one image is left. The source has a part for
/// each of so many inputs.
DataSplit splitData(std::unique_ptr<DataSource> whole, double part,
                    uint64_t seed, size_t inputs = 1);

} // namespace lwcc::rt::train

#endif // LWCC_RUNTIME_TRAIN_DATA_SPLIT_H
