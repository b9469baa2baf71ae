//===- ArraySource.cpp - Images and labels that lie in arrays -------------===//
//
// Decides what the dimensions of an array mean, and checks the two arrays
// against each other, the labels against the model's classes, and tokens
// against its tables.
//
//===----------------------------------------------------------------------===//

#include "runtime/core/Error.h"
#include "runtime/train/data/DataSource.h"
#include "runtime/train/files/Text.h"

#include <algorithm>
#include <limits>

namespace lwcc::rt::train {

//===----------------------------------------------------------------------===//
// Labels, targets and tokens
//===----------------------------------------------------------------------===//

static std::vector<int32_t> readLabels(const Array &labels, int64_t images,
                                       const std::string &imagesPath,
                                       const ModelInput &input) {
  std::vector<int64_t> each(labels.dims.begin() + !labels.dims.empty(),
                            labels.dims.end());
  bool column = input.labels.empty() && each == std::vector<int64_t>{1};
  if (labels.dims.empty() || (each != input.labels && !column))
    throw Error(labels.path + ": has shape " + dimsText(labels.dims) +
                "; expected " +
                (input.labels.empty()
                     ? "one class number per image"
                     : dimsText(input.labels) + " class numbers per sample, as "
                                                "many as the model has scores "
                                                "for"));
  if (!labels.isIntegers())
    throw Error(labels.path + ": holds " + labels.type.name() +
                "; expected integers, the numbers of the classes");
  if (labels.dims[0] != images)
    throw Error(format("%s: has %s, but %s has %s", labels.path.c_str(),
                       plural(labels.dims[0], "label").c_str(),
                       imagesPath.c_str(), plural(images, "image").c_str()));
  const int64_t perImage = input.labelsPerSample();
  // A sample's only label has to count, unless one is named that does not.
  const int64_t ignored = input.ignoredLabel;
  const bool mayIgnore = !input.labels.empty() || ignored != usuallyIgnored;
  const auto allowed =
      mayIgnore ? std::optional<int64_t>(ignored) : std::nullopt;
  const Outside outside = findOutside(labels, input.classes, allowed);
  if (outside.count)
    throw Error(format("%s: %s out of range; the first is %lld, of image %lld; "
                       "the model has classes 0 to %lld (--ignore-index=N: "
                       "labels of N do not count)",
                       labels.path.c_str(),
                       plural(outside.count, "label").c_str(),
                       static_cast<long long>(outside.firstValue),
                       static_cast<long long>(outside.firstAt / perImage),
                       static_cast<long long>(input.classes - 1)));
  std::vector<int32_t> values(images * perImage);
  for (int64_t i = 0; i < int64_t(values.size()); ++i) {
    const int64_t label = integerAt(labels.type, labels.data, i);
    values[i] = label == ignored ? -1 : static_cast<int32_t>(label);
  }
  return values;
}

/// The targets of a loss of numbers.
static std::vector<float> readTargets(const Array &targets, int64_t images,
                                      const std::string &imagesPath,
                                      const ModelInput &input) {
  const int64_t perImage = input.labelsPerSample();
  std::vector<int64_t> each(targets.dims.begin() + !targets.dims.empty(),
                            targets.dims.end());
  if (targets.dims.empty() || elementsOf(each) != perImage)
    throw Error(targets.path + ": has shape " + dimsText(targets.dims) +
                "; expected " + plural(perImage, "number") +
                " per sample, as the model's output" +
                (targets.isIntegers() && elementsOf(each) == 1
                     ? " (a model of classes is compiled with "
                       "--loss=cross-entropy)"
                     : ""));
  if (targets.dims[0] != images)
    throw Error(format("%s: has %s, but %s has %s", targets.path.c_str(),
                       plural(targets.dims[0], "target").c_str(),
                       imagesPath.c_str(), plural(images, "image").c_str()));
  const bool isFloat = targets.type.kind == 'f' && targets.type.bytes >= 4;
  if (!isFloat && !targets.isIntegers() && targets.type.kind != 'b')
    throw Error(targets.path + ": holds " + targets.type.name() +
                "; expected integers, float32 or float64");
  std::vector<float> values(images * perImage);
  // Neither a byte nor a truth is a fraction here.
  Sample sample;
  sample.format.channels = images * perImage;
  sample.format.type =
      targets.type.kind == 'b' ? ElementType{'u', 1} : targets.type;
  sample.format.tokens = !isFloat;
  sample.data = targets.data;
  readPlanes(sample, values.data());
  for (int64_t i = 0; input.loss == "bce" && i < int64_t(values.size()); ++i)
    if (values[i] < 0 || values[i] > 1)
      throw Error(format("%s: target %g of image %lld; binary cross entropy "
                         "takes 0 to 1",
                         targets.path.c_str(), double(values[i]),
                         static_cast<long long>(i / perImage)));
  return values;
}

/// Checks tokens against the model, and gives their format.
static SampleFormat formatOfTokens(const Array &array,
                                   const ModelInput &input) {
  if (!array.isIntegers())
    throw Error(array.path + ": holds " + array.type.name() +
                "; the model takes integers");
  std::vector<int64_t> each(array.dims.begin() + !array.dims.empty(),
                            array.dims.end());
  if (array.dims.empty() || each != input.dims)
    throw Error(array.path + ": has shape " + dimsText(array.dims) +
                "; expected " + dimsText(input.dims) +
                " tokens per sample, as the model's input");
  SampleFormat format;
  format.image = false;
  format.tokens = true;
  format.type = array.type;
  format.channels = elementsOf(input.dims);
  const Outside outside = findOutside(array, input.tokens);
  if (outside.count)
    throw Error(rt::train::format(
        "%s: %s out of range; the first is %lld, of sample %lld; the model "
        "takes 0 to %lld",
        array.path.c_str(), plural(outside.count, "token").c_str(),
        static_cast<long long>(outside.firstValue),
        static_cast<long long>(outside.firstAt / format.channels),
        static_cast<long long>(input.tokens - 1)));
  return format;
}

//===----------------------------------------------------------------------===//
// Images
//===----------------------------------------------------------------------===//

/// Whether a rank-4 array is [n, c, h, w] or [n, h, w, c]. The channels are
/// the model's, or one that stands for all of them. Where both readings are
/// possible the model's exact shape decides, then its channels, and at last
/// what image libraries write: [n, h, w, c].
static SampleLayout layoutOf(const Array &images, const ModelInput &input) {
  std::vector<int64_t> item(images.dims.begin() + 1, images.dims.end());
  if (input.channelsLast &&
      item == std::vector{input.dims[1], input.dims[2], input.dims[0]})
    return SampleLayout::pixels;
  int64_t channels = input.dims.size() == 3 ? input.dims[0] : item[0];
  auto fits = [&](int64_t found) { return found == channels || found == 1; };
  bool planes = fits(item[0]), pixels = fits(item[2]);
  if (planes != pixels)
    return planes ? SampleLayout::planes : SampleLayout::pixels;
  if (!planes)
    throw Error(images.path + ": has shape " + dimsText(images.dims) +
                "; expected [n, h, w, c] or [n, c, h, w] with " +
                (channels == 1 ? "" : "1 or ") + plural(channels, "channel") +
                ", [n, h, w], or [n, features]");
  if (item == input.dims)
    return SampleLayout::planes;
  if ((item[0] == channels) != (item[2] == channels))
    return item[0] == channels ? SampleLayout::planes : SampleLayout::pixels;
  return SampleLayout::pixels;
}

namespace {
class ArraySource : public DataSource {
public:
  ArraySource(Array array, std::vector<int32_t> classOf,
              std::vector<float> targetsOf, SampleFormat format,
              std::vector<std::string> classNames)
      : images(std::move(array)), classes(std::move(classOf)),
        numbers(std::move(targetsOf)), shape(format),
        names(std::move(classNames)) {}

