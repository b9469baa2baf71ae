//===- TarSource.cpp - Pictures in tar archives ---------------------------===//
//
// WebDataset's shards: files that follow each other and share a name up to its
// first dot are a sample, of which one is the picture and one, .cls, the number
// of its class. Others, such as .json, are passed over.
//
// Shards are read in the order of their names; samples are shuffled as any
// others, since they lie in mapped files.
//
//===----------------------------------------------------------------------===//

#include "runtime/core/Error.h"
#include "runtime/train/data/DataSource.h"
#include "runtime/train/data/Picture.h"
#include "runtime/train/files/TarFile.h"
#include "runtime/train/files/Text.h"

#include <algorithm>
#include <filesystem>

namespace lwcc::rt::train {

namespace fs = std::filesystem;

namespace {
struct TarSample {
  std::string name; ///< with its shard's
  std::string_view picture, label;
};

class TarSource : public DataSource {
public:
  TarSource(std::string place, std::vector<std::unique_ptr<TarFile>> shards,
            std::vector<TarSample> samples, std::vector<int32_t> classOf,
            int64_t channels)
      : place(std::move(place)), shards(std::move(shards)),
        samples(std::move(samples)), classOf(std::move(classOf)) {
    shape = {channels, 0, 0, true, {'u', 1}, SampleLayout::pixels};
  }

  int64_t size() const override { return int64_t(samples.size()); }
  SampleFormat format() const override { return shape; }
  int32_t label(int64_t index) const override {
    return classOf.empty() ? -1 : classOf[index];
  }
  std::string nameOf(int64_t index) const override {
    return samples[index].name;
  }
  bool isDecoded() const override { return true; }

  void read(int64_t index, Sample &sample) const override {
    try {
      decodePicture(samples[index].picture, shape.channels, sample);
    } catch (const Error &error) {
      throw BadSample(samples[index].name + ": " + error.what());
    }
  }

  std::string describe() const override {
    return plural(size(), "picture") + " in " +
           plural(int64_t(shards.size()), "archive") + ", " +
           (shape.channels == 1 ? "grey" : "RGB") + " (" + place + ")";
  }

private:
  std::string place;
  std::vector<std::unique_ptr<TarFile>> shards;
  std::vector<TarSample> samples;
  std::vector<int32_t> classOf; ///< or none
  SampleFormat shape;
};
} // namespace

/// The samples of a shard, whose name they carry.
static void addSamples(const TarFile &shard, const std::string &name,
                       std::vector<TarSample> &samples) {
  std::string last;
  for (const TarFile::Member &member : shard.members()) {
    const size_t slash = member.name.rfind('/');
    const size_t begin = slash == std::string::npos ? 0 : slash + 1;
    const size_t dot =
        std::min(member.name.find('.', begin), member.name.size());
    if (dot == begin) // hidden, as "._1.jpg" of macOS is
      continue;
    const std::string key = member.name.substr(0, dot);
    if (samples.empty() || key != last)
      samples.push_back({name + "/" + key, {}, {}});
    last = key;
    if (isPictureName(member.name))
      samples.back().picture = member.bytes;
    else if (member.name.substr(dot) == ".cls")
      samples.back().label = member.bytes;
  }
}

/// The number of a class; -1 if the text is none.
static int64_t classIn(std::string_view text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == ' '))
    text.remove_suffix(1);
  int64_t value = -1;
  parseNumber(text, value);
  return value;
}

/// Throws Error with the number of labels that are none, and the first.
static std::vector<int32_t> classesOf(const std::string &place,
                                      const std::vector<TarSample> &samples,
                                      const ModelInput &input) {
  std::vector<int32_t> classes;
  int64_t wrong = 0;
  std::string first;
  for (const TarSample &sample : samples) {
    const int64_t label = classIn(sample.label);
    const bool ignored = label == input.ignoredLabel && !sample.label.empty();
    if (!ignored && (label < 0 || label >= input.classes) && wrong++ == 0)
      first = sample.name + (sample.label.empty() ? " has none"
                             : label < 0          ? " has no number"
                                                  : " has " + countText(label));
    classes.push_back(ignored ? -1 : static_cast<int32_t>(label));
  }
  if (wrong)
    throw Error(place + ": " + plural(wrong, "picture") +
                " without the number of a class (.cls), 0 to " +
                countText(input.classes - 1) + "; the first, " + first);
  return classes;
}

std::unique_ptr<DataSource> openTar(const std::string &place,
                                    const std::vector<std::string> &paths,
                                    DataRole role, const ModelInput &input) {
  const int64_t channels = pictureChannels(place, input);
  if (!input.loss.empty() && input.readsLabels(role))
    throw Error(place +
                ": archives have classes, and the model's loss is of "
                "numbers (" +
                input.loss + ")");
  std::vector<std::unique_ptr<TarFile>> shards;
  std::vector<TarSample> samples;
  for (const std::string &path : paths) {
    shards.push_back(std::make_unique<TarFile>(path));
    addSamples(*shards.back(), fs::path(path).filename().string(), samples);
  }
  std::erase_if(samples,
                [](const TarSample &sample) { return sample.picture.empty(); });
  if (samples.empty())
    throw Error(place + ": holds no pictures (JPEG, PNG, WebP, BMP)");
  std::vector<int32_t> classes;
  if (input.readsLabels(role))
    classes = classesOf(place, samples, input);
  return std::make_unique<TarSource>(place, std::move(shards),
                                     std::move(samples), std::move(classes),
                                     channels);
}

} // namespace lwcc::rt::train
