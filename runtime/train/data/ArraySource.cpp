//===- ArraySource.cpp - Images and labels that lie in arrays -------------===//
//
// Decides what the dimensions of an array mean, and checks the two arrays
// against each other and the labels against the model's classes.
//
//===----------------------------------------------------------------------===//

#include "runtime/core/Error.h"
#include "runtime/train/data/DataSource.h"
#include "runtime/train/files/Text.h"

#include <cstring>

namespace lwcc::rt::train {

/// Files align their elements, but nothing guarantees it.
template <typename T>
static T load(const char *data, int64_t index) {
  T value;
  std::memcpy(&value, data + index * int64_t(sizeof(T)), sizeof(T));
  return value;
}

//===----------------------------------------------------------------------===//
// Labels
//===----------------------------------------------------------------------===//

static int64_t loadInteger(const Array &array, int64_t index) {
  bool isSigned = array.type.kind == 'i';
  switch (array.type.bytes) {
  case 1:
    return isSigned ? int64_t(load<int8_t>(array.data, index))
                    : int64_t(load<uint8_t>(array.data, index));
  case 2:
    return isSigned ? int64_t(load<int16_t>(array.data, index))
                    : int64_t(load<uint16_t>(array.data, index));
  case 4:
    return isSigned ? int64_t(load<int32_t>(array.data, index))
                    : int64_t(load<uint32_t>(array.data, index));
  default:
    return load<int64_t>(array.data, index);
  }
}

static std::vector<int32_t> readLabels(const Array &labels, int64_t images,
                                       const std::string &imagesPath,
                                       int64_t classes) {
  bool column = labels.dims.size() == 2 && labels.dims[1] == 1;
  if (labels.dims.size() != 1 && !column)
    throw Error(labels.path + ": has shape " + dimsText(labels.dims) +
                "; expected one class number per image");
  if (labels.type.kind != 'u' && labels.type.kind != 'i')
    throw Error(labels.path + ": holds " + labels.type.name() +
                "; expected integers, the numbers of the classes");
  if (labels.dims[0] != images)
    throw Error(format("%s: has %s, but %s has %s", labels.path.c_str(),
                       plural(labels.dims[0], "label").c_str(),
                       imagesPath.c_str(), plural(images, "image").c_str()));
  std::vector<int32_t> values(images);
  int64_t offenders = 0, first = 0;
  for (int64_t i = 0; i < images; ++i) {
    int64_t value = loadInteger(labels, i);
    if (value < 0 || value >= classes) {
      if (offenders++ == 0)
        first = i;
      continue;
    }
    values[i] = static_cast<int32_t>(value);
  }
  if (offenders)
    throw Error(format("%s: %s out of range; the first is %lld, of image %lld; "
                       "the model has classes 0 to %lld",
                       labels.path.c_str(), plural(offenders, "label").c_str(),
                       static_cast<long long>(loadInteger(labels, first)),
                       static_cast<long long>(first),
                       static_cast<long long>(classes - 1)));
  return values;
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
  ArraySource(Array array, std::vector<int32_t> classOf, SampleFormat format)
      : images(std::move(array)), labels(std::move(classOf)), shape(format) {}

  int64_t size() const override { return int64_t(labels.size()); }
  SampleFormat format() const override { return shape; }
  int32_t label(int64_t index) const override { return labels[index]; }
  void read(int64_t index, Sample &sample) const override {
    sample.format = shape;
    sample.data = images.data + index * shape.bytes();
  }
  std::string describe() const override {
    return plural(size(), "image") + ", " + shape.text() + ", " +
           images.type.name() + " (" + images.path + ")";
  }

private:
  Array images;
  std::vector<int32_t> labels;
  SampleFormat shape;
};
} // namespace

std::unique_ptr<DataSource> makeArraySource(Array images,
                                            std::optional<Array> labels,
                                            const ModelInput &input) {
  static constexpr ElementType accepted[] = {{'u', 1}, {'f', 4}, {'f', 8}};
  bool known = false;
  for (ElementType type : accepted)
    known |= type == images.type;
  if (!known)
    throw Error(images.path + ": holds " + images.type.name() +
                "; expected uint8, float32 or float64");
  size_t rank = images.dims.size();
  if (rank < 2 || rank > 4 || images.bytesPerItem() == 0)
    throw Error(images.path + ": has shape " + dimsText(images.dims) +
                "; expected [n, h, w, c], [n, c, h, w], [n, h, w] or "
                "[n, features]");
  SampleFormat format;
  format.type = images.type;
  const int64_t *d = images.dims.data() + 1;
  if (rank == 2) {
    format.channels = d[0];
    format.image = false;
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
  std::vector<int32_t> values(images.dims[0], -1);
  if (labels)
    values = readLabels(*labels, images.dims[0], images.path, input.classes);
  return std::make_unique<ArraySource>(std::move(images), std::move(values),
                                       format);
}

} // namespace lwcc::rt::train
