//===- Transform.cpp - From an image to the model's input -----------------===//

#include "runtime/train/data/Transform.h"

#include "runtime/core/Error.h"
#include "runtime/train/data/Distort.h"
#include "runtime/train/files/Text.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <utility>

namespace lwcc::rt::train {

/// What the model's input means for a sample of format `from`.
static SampleFormat targetOf(const SampleFormat &from,
                             const std::vector<int64_t> &dims) {
  const int64_t elements = elementsOf(dims);
  bool pictures = dims.size() == 3 && from.image;
  if (pictures && (from.channels == dims[0] || from.channels == 1))
    return {dims[0], dims[1], dims[2], true};
  if (!pictures && elements == from.elements())
    return dims.size() == 3 ? SampleFormat{dims[0], dims[1], dims[2], true}
                            : from;
  throw Error("the data (" + from.text() +
              ") does not fit the model's input of " + dimsText(dims) +
              (pictures ? ": channels can only be repeated from grey"
                        : ": as many numbers are needed"));
}

static std::vector<float> perChannel(const std::vector<double> &values,
                                     int64_t channels, const char *flag,
                                     float absent) {
  if (values.empty())
    return std::vector<float>(channels, absent);
  if (int64_t(values.size()) == channels)
    return std::vector<float>(values.begin(), values.end());
  if (values.size() != 1)
    throw Error(format("%s has %zu values; the input has %s", flag,
                       values.size(), plural(channels, "channel").c_str()));
  return std::vector<float>(channels, static_cast<float>(values[0]));
}

/// Throws Error with all that is wrong.
static void checkAugmentation(const Augmentation &augmentation) {
  std::string mistakes;
  auto check = [&](const char *flag, const std::vector<double> &values,
                   const char *such) {
    if (values.size() != 2 || values[0] > values[1])
      mistakes += (mistakes.empty() ? "" : "\n") + std::string(flag) +
                  ": expected two numbers, the least first, such as " + flag +
                  "=" + such;
  };
  if (augmentation.crops())
    check("--scale", augmentation.scale, "0.08,1");
  check("--ratio", augmentation.ratio, "0.75,1.33");
  const std::vector<double> &colour = augmentation.colour;
  if (colour.size() > colourSteps ||
      (colour.size() == colourSteps && colour.back() > 0.5))
    mistakes += (mistakes.empty() ? "" : "\n") +
                std::string("--color-jitter: expected brightness, contrast, "
                            "saturation and hue, at most 0.5, such as "
                            "--color-jitter=0.4,0.4,0.4,0.1; or one number for "
                            "the first three");
  const std::vector<double> &changes = augmentation.randAugment;
  const auto isWholeTo = [](double value, int64_t most) {
    return value == std::floor(value) && value >= 0 && value <= double(most);
  };
  if (!changes.empty() &&
      (changes.size() > 2 || !isWholeTo(changes[0], mostChanges) ||
       (changes.size() == 2 && !isWholeTo(changes[1], mostStrength))))
    mistakes += (mistakes.empty() ? "" : "\n") +
                format("--rand-augment: expected how many changes, at most %d, "
                       "and their strength, 0 to %d, such as "
                       "--rand-augment=2,9",
                       int(mostChanges), int(mostStrength));
  if (!mistakes.empty())
    throw Error(mistakes);
}

/// --flag for each that is given, of those that change what a training sees.
static std::string flagsOf(const Augmentation &augmentation) {
  std::string flags;
  const std::pair<bool, const char *> given[] = {
      {augmentation.crops(), "--scale"},
      {augmentation.flip > 0, "--hflip"},
      {augmentation.verticalFlip > 0, "--vflip"},
      {augmentation.rotate > 0, "--rotate"},
      {!augmentation.randAugment.empty(), "--rand-augment"},
      {!augmentation.colour.empty(), "--color-jitter"},
      {augmentation.erase > 0, "--erase"}};
  for (auto [isGiven, flag] : given)
    if (isGiven)
      flags += (flags.empty() ? "" : ", ") + std::string(flag);
  return flags;
}

Transform::Transform(const SampleFormat &from, const std::vector<int64_t> &dims,
                     std::vector<double> mean, std::vector<double> std,
                     double cropPart, Augmentation given)
    : from(from), to(targetOf(from, dims)),
      seen(from.image && dims.size() == 3), cropPart(cropPart),
      augmentation(std::move(given)) {
  checkAugmentation(augmentation);
  if (from.tokens && !(mean.empty() && std.empty()))
    throw Error("--mean and --std are for images and features; the model takes "
                "integers, which are no amounts");
  if (const std::string flags = flagsOf(augmentation); !seen && !flags.empty())
    throw Error(flags + ": for images only, and the data (" + from.text() +
                ") becomes an input of " + dimsText(dims));
  const char *ofBytes = !augmentation.colour.empty()        ? "--color-jitter"
                        : !augmentation.randAugment.empty() ? "--rand-augment"
                                                            : nullptr;
  if (ofBytes && (from.type != ElementType{'u', 1} ||
                  (from.channels != 1 && from.channels != 3)))
    throw Error(std::string(ofBytes) +
                " is for images of bytes, grey or red, green and blue; the "
                "data has " +
                plural(from.channels, "channel") + " of " + from.type.name());
  if (seen && from.hasSize()) {
    View view = centreOf(from.height, from.width);
    if (!isWhole(view, from)) {
      rows = AxisTaps(view.rows);
      columns = AxisTaps(view.columns);
    }
  }
  // A row of features has one mean and one deviation.
  int64_t channels = to.image ? to.channels : 1;
  if (!mean.empty() || !std.empty()) {
    this->mean = perChannel(mean, channels, "--mean", 0.0f);
    deviation = perChannel(std, channels, "--std", 1.0f);
  }
}

bool Transform::isWhole(const View &view, const SampleFormat &image) {
  return view.rows.isWhole(image.height) && view.columns.isWhole(image.width);
}

Transform::View Transform::centreOf(int64_t height, int64_t width) const {
  // As much as is cut from: timm's floor(size / crop_pct).
  const auto needed = [&](int64_t size) {
    return static_cast<int64_t>(std::floor(double(size) / cropPart));
  };
  int64_t tall = needed(to.height), wide = needed(to.width);
  // torchvision's Resize: one side fits, the other is cut to a whole number.
  if (height * wide <= width * tall)
    wide = tall * width / height;
  else
    tall = wide * height / width;
  // torchvision's CenterCrop: Python's round, halves to the even number.
  const auto middle = [](int64_t scaled, int64_t taken) {
    return static_cast<int64_t>(std::nearbyint(double(scaled - taken) / 2));
  };
  return {{0, height, tall, middle(tall, to.height), to.height},
          {0, width, wide, middle(wide, to.width), to.width}};
}

Transform::View Transform::viewOf(const Crop &crop) const {
  return {{crop.top, crop.height, to.height, 0, to.height},
          {crop.left, crop.width, to.width, 0, to.width}};
}

void Transform::apply(const Sample &sample, const SampleKey &key,
                      float *out) const {
  assert((!from.hasSize() || sample.format == from) &&
         "a source has one format for all samples");
  const int64_t plane = to.height * to.width;
  AxisTaps ownRows, ownColumns;
  const AxisTaps *rowTaps = &rows, *columnTaps = &columns;
  if (!from.hasSize() || augmentation.crops()) {
    const auto &[height, width] =
        std::pair(sample.format.height, sample.format.width);
    View view = augmentation.crops()
                    ? viewOf(augmentation.crop(key, height, width))
                    : centreOf(height, width);
    if (!isWhole(view, sample.format)) {
      ownRows = AxisTaps(view.rows);
      ownColumns = AxisTaps(view.columns);
    }
    rowTaps = &ownRows;
    columnTaps = &ownColumns;
  }
  if (rowTaps->outputs() == 0)
    readPlanes(sample, out);
  else
    resample(sample, *rowTaps, *columnTaps, out);
  if (seen && augmentation.flips(key))
    for (int64_t row = 0; row < from.channels * to.height; ++row)
      std::reverse(out + row * to.width, out + (row + 1) * to.width);
  if (seen && augmentation.flipsVertically(key))
    for (float *image = out; image != out + from.channels * plane;
         image += plane)
      for (int64_t row = 0; row < to.height / 2; ++row)
        std::swap_ranges(image + row * to.width, image + (row + 1) * to.width,
                         image + (to.height - 1 - row) * to.width);
  if (augmentation.rotate > 0)
    distort(Affine::rotation(augmentation.angle(key)), out, from.channels,
            to.height, to.width);
  if (!augmentation.randAugment.empty())
    changeAsBytes(key, out);
  if (!augmentation.colour.empty())
    changeColours(augmentation.colours(key), out, from.channels, plane);
  if (repeats())
    for (int64_t c = 1; c < to.channels; ++c)
      std::copy_n(out, plane, out + c * plane);
  normalize(out);
  if (auto hole = augmentation.erased(key, to.height, to.width))
    for (int64_t c = 0; c < to.channels; ++c)
      for (int64_t row = hole->top; row < hole->top + hole->height; ++row)
        std::fill_n(out + c * plane + row * to.width + hole->left, hole->width,
                    0.0f);
}

/// RandAugment is defined on bytes.
void Transform::changeAsBytes(const SampleKey &key, float *out) const {
  const int64_t count = from.channels * to.height * to.width;
  std::vector<uint8_t> bytes(count);
  for (int64_t i = 0; i < count; ++i)
    bytes[i] = static_cast<uint8_t>(
        std::nearbyint(std::clamp(out[i], 0.0f, 1.0f) * 255));
  changePicture(augmentation.changes(key), augmentation.strength(),
                bytes.data(), from.channels, to.height, to.width);
  for (int64_t i = 0; i < count; ++i)
    out[i] = float(bytes[i]) / 255;
}

void Transform::normalize(float *out) const {
  if (mean.empty())
    return;
  int64_t channels = static_cast<int64_t>(mean.size());
  int64_t part = to.elements() / channels;
  for (int64_t c = 0; c < channels; ++c)
    for (float *x = out + c * part, *end = x + part; x != end; ++x)
      *x = (*x - mean[c]) / deviation[c];
}

std::string Transform::describe() const {
  const std::string target = dimsText({to.height, to.width});
  std::string text;
  if (augmentation.crops()) {
    text = format("random parts of %g to %g of the area, resized to ",
                  augmentation.scale[0], augmentation.scale[1]) +
           target;
  } else if (seen && !from.hasSize()) {
    View square = centreOf(1, 1);
    text = "resized to cover " +
           dimsText({square.rows.scaled, square.columns.scaled}) +
           ", the centre " + target + " taken";
  } else if (seen) {
    View view = centreOf(from.height, from.width);
    const std::string scaled =
        dimsText({view.rows.scaled, view.columns.scaled});
    if (rows.outputs())
      text = "resized to " + scaled;
    if (scaled != target)
      text += ", the centre " + target + " taken";
  }
  if (augmentation.flip > 0)
    text += (text.empty() ? "" : ", ") +
            format("mirrored with probability %g", augmentation.flip);
  if (augmentation.verticalFlip > 0)
    text +=
        (text.empty() ? "" : ", ") +
        format("upside down with probability %g", augmentation.verticalFlip);
  if (augmentation.rotate > 0)
    text += (text.empty() ? "" : ", ") +
            format("turned by up to %g degrees", augmentation.rotate);
  if (!augmentation.randAugment.empty())
    text += (text.empty() ? "" : ", ") + format("%g changes of strength %d",
                                                augmentation.randAugment[0],
                                                int(augmentation.strength()));
  if (!augmentation.colour.empty())
    text += (text.empty() ? "" : ", ") + std::string("colours changed");
  if (augmentation.erase > 0)
    text +=
        (text.empty() ? "" : ", ") +
        format("a rectangle erased with probability %g", augmentation.erase);
  if (repeats())
    text += (text.empty() ? "" : ", ") + std::string("repeated to ") +
            plural(to.channels, "channel");
  return text;
}

std::string DataSet::describe() const {
  std::string change;
  for (const Transform &transform : transforms)
    if (const std::string text = transform.describe(); !text.empty())
      change += "; " + text;
  return source->describe() + change +
         (source->isOwnTarget ? "; targets of their own" : "");
}

} // namespace lwcc::rt::train
