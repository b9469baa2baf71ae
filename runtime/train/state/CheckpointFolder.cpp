//===- CheckpointFolder.cpp - Which checkpoints there are -----------------===//
//
// Names, order, choice and state.json of checkpoints, and the lock of their
// folder. Their tensors are Checkpoint.cpp's.
//
//===----------------------------------------------------------------------===//

#include "runtime/core/Error.h"
#include "runtime/train/files/Files.h"
#include "runtime/train/files/Json.h"
#include "runtime/train/state/Checkpoint.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <limits>

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

namespace lwcc::rt::train {

namespace fs = std::filesystem;

/// More than what a training is told by flags and paths.
static constexpr int64_t maxState = 1 << 20;
/// Steps, epochs and images have numbers of 32 bits.
static constexpr int64_t maxCount = std::numeric_limits<uint32_t>::max();

static bool isCheckpoint(const fs::path &path) {
  std::error_code error;
  return fs::exists(path / "state.json", error);
}

static Json readState(const std::string &path) {
  MappedFile file(path);
  if (file.size() > maxState)
    throw Error(path + ": damaged: far too large");
  return parseJson(file.text(), path);
}

static std::string statePath(const std::string &checkpoint) {
  return (fs::path(checkpoint) / "state.json").string();
}

/// The count of saves, or 0 in checkpoints that were written without one.
static int64_t saveOf(const Json &state, const std::string &path) {
  const Json *member = state.find("save");
  int64_t save = 0;
  if (member && (!member->get(save) || save < 0 || save > maxCount))
    throw Error(path + ": damaged: save is out of range");
  return save;
}

std::vector<SavedCheckpoint> listCheckpoints(const std::string &folder) {
  std::vector<SavedCheckpoint> found;
  std::error_code error;
  for (const fs::directory_entry &entry :
       fs::directory_iterator(folder, error)) {
    std::string name = entry.path().filename().string();
    SavedCheckpoint checkpoint{0, 0, entry.path().string(), ""};
    if (name.compare(0, 5, "step-") != 0)
      continue;
    const char *begin = name.data() + 5, *end = name.data() + name.size();
    if (std::from_chars(begin, end, checkpoint.step).ptr != end ||
        begin == end || !isCheckpoint(entry.path()))
      continue;
    try {
      std::string path = statePath(checkpoint.path);
      checkpoint.save = saveOf(readState(path), path);
    } catch (const Error &problem) {
      checkpoint.save = -1;
      checkpoint.damage = problem.what();
    }
    found.push_back(std::move(checkpoint));
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
  if (!checkpoints.empty() && !checkpoints.front().damage.empty())
    throw Error(checkpoints.front().damage +
                "\n  it may be the latest checkpoint: remove it, or name the "
                "one to continue with --resume=PATH");
  if (!checkpoints.empty())
    return checkpoints.back().path;
  if (automatic)
    return "";
  std::error_code error;
  throw Error(resume + (fs::exists(resume, error)
                            ? ": not a checkpoint: it holds neither state.json "
                              "nor folders step-N"
                            : ": no such checkpoint"));
}

//===----------------------------------------------------------------------===//
// The lock
//===----------------------------------------------------------------------===//

FolderLock::~FolderLock() {
  if (held())
    ::close(descriptor);
}

void FolderLock::take(const std::string &folder) {
  if (held())
    return;
  // Held by the open file, so that it ends with the process, however that ends.
  // The file stays: to remove it would let two programs hold two of the name.
  std::string path = (fs::path(folder) / ".lock").string();
  int file = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  if (file < 0)
    throwSystemError(path, "write");
  char owner[32] = {};
  if (::flock(file, LOCK_EX | LOCK_NB) != 0) {
    bool taken = errno == EWOULDBLOCK;
    ssize_t length = ::pread(file, owner, sizeof owner - 1, 0);
    ::close(file);
    if (!taken) // a file system without locks
      return;
    throw Error(folder + ": another trainer" +
                (length > 0 ? " (process " + std::string(owner) + ")" : "") +
                " writes its checkpoints there; choose another folder, or wait "
                "for its end");
  }
  std::string text = std::to_string(::getpid());
  // Only for the message above.
  if (::ftruncate(file, 0) != 0 ||
      ::pwrite(file, text.data(), text.size(), 0) < 0) {
    int reason = errno;
    ::close(file);
    errno = reason;
    throwSystemError(path, "write");
  }
  descriptor = file;
}

static void requireMember(bool holds, const std::string &path,
                          const char *what) {
  if (!holds)
    throw Error(path + ": damaged: no " + what);
}

static int64_t countOf(const Json &json, const char *name,
                       const std::string &path) {
  const Json *member = json.find(name);
  int64_t value = 0;
  requireMember(member && member->get(value) && value >= 0, path, name);
  if (value > maxCount)
    throw Error(path + ": damaged: " + name + " is out of range");
  return value;
}

static ValidationHistory readHistory(const Json &json,
                                     const std::string &path) {
  ValidationHistory history;
  const Json *metric = json.find("metric"), *best = json.find("best");
  requireMember(metric && metric->kind == Json::string, path, "metric");
  history.metric = metric->text;
  history.step = countOf(json, "step", path);
  requireMember(best && best->get(history.best), path, "best");
  history.bestEpoch = countOf(json, "best_epoch", path);
  history.waited = countOf(json, "waited", path);
  const Json *level = json.find("level");
  requireMember(level && (level->kind == Json::null ||
                          level->get(history.level.emplace())),
                path, "level");
  if (level->kind == Json::null)
    history.level.reset();
  history.levelWaited = countOf(json, "level_waited", path);
  history.falls = countOf(json, "falls", path);
  return history;
}

CheckpointInfo readCheckpointInfo(const std::string &checkpoint) {
  std::string path = statePath(checkpoint);
  Json json = readState(path);
  auto require = [&](bool holds, const char *what) {
    requireMember(holds, path, what);
  };
  CheckpointInfo info;
  info.state.step = countOf(json, "step", path);
  info.state.epoch = countOf(json, "epoch", path);
  info.state.position = countOf(json, "position", path);
  info.state.images = countOf(json, "images", path);
  if (const Json *history = json.find("validations")) { // earlier have none
    require(history->kind == Json::object, "validations");
    info.state.validations = readHistory(*history, path);
  }
  const Json *hash = json.find("model_hash");
  require(hash && hash->kind == Json::string, "model_hash");
  info.modelHash = hash->text;
  if (const Json *optimizer = json.find("optimizer")) {
    require(optimizer->kind == Json::string, "optimizer");
    info.optimizer = optimizer->text;
  }
  const Json *flags = json.find("flags");
  require(flags && flags->kind == Json::object, "flags");
  for (const Json &flag : flags->items) {
    require(flag.kind == Json::string, flag.name.c_str());
    info.flags.emplace_back(flag.name, flag.text);
  }
  if (const Json *classes = json.find("classes")) { // earlier ones have none
    require(classes->kind == Json::array, "classes");
    for (const Json &name : classes->items) {
      require(name.kind == Json::string, "classes");
      info.classes.push_back(name.text);
    }
  }
  return info;
}

} // namespace lwcc::rt::train