  int64_t size() const override { return images.dims[0]; }
  std::vector<std::string> classNames() const override { return names; }
  SampleFormat format() const override { return shape; }
  int32_t label(int64_t index) const override {
    return classes.empty() ? -1 : classes[index * perSample()];
  }
  void labels(int64_t index, std::span<int32_t> out) const override {
    if (classes.empty())
      std::fill(out.begin(), out.end(), -1);
    else
      std::copy_n(classes.begin() + index * perSample(), out.size(),
                  out.begin());
  }
  void targets(int64_t index, std::span<float> out) const override {
    if (numbers.empty())
      std::fill(out.begin(), out.end(),
                std::numeric_limits<float>::quiet_NaN());
    else
      std::copy_n(numbers.begin() + index * int64_t(out.size()), out.size(),
                  out.begin());
  }
  void read(int64_t index, Sample &sample) const override {
    sample.format = shape;
    sample.data = images.data + index * shape.bytes();
  }
  std::string describe() const override {
    const char *noun = shape.tokens  ? "sequence"
                       : shape.image ? "image"
                                     : "row";
    return plural(size(), noun) + ", " + shape.text() + ", " +
           images.type.name() + " (" + images.path + ")";
  }

private:
  int64_t perSample() const { return int64_t(classes.size()) / size(); }

