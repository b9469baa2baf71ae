//===- CifarReader.cpp - CIFAR-10's and CIFAR-100's binary files ----------===//
//
// A file is images of 3073 bytes: a label, and three planes of 32 x 32. One of
// CIFAR-100 has two labels before the planes, the superclass and the class
// (Krizhevsky, "Learning multiple layers of features from tiny images", 2009).
// Images are copied out, since labels lie between them. Which of the labels of
// CIFAR-100 counts is said by the model's number of classes.
//
//===----------------------------------------------------------------------===//

#include "runtime/core/Error.h"
#include "runtime/train/data/DataSource.h"
#include "runtime/train/files/Files.h"
#include "runtime/train/files/Text.h"

#include <algorithm>
#include <filesystem>

namespace lwcc::rt::train {

namespace {
constexpr int64_t side = 32, imageBytes = 3 * side * side;

/// The files of a folder that serve a role.
struct CifarFiles {
  std::vector<std::string> names;
  int64_t labelBytes = 1;
};
} // namespace

static CifarFiles findFiles(const std::vector<std::string> &names,
                            DataRole role) {
  CifarFiles training, test;
  for (const std::string &name : names) {
    if (name == "test_batch.bin")
      test.names.push_back(name);
    else if (name.starts_with("data_batch_") && name.ends_with(".bin"))
      training.names.push_back(name);
  }
  if (training.names.empty() && test.names.empty())
    for (const std::string &name : names) {
      CifarFiles &files = name == "test.bin" ? test : training;
      if (name != "test.bin" && name != "train.bin")
        continue;
      files.names.push_back(name);
      files.labelBytes = 2;
    }
  CifarFiles &wanted = role == DataRole::training ? training : test;
  CifarFiles &other = role == DataRole::training ? test : training;
  return wanted.names.empty() ? other : wanted;
}

/// The classes by their numbers, as the data set's own list has them; empty if
/// there is none of so many.
static std::vector<std::string> readClassNames(const std::string &path,
                                               int64_t classes) {
  if (!std::filesystem::exists(path))
    return {};
  MappedFile file(path);
  std::vector<std::string> names;
  std::string_view rest = file.text();
  while (!rest.empty()) {
    const size_t end = std::min(rest.find('\n'), rest.size());
    std::string_view line = rest.substr(0, end);
    while (!line.empty() && line.back() == '\r')
      line.remove_suffix(1);
    if (!line.empty())
      names.emplace_back(line);
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return int64_t(names.size()) == classes ? names : std::vector<std::string>();
}

std::unique_ptr<DataSource> openCifar(const std::string &folder,
                                      const std::vector<std::string> &names,
                                      DataRole role, const ModelInput &input) {
  const CifarFiles files = findFiles(names, role);
  if (files.names.empty())
    return nullptr;
  const int64_t itemBytes = files.labelBytes + imageBytes;
  auto images = std::make_shared<std::vector<char>>();
  auto labels = std::make_shared<std::vector<char>>();
  constexpr int64_t superclasses = 20;
  const bool isSuper = files.labelBytes == 2 && input.classes == superclasses;
  for (const std::string &name : files.names) {
    const std::string path = folder + "/" + name;
    MappedFile file(path);
    if (file.size() == 0 || file.size() % itemBytes)
      throw Error(path + ": holds " + plural(file.size(), "byte") +
                  ", which are no whole images of CIFAR-" +
                  (files.labelBytes == 1 ? "10" : "100") + ", " +
                  plural(itemBytes, "byte") + " each");
    for (int64_t at = 0; at < file.size(); at += itemBytes) {
      const char *item = file.data() + at, *planes = item + files.labelBytes;
      labels->push_back(isSuper ? item[0] : planes[-1]);
      images->insert(images->end(), planes, planes + imageBytes);
    }
  }
  const auto count = static_cast<int64_t>(labels->size());
  const std::string path =
      folder + "/" + files.names.front() +
      (files.names.size() > 1 ? ".." + files.names.back() : "");
  Array pixels{path, {'u', 1}, {count, 3, side, side}, images->data(), images};
  Array classes{path, {'u', 1}, {count}, labels->data(), labels};
  const char *list = files.labelBytes == 1 ? "batches.meta.txt"
                     : isSuper             ? "coarse_label_names.txt"
                                           : "fine_label_names.txt";
  return makeArraySource(std::move(pixels),
                         !input.readsLabels(role) || input.reconstructs()
                             ? std::nullopt
                             : std::optional(std::move(classes)),
                         input,
                         readClassNames(folder + "/" + list, input.classes));
}

} // namespace lwcc::rt::train
