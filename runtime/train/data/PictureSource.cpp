//===- PictureSource.cpp - Folders of pictures, one for each class --------===//
//
// torchvision's ImageFolder: each folder is a class, their numbers follow the
// order of their names, and a class's pictures are all files below it, at any
// depth. Names that begin with a dot are passed over. Pictures are decoded by
// who reads them.
//
// Training decides the numbers of the classes. A validation set may lack some
// of them, but its classes keep the numbers of the training's. For prediction
// all pictures are one set without classes.
//
//===----------------------------------------------------------------------===//

#include "runtime/core/Error.h"
#include "runtime/train/data/DataSource.h"
#include "runtime/train/data/Picture.h"
#include "runtime/train/files/Text.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>

#include <sys/stat.h>

namespace lwcc::rt::train {

namespace fs = std::filesystem;

//===----------------------------------------------------------------------===//
// What is in a folder
//===----------------------------------------------------------------------===//

namespace {
struct FolderContent {
  std::vector<std::string> folders, pictures; ///< names, sorted
  std::vector<std::string> others;            ///< files that are no pictures
};

/// All pictures below a class's folder, with the first file that is none.
struct ClassContent {
  std::vector<std::string> pictures; ///< paths below the data folder
  int64_t others = 0;
  std::string firstOther;
};
} // namespace

static FolderContent contentOf(const fs::path &folder) {
  FolderContent content;
  std::error_code error, ignored;
  for (const fs::directory_entry &entry :
       fs::directory_iterator(folder, error)) {
    std::string name = entry.path().filename().string();
    if (name.starts_with("."))
      continue;
    if (entry.is_directory(ignored))
      content.folders.push_back(std::move(name));
    else if (isPictureName(name))
      content.pictures.push_back(std::move(name));
    else
      content.others.push_back(std::move(name));
  }
  if (error)
    throw Error(folder.string() + ": cannot read: " + error.message());
  for (auto *names : {&content.folders, &content.pictures, &content.others})
    std::sort(names->begin(), names->end());
  return content;
}

/// The path of what lies in a folder `below` the root, "" for the root itself.
static std::string joined(const std::string &below, const std::string &name) {
  return below.empty() ? name : below + "/" + name;
}

/// Links are followed; `above` holds the folders that are being walked through,
/// so that a link to one of them ends.
static void addPictures(const fs::path &root, const std::string &below,
                        std::set<std::pair<dev_t, ino_t>> &above,
                        ClassContent &content) {
  struct stat info;
  if (::stat((root / below).c_str(), &info) != 0)
    throw Error((root / below).string() + ": cannot be read");
  auto [here, isNew] = above.emplace(info.st_dev, info.st_ino);
  if (!isNew)
    return;
  FolderContent found = contentOf(root / below);
  for (const std::string &name : found.pictures)
    content.pictures.push_back(joined(below, name));
  if (content.others == 0 && !found.others.empty())
    content.firstOther = joined(below, found.others.front());
  content.others += int64_t(found.others.size());
  for (const std::string &name : found.folders)
    addPictures(root, joined(below, name), above, content);
  above.erase(here);
}

static ClassContent classContent(const fs::path &root,
                                 const std::string &name) {
  ClassContent content;
  std::set<std::pair<dev_t, ino_t>> above;
  addPictures(root, name, above, content);
  return content;
}

//===----------------------------------------------------------------------===//
// The source
//===----------------------------------------------------------------------===//

namespace {
struct PictureFile {
  std::string path; ///< below the data folder
  int32_t label;
};

class PictureSource : public DataSource {
public:
  PictureSource(const std::string &folder, std::vector<PictureFile> files,
                std::vector<std::string> classes, int64_t channels)
      : folder(folder), files(std::move(files)), classes(std::move(classes)) {
    shape = {channels, 0, 0, true, {'u', 1}, SampleLayout::pixels};
  }

  int64_t size() const override { return int64_t(files.size()); }
  SampleFormat format() const override { return shape; }
  int32_t label(int64_t index) const override { return files[index].label; }
  std::string nameOf(int64_t index) const override { return files[index].path; }
  std::vector<std::string> classNames() const override { return classes; }
  bool isDecoded() const override { return true; }

  void read(int64_t index, Sample &sample) const override {
    const std::string path = (fs::path(folder) / files[index].path).string();
    // Read, not mapped: a file is seen once and may change under a mapping.
    std::ifstream file(path, std::ios::binary | std::ios::ate);
    std::string bytes(std::max<std::streamoff>(file.tellg(), 0), '\0');
    if (!file.seekg(0).read(bytes.data(), std::streamsize(bytes.size())))
      throw BadSample(path + ": cannot be read");
    try {
      decodePicture(bytes, shape.channels, sample);
    } catch (const Error &error) {
      throw BadSample(path + ": " + error.what());
    }
  }

