//===- DataSource.h - Where images and labels come from ---------*- C++ -*-===//
//
// A numbered set of samples with their labels: a class each, or several (of
// each position of a sequence, of each pixel). What a folder holds decides who
// reads it:
//
//   images.npy + labels.npy             uint8, float32 or float64;
//                                       [n, h, w, c], [n, c, h, w], [n, h, w]
//                                       or [n, features]
//   tokens.npy + labels.npy             integers [n, t], for a model of tokens
//   ... + targets.npy                   numbers, for a loss of numbers
//   train.bin, val.bin                  a stream of uint16 tokens, each of
//                                       which is the label of those before
//   *.txt                               the same of bytes; with several in one
//                                       folder as for .bin
//   *images-idx3-ubyte(.gz) + labels    MNIST's IDX; with several sets in one
//                                       folder, "train" is for training and
//                                       "t10k" or "test" for validation
//   data_batch_*.bin, test_batch.bin    CIFAR-10
//   train.bin, test.bin                 CIFAR-100: classes, or superclasses for
//                                       a model of 20
//
//   *.tar, itself or in a folder        WebDataset: pictures with .cls
//   *.npz, itself or in a folder        arrays in one file (NpzSource.cpp)
//   NAME.npy of each input, in a folder or an .npz, for a model of several
//                                       (SeveralSources.cpp)
//   *.csv, itself or in a folder        a row for each sample: columns of
//                                       numbers, and of labels or targets
//
//   a folder for each class, with     any size; the classes' numbers follow
//   JPEG, PNG, WebP or BMP files      the order of their names
//
// For prediction labels are left out, and pictures may lie anywhere below.
//
// A source gives samples as they are. How they become the model's input is
// decided by Transform; how a batch lies in memory, by the loader.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_RUNTIME_TRAIN_DATA_DATASOURCE_H
#define LWCC_RUNTIME_TRAIN_DATA_DATASOURCE_H

#include "runtime/core/Error.h"
#include "runtime/core/Program.h"
#include "runtime/train/data/Sample.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace lwcc::rt::train {

/// A sample that its source cannot read; others it can. The message names the
/// file.
struct BadSample : Error {
  using Error::Error;
};

class DataSource {
public:
  virtual ~DataSource() = default;
  virtual int64_t size() const = 0;
  /// Of every sample, known before one is read; without a size if each has its
  /// own.
  virtual SampleFormat format() const = 0;
  /// Its class; -1 where the role needs none.
  virtual int32_t label(int64_t index) const = 0;
  /// All its labels, of a source of samples with several: as many as
  /// ModelInput::labels says. -1 does not count.
  virtual void labels(int64_t index, std::span<int32_t> out) const {
    std::fill(out.begin(), out.end(), label(index));
  }
  /// Gives the sample as it is, without a copy where it lies in memory. It is
  /// valid until the next read into it. Any thread may call it. Throws
  /// BadSample.
  virtual void read(int64_t index, Sample &sample) const = 0;
  /// Its targets, of a loss of numbers; NaN is none. By default the number of
  /// its class.
  virtual void targets(int64_t index, std::span<float> out) const {
    std::fill(out.begin(), out.end(), static_cast<float>(label(index)));
  }
  virtual std::string describe() const = 0;
  /// A sample's file below the data folder, or its number.
  virtual std::string nameOf(int64_t index) const {
    return std::to_string(index);
  }
  /// By the classes' numbers; empty where they have none.
  virtual std::vector<std::string> classNames() const { return {}; }
  /// Whether reading takes so much time that several threads should.
  virtual bool isDecoded() const { return false; }
  /// Of samples that are given to several inputs of a model, the source of
  /// those of one; this is then the first input's. Behind the inputs come the
  /// labels of auxiliary outputs.
  virtual const DataSource &part([[maybe_unused]] size_t input) const {
    return *this;
  }

  std::string remark; ///< on what was passed over, or ""
  /// The model's input, as it is transformed, is its target.
  bool isOwnTarget = false;
};

enum class DataRole {
  training,
  validation,
  prediction ///< labels are not needed, and not read
};

/// PyTorch's label that does not count.
inline constexpr int64_t usuallyIgnored = -100;

