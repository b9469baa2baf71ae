//===- SeveralSources.cpp - Samples for a model of several inputs ---------===//
//
// Decides where the arrays of several inputs are: each by the input's name in
// the ONNX file, beside labels or targets, in a folder of .npy files or in one
// .npz file. So are labels of several outputs, by their names; a model's only
// input is then `images` or `tokens`, as elsewhere. What is in an array is
// checked by ArraySource.cpp; all faults are said at once.
//
//===----------------------------------------------------------------------===//

#include "runtime/core/Error.h"
#include "runtime/train/data/DataSource.h"
#include "runtime/train/files/Text.h"
#include "runtime/train/files/ZipFile.h"

#include <algorithm>
#include <cassert>
#include <filesystem>
#include <functional>

namespace lwcc::rt::train {

namespace {
/// The first source with the others beside it.
class Several : public DataSource {
public:
  Several(std::vector<std::unique_ptr<DataSource>> sources, size_t count)
      : parts(std::move(sources)), inputs(count) {
    isOwnTarget = parts.front()->isOwnTarget;
  }

  int64_t size() const override { return parts[0]->size(); }
  SampleFormat format() const override { return parts[0]->format(); }
  int32_t label(int64_t index) const override { return parts[0]->label(index); }
  void labels(int64_t index, std::span<int32_t> out) const override {
    parts[0]->labels(index, out);
  }
  void targets(int64_t index, std::span<float> out) const override {
    parts[0]->targets(index, out);
  }
  void read(int64_t index, Sample &sample) const override {
    parts[0]->read(index, sample);
  }
  std::string describe() const override {
    std::string text = plural(size(), "sample");
    for (size_t k = 0; k < inputs; ++k)
      text += (k == 0 ? ": " : ", ") + parts[k]->format().text();
    return text;
  }
  std::vector<std::string> classNames() const override {
    return parts[0]->classNames();
  }
  const DataSource &part(size_t input) const override { return *parts[input]; }

private:
  std::vector<std::unique_ptr<DataSource>> parts;
  size_t inputs; ///< of the parts
};

/// Arrays by their names, in a folder or in an archive.
class Arrays {
public:
  explicit Arrays(const std::string &path) : place(path) {
    std::error_code error;
    if (std::filesystem::is_directory(place, error))
      return;
    if (!std::filesystem::exists(place, error))
      throw Error(place + ": no such folder");
    archive.emplace(place);
  }
  bool has(const std::string &name) const {
    std::error_code error;
    return archive ? member(name) != nullptr
                   : std::filesystem::exists(pathOf(name), error);
  }
  Array read(const std::string &name) const {
    if (!archive)
      return readNpy(pathOf(name));
    ZipFile::Bytes bytes = archive->read(*member(name));
    return parseNpy(place + ": " + name + ".npy", bytes.text, bytes.owner);
  }

private:
  std::string pathOf(const std::string &name) const {
    return place + "/" + name + ".npy";
  }
  const ZipFile::Member *member(const std::string &name) const {
    for (const ZipFile::Member &each : archive->members())
      if (each.name == name + ".npy")
        return &each;
    return nullptr;
  }

  std::string place;
  std::optional<ZipFile> archive;
};
} // namespace

std::unique_ptr<DataSource>
joinSources(std::vector<std::unique_ptr<DataSource>> parts, size_t inputs) {
  return parts.size() == 1
             ? std::move(parts.front())
             : std::make_unique<Several>(std::move(parts), inputs);
}

std::unique_ptr<DataSource> openSeveral(const std::string &place, DataRole role,
                                        const std::vector<ModelInput> &inputs) {
  const Arrays arrays(place);
  const std::vector<ModelInput> outputs = role == DataRole::training
                                              ? inputs.front().auxiliary
                                              : std::vector<ModelInput>();
  auto nameOf = [&](const ModelInput &input) -> std::string {
    return inputs.size() > 1                       ? input.name
           : input.tokens && !arrays.has("images") ? "tokens"
                                                   : "images";
  };
  std::vector<std::string> missing, list;
  for (const ModelInput &input : inputs) {
    if (!arrays.has(nameOf(input)))
      missing.push_back(nameOf(input) + ".npy");
    const char *kind = input.tokens ? "integer" : "number";
    list.push_back(nameOf(input) + ": " +
                   (input.dims.empty()
                        ? std::string("one ") + kind
                        : dimsText(input.dims) + " " + kind + "s"));
  }
  const bool ofNumbers = !inputs.front().loss.empty();
  const std::string labels =
      ofNumbers && !arrays.has("labels") ? "targets" : "labels";
  const bool labelled = inputs.front().readsLabels(role);
  if (labelled && !arrays.has(labels))
    missing.push_back(labels + ".npy");
  std::string more;
  for (const ModelInput &output : outputs) {
    if (!arrays.has(output.name))
      missing.push_back(output.name + ".npy");
    more += ", " + output.name;
  }
  if (!missing.empty())
    throw Error(place + ": lacks " + listOf(missing) + "; the model has " +
                plural(int64_t(inputs.size()), "input") + " (" + listOf(list) +
                "), each of which is an array by its name, in a folder "
                "(NAME.npy) or a file .npz, beside " +
                labels + more);

  std::vector<std::unique_ptr<DataSource>> parts;
  std::string faults;
  auto attempt = [&](const std::function<void()> &step) {
    try {
      step();
    } catch (const Error &error) {
      faults += (faults.empty() ? "" : "\n") + std::string(error.what());
    }
  };
  const ModelInput *first = nullptr; ///< that could be read
  for (const ModelInput &input : inputs)
    attempt([&] {
      const bool isFirst = &input == &inputs.front();
      parts.push_back(makeArraySource(arrays.read(nameOf(input)),
                                      isFirst && labelled
                                          ? std::optional(arrays.read(labels))
                                          : std::nullopt,
                                      input));
      parts.back()->isOwnTarget &= inputs.size() == 1;
      first = first ? first : &input;
      if (parts.back()->size() != parts.front()->size())
        throw Error(place + ": " + input.name + " has " +
                    plural(parts.back()->size(), "sample") + ", but " +
                    first->name + " has " + countText(parts.front()->size()));
    });
  for (const ModelInput &output : outputs)
    attempt([&] {
      if (first)
        parts.push_back(makeLabelSource(arrays.read(output.name),
                                        parts.front()->size(),
                                        place + ": " + nameOf(*first), output));
    });
  if (!faults.empty())
    throw Error(faults);
  return joinSources(std::move(parts), inputs.size());
}

} // namespace lwcc::rt::train