  std::string describe() const override {
    const auto count = int64_t(classes.size());
    return plural(size(), "picture") +
           (count ? " of " + plural(count, "class") : "") + ", " +
           (shape.channels == 1 ? "grey" : "RGB") + " (" + folder + ")";
  }

private:
  std::string folder;
  std::vector<PictureFile> files;
  std::vector<std::string> classes;
  SampleFormat shape;
};
} // namespace

int64_t pictureChannels(const std::string &folder, const ModelInput &input) {
  const std::vector<int64_t> &dims = input.dims;
  if (dims.size() == 3 && (dims[0] == 1 || dims[0] == 3))
    return dims[0];
  throw Error(folder +
              ": holds pictures, which need a model whose input is "
              "[n, 3, h, w] or [n, 1, h, w]; this one's is [n, " +
              [&] {
                std::string text;
                for (int64_t dim : dims)
                  text += (text.empty() ? "" : ", ") + std::to_string(dim);
                return text;
              }() +
              "]");
}

/// On files that are no pictures, "" if there are none. `examples` are some.
static std::string remarkOnOthers(int64_t count,
                                  const std::vector<std::string> &examples) {
  return count == 0 ? ""
                    : plural(count, "file") +
                          " passed over, not named as JPEG, PNG, WebP or BMP "
                          "are (" +
                          listOf(examples) + ")";
}

static std::unique_ptr<DataSource>
openClasses(const std::string &folder, const std::vector<std::string> &names,
            const ModelInput &input) {
  // The training's numbers, if there was one.
  const std::vector<std::string> &classes =
      input.classNames.empty() ? names : input.classNames;
  std::vector<PictureFile> files;
  std::vector<std::string> empty, unknown, others;
  int64_t otherFiles = 0;
  for (const std::string &name : names) {
    ClassContent content = classContent(folder, name);
    auto known = std::find(classes.begin(), classes.end(), name);
    if (known == classes.end())
      unknown.push_back(name);
    if (content.pictures.empty())
      empty.push_back(name);
    otherFiles += content.others;
    if (content.others)
      others.push_back(content.firstOther);
    auto label = static_cast<int32_t>(known - classes.begin());
    if (label == input.ignoredLabel)
      label = -1;
    for (std::string &path : content.pictures)
      files.push_back({std::move(path), label});
  }
  if (files.empty())
    return nullptr;
  std::vector<std::string> mistakes;
  if (!empty.empty())
    mistakes.push_back(plural(empty.size(), "folder") + " without a picture (" +
                       listOf(empty) +
                       "): each folder is a class, and needs some");
  if (!unknown.empty())
    mistakes.push_back(plural(unknown.size(), "class") +
                       " that the training lacks (" + listOf(unknown) +
                       "); it has " + listOf(classes));
  if (int64_t(classes.size()) > input.classes)
    mistakes.push_back(format("%zu classes (%s), but the model has %s",
                              classes.size(), listOf(classes).c_str(),
                              plural(input.classes, "output").c_str()));
  if (!mistakes.empty()) {
    std::string text;
    for (const std::string &mistake : mistakes)
      text += (text.empty() ? "" : "\n  ") + mistake;
    throw Error(folder + ": holds " + text);
  }
  auto source = std::make_unique<PictureSource>(
      folder, std::move(files), classes, pictureChannels(folder, input));
  source->remark = remarkOnOthers(otherFiles, others);
  return source;
}

std::unique_ptr<DataSource> openUnlabelled(const std::string &folder,
                                           const ModelInput &input) {
  ClassContent content = classContent(folder, "");
  if (content.pictures.empty())
    return nullptr;
  std::sort(content.pictures.begin(), content.pictures.end());
  std::vector<PictureFile> files;
  for (std::string &path : content.pictures)
    files.push_back({std::move(path), -1});
  auto source = std::make_unique<PictureSource>(folder, std::move(files),
                                                std::vector<std::string>(),
                                                pictureChannels(folder, input));
  source->remark = remarkOnOthers(content.others, {content.firstOther});
  return source;
}

std::unique_ptr<DataSource> openPictures(const std::string &folder,
                                         const ModelInput &input) {
  FolderContent content = contentOf(folder);
  if (!content.pictures.empty())
    throw Error(folder + ": holds " +
                plural(content.pictures.size(), "picture") +
                (content.folders.empty() ? "" : " beside folders") + " (" +
                listOf(content.pictures) +
                "); put each into the folder of its class, as in " + folder +
                "/cat/" + content.pictures.front());
  return openClasses(folder, content.folders, input);
}

} // namespace lwcc::rt::train
