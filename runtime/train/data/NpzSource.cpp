//===- NpzSource.cpp - Arrays in one archive of NumPy ---------------------===//
//
// Decides which arrays of an .npz file serve a role. They are found by the
// names that people give them:
//
//   images, labels      numpy.savez(images=..., labels=...)
//   x_train, y_train    Keras; x_test, y_test to validate on
//   train_images, ...   MedMNIST, with train_labels; val_..., test_...
//   data, target        scikit-learn
//   arr_0, arr_1        numpy.savez of arrays without names
//
// What is in the arrays is checked by ArraySource.cpp.
//
//===----------------------------------------------------------------------===//

#include "runtime/core/Error.h"
#include "runtime/train/data/DataSource.h"
#include "runtime/train/files/Text.h"
#include "runtime/train/files/ZipFile.h"

#include <algorithm>

namespace lwcc::rt::train {

namespace {
/// What the two arrays are called, without the part that says the role.
struct Names {
  const char *images, *labels;
};

/// The arrays of a role; no labels where there are none.
struct Found {
  const ZipFile::Member *images = nullptr, *labels = nullptr;
};
} // namespace

static constexpr Names known[] = {{"images", "labels"}, {"images", "targets"},
                                  {"tokens", "labels"}, {"x", "y"},
                                  {"X", "y"},           {"data", "target"},
                                  {"data", "labels"},   {"arr_0", "arr_1"}};

static const ZipFile::Member *findMember(const ZipFile &file,
                                         const std::string &name) {
  for (const ZipFile::Member &member : file.members())
    if (member.name == name + ".npy")
      return &member;
  return nullptr;
}

/// The first pair that is there: of the role's own name, else of none.
static Found findArrays(const ZipFile &file, DataRole role, bool mayLack) {
  const std::vector<std::string> parts =
      role == DataRole::training
          ? std::vector<std::string>{"train", ""}
          : std::vector<std::string>{"val", "valid", "test", ""};
  for (const std::string &part : parts)
    for (const Names &names : known) {
      auto of = [&](const std::string &base) {
        if (part.empty())
          return findMember(file, base);
        const ZipFile::Member *ahead = findMember(file, part + "_" + base);
        return ahead ? ahead : findMember(file, base + "_" + part);
      };
      Found found{of(names.images), of(names.labels)};
      if (found.images && (found.labels || mayLack))
        return found;
    }
  return {};
}

std::unique_ptr<DataSource> openNpz(const std::string &path, DataRole role,
                                    const ModelInput &input) {
  const ZipFile file(path);
  const bool isAsked = !input.readsLabels(role);
  Found found = findArrays(file, role, /*mayLack=*/false);
  if (!found.images && (isAsked || input.reconstructs()))
    found = findArrays(file, role, /*mayLack=*/true);
  if (!found.images) {
    std::vector<std::string> names;
    for (const ZipFile::Member &member : file.members())
      names.push_back(member.name.ends_with(".npy")
                          ? member.name.substr(0, member.name.size() - 4)
                          : member.name);
    throw Error(path + ": holds " +
                (names.empty() ? "nothing" : listOf(names)) +
                "; expected images and labels (or x and y, data and target), "
                "or x_train, y_train, x_test and y_test");
  }
  auto arrayOf = [&](const ZipFile::Member &member) {
    ZipFile::Bytes bytes = file.read(member);
    return parseNpy(path + ": " + member.name, bytes.text, bytes.owner);
  };
  return makeArraySource(arrayOf(*found.images),
                         found.labels && !isAsked
                             ? std::optional(arrayOf(*found.labels))
                             : std::nullopt,
                         input);
}

} // namespace lwcc::rt::train