  Array images;
  std::vector<int32_t> classes; ///< of all samples, or none
  std::vector<float> numbers;   ///< of all samples, or none
  SampleFormat shape;
  std::vector<std::string> names; ///< of the classes, or none
};
} // namespace

/// Checks images, or rows of features, and gives their format.
static SampleFormat formatOfImages(const Array &images,
                                   const ModelInput &input) {
  static constexpr ElementType accepted[] = {{'u', 1}, {'f', 4}, {'f', 8}};
  bool known = false;
  for (ElementType type : accepted)
    known |= type == images.type;
  if (!known)
    throw Error(images.path + ": holds " + images.type.name() +
                "; expected uint8, float32 or float64");
  size_t rank = images.dims.size();
  SampleFormat format;
  format.type = images.type;
  if (rank == 1 && input.dims.empty()) { // a number
    format.image = false;
    return format;
  }
  if (rank < 2 || rank > 4 || images.bytesPerItem() == 0)
    throw Error(images.path + ": has shape " + dimsText(images.dims) +
                "; expected [n, h, w, c], [n, c, h, w], [n, h, w] or "
                "[n, features]");
  const int64_t *d = images.dims.data() + 1;
  if (rank == 2) {
    format.channels = d[0];
    format.image = false;
    if (input.channelsLast && d[0] == elementsOf(input.dims)) {
      format = {input.dims[0], input.dims[1], input.dims[2], true};
      format.layout = SampleLayout::pixels;
      format.type = images.type;
    }
  } else if (rank == 3) {
    format.height = d[0];
    format.width = d[1];
  } else {
    format.layout = layoutOf(images, input);
    const bool planes = format.layout == SampleLayout::planes;
    format.channels = d[planes ? 0 : 2];
    format.height = d[planes ? 1 : 0];
    format.width = d[planes ? 2 : 1];
  }
  return format;
}

std::unique_ptr<DataSource>
makeArraySource(Array images, std::optional<Array> labels,
                const ModelInput &input, std::vector<std::string> classNames) {
  SampleFormat format = input.tokens ? formatOfTokens(images, input)
                                     : formatOfImages(images, input);
  std::vector<int32_t> classes;
  std::vector<float> targets;
  if (labels && input.loss.empty())
    classes = readLabels(*labels, images.dims[0], images.path, input);
  else if (labels)
    targets = readTargets(*labels, images.dims[0], images.path, input);
  auto source = std::make_unique<ArraySource>(
      std::move(images), std::move(classes), std::move(targets), format,
      std::move(classNames));
  source->isOwnTarget = !labels && input.reconstructs();
  return source;
}

std::unique_ptr<DataSource> makeLabelSource(Array labels, int64_t samples,
                                            const std::string &samplesPath,
                                            const ModelInput &output) {
  std::vector<int32_t> classes;
  std::vector<float> targets;
  if (output.loss.empty())
    classes = readLabels(labels, samples, samplesPath, output);
  else
    targets = readTargets(labels, samples, samplesPath, output);
  return std::make_unique<ArraySource>(std::move(labels), std::move(classes),
                                       std::move(targets), SampleFormat(),
                                       std::vector<std::string>());
}

} // namespace lwcc::rt::train
