//===- DataSource.h - Where images and labels come from ---------*- C++ -*-===//
//
// A numbered set of images with a label each. What a folder holds decides who
// reads it:
//
//   images.npy + labels.npy             uint8, float32 or float64;
//                                       [n, h, w, c], [n, c, h, w], [n, h, w]
//                                       or [n, features]
//   *images-idx3-ubyte(.gz) + labels    MNIST's IDX; with several sets in one
//                                       folder, "train" is for training and
//                                       "t10k" or "test" for validation
//
// A source gives samples as they are. How they become the model's input is
// decided by Transform; how a batch lies in memory, by the loader.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_RUNTIME_TRAIN_DATA_DATASOURCE_H
#define LWCC_RUNTIME_TRAIN_DATA_DATASOURCE_H

#include "runtime/core/Program.h"
#include "runtime/train/data/Sample.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace lwcc::rt::train {

class DataSource {
public:
  virtual ~DataSource() = default;
  virtual int64_t size() const = 0;
  /// Of every sample, known before one is read.
  virtual SampleFormat format() const = 0;
  virtual int32_t label(int64_t index) const = 0;
  /// Gives the sample as it is, without a copy where it lies in memory. It is
  /// valid until the next read into it. Any thread may call it.
  virtual void read(int64_t index, Sample &sample) const = 0;
  virtual std::string describe() const = 0;
};

enum class DataRole { training, validation };

/// The model's side of what a reader has to decide or to check.
struct ModelInput {
  std::vector<int64_t> dims; ///< of one sample, without the batch
  int64_t classes = 0;
};

ModelInput inputOf(const Program &program);

/// `place` is a folder, or "synthetic". Checks everything that can be checked
/// before the first batch; throws Error.
std::unique_ptr<DataSource> openData(const std::string &place, DataRole role,
                                     const ModelInput &input,
                                     int64_t syntheticImages);

/// Images and labels that lie in arrays; throws Error where they do not fit.
std::unique_ptr<DataSource> makeArraySource(Array images, Array labels,
                                            const ModelInput &input);

/// `images` of the model's own size, drawn by number: noise around a coarse
/// pattern per class, so that there is something to learn.
std::unique_ptr<DataSource> makeSynthetic(int64_t images,
                                          const ModelInput &input);

} // namespace lwcc::rt::train

#endif // LWCC_RUNTIME_TRAIN_DATA_DATASOURCE_H
