//===- DataSource.cpp - What a data folder holds --------------------------===//

#include "runtime/train/data/DataSource.h"

#include "runtime/core/Error.h"
#include "runtime/train/files/Text.h"

#include <algorithm>
#include <filesystem>

namespace lwcc::rt::train {

std::vector<ModelInput> inputsOf(const Program &program) {
  const std::vector<int64_t> &labels = program.labels.dims;
  std::vector<ModelInput> inputs;
  for (const InputTensor &input : program.inputs)
    inputs.push_back({.dims = {input.dims.begin() + 1, input.dims.end()},
                      .classes = program.classes,
                      .tokens = input.tokens,
                      .labels = {labels.begin() + 1, labels.end()},
                      .loss = program.lossName,
                      .name = input.name,
                      .channelsLast = input.channelsLast});
  for (const InputTensor &output : program.auxiliary) {
    assert(output.name.starts_with(auxiliaryPrefix) &&
           "named by train-add-loss");
    ModelInput own = {.dims = {},
                      .classes = output.tokens,
                      .labels = {output.dims.begin() + 1, output.dims.end()},
                      .loss = output.tokens ? "" : "numbers",
                      .name = output.name.substr(auxiliaryPrefix.size())};
    inputs.front().auxiliary.push_back(std::move(own));
  }
  return inputs;
}

bool ModelInput::reconstructs() const {
  return !loss.empty() && !tokens && elementsOf(dims) == labelsPerSample();
}

namespace fs = std::filesystem;

//===----------------------------------------------------------------------===//
// MNIST's file names
//===----------------------------------------------------------------------===//

namespace {
/// One pair of IDX files in a folder.
struct IdxPair {
  std::string prefix; ///< "train-", "t10k-", "emnist-digits-test-", ""
  std::string images, labels;
};
} // namespace

/// Splits "train-images-idx3-ubyte.gz" into "train-"; false if it is not the
/// name of an images file. Both usual spellings, "-idx3" and ".idx3".
static bool splitImagesName(std::string_view name, std::string &prefix) {
  if (name.ends_with(".gz"))
    name.remove_suffix(3);
  for (std::string_view suffix : {"images-idx3-ubyte", "images.idx3-ubyte"})
    if (name.ends_with(suffix)) {
      prefix = name.substr(0, name.size() - suffix.size());
      return true;
    }
  return false;
}

static std::vector<IdxPair> findIdxPairs(const fs::path &folder,
                                         const std::vector<std::string> &names,
                                         bool labelled) {
  std::vector<IdxPair> pairs;
  for (const std::string &name : names) {
    IdxPair pair;
    if (!splitImagesName(name, pair.prefix))
      continue;
    // The same set, packed and unpacked, is one set.
    if (std::any_of(pairs.begin(), pairs.end(), [&](const IdxPair &other) {
          return other.prefix == pair.prefix;
        }))
      continue;
    pair.images = (folder / name).string();
    for (const char *tail : {"labels-idx1-ubyte", "labels.idx1-ubyte",
                             "labels-idx1-ubyte.gz", "labels.idx1-ubyte.gz"})
      if (std::find(names.begin(), names.end(), pair.prefix + tail) !=
              names.end() &&
          pair.labels.empty())
        pair.labels = (folder / (pair.prefix + tail)).string();
    if (pair.labels.empty() && labelled)
      throw Error(pair.images + ": there is no " + pair.prefix +
                  "labels-idx1-ubyte(.gz) beside it");
    pairs.push_back(std::move(pair));
  }
  return pairs;
}

/// The one pair that serves the role.
static IdxPair choosePair(const std::string &folder,
                          const std::vector<IdxPair> &pairs, DataRole role) {
  if (pairs.size() == 1)
    return pairs.front();
  std::vector<IdxPair> fitting;
  for (const IdxPair &pair : pairs) {
    auto has = [&](const char *word) {
      return pair.prefix.find(word) != std::string::npos;
    };
    if (role == DataRole::training ? has("train") : has("t10k") || has("test"))
      fitting.push_back(pair);
  }
  if (fitting.size() == 1)
    return fitting.front();
  std::string list;
  for (const IdxPair &pair : pairs)
    list += "\n  " + pair.images;
  throw Error(folder +
              ": holds several sets of images and it is not clear "
              "which one to take:" +
              list);
}

//===----------------------------------------------------------------------===//
// Folders
//===----------------------------------------------------------------------===//

/// Of several files, those whose names say that they serve a role.
static std::vector<std::string>
servingRole(const std::vector<std::string> &names, DataRole role) {
  std::vector<std::string> fitting;
  for (const std::string &name : names)
    if ((name.find("train") != std::string::npos) ==
        (role == DataRole::training))
      fitting.push_back(name);
  return fitting;
}

/// Who reads a file that holds all of a data set; null: nobody does.
static auto *readerOf(const std::string &name) {
  return name.ends_with(".npz")   ? &openNpz
         : name.ends_with(".csv") ? &openCsv
         : name.ends_with(".tsv") ? &openCsv
                                  : nullptr;
}

/// The one file of a folder that serves a role; null if there is none.
static std::unique_ptr<DataSource>
openOneFile(const std::string &folder, const std::vector<std::string> &names,
            DataRole role, const ModelInput &input) {
  std::vector<std::string> files;
  for (const std::string &name : names)
    if (readerOf(name))
      files.push_back(name);
  if (files.empty())
    return nullptr;
  const std::vector<std::string> fitting =
      files.size() == 1 ? files : servingRole(files, role);
  if (fitting.size() != 1)
    throw Error(folder + ": holds several data sets (" + listOf(files) +
                "); name the one to take, such as " + folder + "/" +
                files.front());
  return readerOf(fitting.front())(folder + "/" + fitting.front(), role, input);
}

/// Archives of pictures: those of the role, if their names tell, else all. Null
/// if there are none.
static std::unique_ptr<DataSource>
openShards(const std::string &folder, const std::vector<std::string> &names,
           DataRole role, const ModelInput &input) {
  std::vector<std::string> all;
  for (const std::string &name : names)
    if (name.ends_with(".tar"))
      all.push_back(name);
  if (all.empty())
    return nullptr;
  std::vector<std::string> paths = servingRole(all, role);
  if (paths.empty())
    paths = all;
  for (std::string &path : paths)
    path.insert(0, folder + "/");
  return openTar(folder, paths, role, input);
}

static std::unique_ptr<DataSource>
openFolder(const std::string &folder, DataRole role, const ModelInput &input) {
  std::error_code error;
  if (!fs::exists(folder, error))
    throw Error(folder + ": no such folder");
  if (!fs::is_directory(folder, error))
    throw Error(folder +
                ": not a folder, nor a file of data (.npz, .tar, .csv, .tsv)");
  std::vector<std::string> names;
  for (const fs::directory_entry &entry : fs::directory_iterator(folder, error))
    names.push_back(entry.path().filename().string());
  if (error)
    throw Error(folder + ": cannot read: " + error.message());
  std::sort(names.begin(), names.end());
  auto holds = [&](const char *name) {
    return std::binary_search(names.begin(), names.end(), name);
  };

  fs::path path(folder);
  const std::string array =
      input.tokens && !holds("images.npy") ? "tokens.npy" : "images.npy";
  const bool ofNumbers = !input.loss.empty();
  const bool labelled = input.readsLabels(role);
  const std::string labels =
      ofNumbers && !holds("labels.npy") ? "targets.npy" : "labels.npy";
  const bool hasImages = holds(array.c_str());
  const bool hasLabels = holds(labels.c_str());
  // A model that gives back what it gets needs no others.
  const bool mayLack = !labelled || input.reconstructs();
  if (hasImages != hasLabels && (!mayLack || !hasImages))
    throw Error(folder + ": holds " +
                (hasImages ? array + " but no " + labels
                           : labels + " but no " + array));
  if (hasImages)
    return makeArraySource(
        readNpy((path / array).string()),
        labelled && hasLabels ? std::optional(readNpy((path / labels).string()))
                              : std::nullopt,
        input);

  if (std::vector<IdxPair> pairs = findIdxPairs(path, names, labelled);
      !pairs.empty()) {
    IdxPair pair = choosePair(folder, pairs, role);
    return makeArraySource(readIdx(pair.images),
                           labelled && !input.reconstructs()
                               ? std::optional(readIdx(pair.labels))
                               : std::nullopt,
                           input);
  }
  if (input.tokens) {
    if (auto tokens = openTokens(folder, names, role, input))
      return tokens;
    if (auto file = openOneFile(folder, names, role, input))
      return file;
    throw Error(folder +
                ": nothing readable here; a data folder for a model of tokens "
                "holds either\n"
                "  tokens.npy and labels.npy (NumPy, integers), or\n"
                "  train.bin (uint16; val.bin for validation), or\n"
                "  a text, NAME.txt, whose bytes are the tokens (train.txt and "
                "val.txt, if there are two)");
  }
  if (auto cifar = openCifar(folder, names, role, input))
    return cifar;
  if (labelled && input.reconstructs())
    if (auto pictures = openUnlabelled(folder, input)) {
      pictures->isOwnTarget = true;
      return pictures;
    }
  if (labelled && ofNumbers &&
      !(input.loss == "bce" && input.labelsPerSample() == 1)) {
    if (auto file = openOneFile(folder, names, role, input))
      return file;
    throw Error(
        folder + ": the model's loss is of numbers (" + input.loss +
        "), of which a data folder holds a table (.csv), or images.npy (or "
        "tokens.npy) and targets.npy, " +
        countText(input.labelsPerSample()) + " per sample");
  }
  if (auto shards = openShards(folder, names, role, input))
    return shards;
  if (auto pictures = labelled ? openPictures(folder, input)
                               : openUnlabelled(folder, input))
    return pictures;
  // Last: beside pictures a table is a list of them.
  if (auto file = openOneFile(folder, names, role, input))
    return file;
  const std::string nothing = folder + ": nothing readable here; a ";
  if (!labelled)
    throw Error(nothing +
                (role == DataRole::prediction ? "folder to predict"
                                              : "data folder without labels") +
                " holds either\n"
                "  pictures (JPEG, PNG, WebP, BMP), at any depth, or\n"
                "  images.npy (NumPy), or\n"
                "  t10k-images-idx3-ubyte(.gz) (MNIST), or\n"
                "  test_batch.bin or test.bin (CIFAR), or\n"
                "  a table of numbers (.csv)");
  throw Error(
      nothing +
      "data folder holds either\n"
      "  a folder of pictures (JPEG, PNG, WebP, BMP) for each class, "
      "or\n"
      "  images.npy and labels.npy (NumPy), or\n"
      "  train-images-idx3-ubyte(.gz) and "
      "train-labels-idx1-ubyte(.gz) (MNIST; t10k-... for validation), "
      "or\n"
      "  data_batch_1.bin ... or train.bin (CIFAR-10, CIFAR-100; "
      "test_batch.bin or test.bin for validation), or\n"
      "  train.csv (a table; any other name for validation), or\n"
      "  data.npz (NumPy: images and labels, or x_train and y_train), or\n"
      "  train-000.tar ... (WebDataset: pictures and .cls)");
}

std::unique_ptr<DataSource> openData(const std::string &place, DataRole role,
                                     const std::vector<ModelInput> &inputs,
                                     int64_t syntheticImages) {
  if (place == "synthetic") {
    std::vector<std::unique_ptr<DataSource>> parts;
    for (const ModelInput &input : inputs)
      parts.push_back(makeSynthetic(syntheticImages, input));
    for (const ModelInput &output : inputs.front().auxiliary)
      parts.push_back(makeSynthetic(syntheticImages, output));
    parts.front()->isOwnTarget =
        inputs.size() == 1 && inputs.front().reconstructs();
    return joinSources(std::move(parts), inputs.size());
  }
  const bool hasMore =
      role == DataRole::training && !inputs.front().auxiliary.empty();
  if (inputs.size() > 1 || hasMore)
    return openSeveral(place, role, inputs);
  const ModelInput &input = inputs.front();
  std::error_code error;
  if (place.ends_with(".tar") && fs::is_regular_file(place, error))
    return openTar(place, {place}, role, input);
  if (auto *reader = readerOf(place);
      reader && fs::is_regular_file(place, error))
    return reader(place, role, input);
  return openFolder(place, role, input);
}

} // namespace lwcc::rt::train
