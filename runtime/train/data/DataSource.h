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
// Bytes become floats in [0, 1]; floats are taken as they are. Everything that
// depends on the model's input is Transform's.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_RUNTIME_TRAIN_DATA_DATASOURCE_H
#define LWCC_RUNTIME_TRAIN_DATA_DATASOURCE_H

#include "runtime/core/Program.h"
#include "runtime/train/data/Array.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace lwcc::rt::train {

/// What one item is: an image, or a plain row of `channels` features.
struct ImageFormat {
  int64_t channels = 1;
  int64_t height = 1;
  int64_t width = 1;
  bool image = true;

  int64_t elements() const { return channels * height * width; }
  /// "28x28 grey", "32x32 with 3 channels", "64 features"
  std::string text() const;
};

class DataSource {
public:
  virtual ~DataSource() = default;
  virtual int64_t size() const = 0;
  virtual ImageFormat format() const = 0;
  virtual int32_t label(int64_t index) const = 0;
  /// Writes format().elements() floats, channel by channel. Any thread may
  /// call it.
  virtual void read(int64_t index, float *planes) const = 0;
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