/// The model's side of what a reader has to decide or to check.
struct ModelInput {
  std::vector<int64_t> dims; ///< of one sample, without the batch
  int64_t classes = 0;
  int64_t tokens = 0; ///< of integer input: what it is below; 0: floats
  std::vector<int64_t> labels; ///< dims of a sample's labels; empty: one
  std::string loss;            ///< of numbers: its name; "": class labels
  /// The training's, where a set's classes have names; else empty.
  std::vector<std::string> classNames = {};
  int64_t ignoredLabel = usuallyIgnored; ///< which does not count
  /// Of tables, by their names: what is input, all others if empty; and what is
  /// label or target, the last ones if empty.
  std::vector<std::string> columns = {}, targetColumns = {};
  std::string name = {}; ///< in the ONNX file
  /// The file has channels last, and so have rows of all pixels.
  bool channelsLast = false;
  /// Of outputs beside the main one that have a loss of their own: what
  /// concerns their labels, and their names. Read in training alone.
  std::vector<ModelInput> auxiliary = {};

  /// Whether targets are as many numbers as the input.
  bool reconstructs() const;
  /// Whether labels or targets are asked for.
  bool readsLabels(DataRole role) const {
    return role != DataRole::prediction && !isComputedByModel(loss);
  }
  int64_t labelsPerSample() const { return elementsOf(labels); }
};

/// Of each input. What concerns labels and targets is with all of them.
std::vector<ModelInput> inputsOf(const Program &program);

/// `place` is a folder, a file (.npz, .tar, .csv, .tsv), or "synthetic". Checks
/// everything that can be checked before the first batch; throws Error.
std::unique_ptr<DataSource> openData(const std::string &place, DataRole role,
                                     const std::vector<ModelInput> &inputs,
                                     int64_t syntheticImages);

/// A folder or an .npz file with an array for each of several inputs, by its
/// name, one of labels or targets, and one by the name of each auxiliary
/// output.
std::unique_ptr<DataSource> openSeveral(const std::string &place, DataRole role,
                                        const std::vector<ModelInput> &inputs);
/// Sources of as many samples, one for each input, and then one for the labels
/// of each auxiliary output; other labels are the first one's.
std::unique_ptr<DataSource>
joinSources(std::vector<std::unique_ptr<DataSource>> parts, size_t inputs);

/// Images, and labels or targets, that lie in arrays; throws Error where they
/// do not fit. Without labels, images of a model that reconstructs them are
/// targets of their own, and others have none. `classNames` by number, if they
/// are known.
std::unique_ptr<DataSource>
makeArraySource(Array images, std::optional<Array> labels,
                const ModelInput &input,
                std::vector<std::string> classNames = {});

/// Nothing but the labels of an output, of so many samples of `samplesPath`;
/// throws Error where they do not fit.
std::unique_ptr<DataSource> makeLabelSource(Array labels, int64_t samples,
                                            const std::string &samplesPath,
                                            const ModelInput &output);

/// The binary files of CIFAR-10 or CIFAR-100; null if the folder, whose files
/// are `names`, holds none. Throws Error.
std::unique_ptr<DataSource> openCifar(const std::string &folder,
                                      const std::vector<std::string> &names,
                                      DataRole role, const ModelInput &input);

/// Arrays in an archive of NumPy. Throws Error.
std::unique_ptr<DataSource> openNpz(const std::string &path, DataRole role,
                                    const ModelInput &input);

/// A table of numbers. Throws Error.
std::unique_ptr<DataSource> openCsv(const std::string &path, DataRole role,
                                    const ModelInput &input);

/// A stream of tokens, cut into samples that do not overlap; null if the folder
/// holds none that serves the role. `names` are its files. Throws Error.
std::unique_ptr<DataSource> openTokens(const std::string &folder,
                                       const std::vector<std::string> &names,
                                       DataRole role, const ModelInput &input);

/// A folder of pictures, each in the folder of its class; null if it holds
/// none. Throws Error.
std::unique_ptr<DataSource> openPictures(const std::string &folder,
                                         const ModelInput &input);

/// Pictures with the numbers of their classes, in these archives; `place` is
/// for messages. Throws Error.
std::unique_ptr<DataSource> openTar(const std::string &place,
                                    const std::vector<std::string> &paths,
                                    DataRole role, const ModelInput &input);

/// As how many channels pictures are decoded, 1 or 3, as the model's input has.
/// Throws Error if it is none of pictures.
int64_t pictureChannels(const std::string &place, const ModelInput &input);

/// All pictures in a folder and below it, in the order of their paths, without
/// labels; null if there are none. Throws Error.
std::unique_ptr<DataSource> openUnlabelled(const std::string &folder,
                                           const ModelInput &input);

/// `images` of the model's own size, drawn by number: noise around a coarse
/// pattern per class, so that there is something to learn.
std::unique_ptr<DataSource> makeSynthetic(int64_t images,
                                          const ModelInput &input);

} // namespace lwcc::rt::train

#endif // LWCC_RUNTIME_TRAIN_DATA_DATASOURCE_H
