//===- CheckpointFolder.cpp - Which checkpoints there are -----------------===//
//
// Names, choice and state.json of checkpoints. Their tensors are
// Checkpoint.cpp's.
//
//===----------------------------------------------------------------------===//

#include "runtime/core/Error.h"
#include "runtime/train/Checkpoint.h"
#include "runtime/train/Files.h"
#include "runtime/train/Json.h"

#include <algorithm>
#include <charconv>
#include <filesystem>

namespace lwcc::rt::train {

namespace fs = std::filesystem;

static bool isCheckpoint(const fs::path &path) {
  std::error_code error;
  return fs::exists(path / "state.json", error);
}

std::vector<std::pair<int64_t, std::string>>
listCheckpoints(const std::string &folder) {
  std::vector<std::pair<int64_t, std::string>> found;
  std::error_code error;
  for (const fs::directory_entry &entry :
       fs::directory_iterator(folder, error)) {
    std::string name = entry.path().filename().string();
    int64_t step = 0;
    if (name.compare(0, 5, "step-") != 0)
      continue;
    const char *begin = name.data() + 5, *end = name.data() + name.size();
    if (std::from_chars(begin, end, step).ptr == end && begin != end &&
        isCheckpoint(entry.path()))
      found.emplace_back(step, entry.path().string());
  }
  std::sort(found.begin(), found.end());
  return found;
}

std::string resolveResume(const std::string &resume,
                          const std::string &folder) {
  bool automatic = resume == "auto";
  if (automatic && folder.empty())
    throw Error("--resume=auto needs --checkpoint-dir");
  if (!automatic && isCheckpoint(resume))
    return resume;
  auto checkpoints = listCheckpoints(automatic ? folder : resume);
  if (!checkpoints.empty())
    return checkpoints.back().second;
  if (automatic)
    return "";
  std::error_code error;
  throw Error(resume + (fs::exists(resume, error)
                            ? ": not a checkpoint: it holds neither state.json "
                              "nor folders step-N"
                            : ": no such checkpoint"));
}

CheckpointInfo readCheckpointInfo(const std::string &checkpoint) {
  std::string path = (fs::path(checkpoint) / "state.json").string();
  MappedFile file(path);
  Json json = parseJson(file.text(), path);
  auto require = [&](bool holds, const char *what) {
    if (!holds)
      throw Error(path + ": damaged: no " + what);
  };
  CheckpointInfo info;
  auto number = [&](const char *name, int64_t &value) {
    const Json *member = json.find(name);
    require(member && member->get(value) && value >= 0, name);
  };
  number("step", info.state.step);
  number("epoch", info.state.epoch);
  number("position", info.state.position);
  number("images", info.state.images);
  const Json *hash = json.find("model_hash");
  require(hash && hash->kind == Json::string, "model_hash");
  info.modelHash = hash->text;
  const Json *flags = json.find("flags");
  require(flags && flags->kind == Json::object, "flags");
  for (const auto &[name, value] : flags->members) {
    require(value.kind == Json::string, name.c_str());
    info.flags.emplace_back(name, value.text);
  }
  return info;
}

} // namespace lwcc::rt::train
