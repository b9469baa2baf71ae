//===- Checkpoint.cpp - A training that can be continued ------------------===//

#include "runtime/train/state/Checkpoint.h"

#include "runtime/core/Error.h"
#include "runtime/train/files/Json.h"
#include "runtime/train/files/OutputFiles.h"
#include "runtime/train/files/SystemError.h"
#include "runtime/train/files/Temporaries.h"
#include "runtime/train/files/Text.h"
#include "runtime/train/state/GlobalTensors.h"
#include "runtime/train/state/Safetensors.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>
#include <unordered_set>

#include <fcntl.h>
#include <unistd.h>

namespace lwcc::rt::train {

namespace fs = std::filesystem;

namespace {
/// One of the two files of tensors.
struct Part {
  const char *file;
  bool optimizer;

  bool holds(const StateTensor &state) const {
    return state.role != Role::constant &&
           (state.role == Role::optimizer) == optimizer;
  }
  bool isOf(CheckpointPart wanted) const {
    return wanted == CheckpointPart::all || !optimizer;
  }
};
} // namespace

static constexpr Part parts[] = {{"model.safetensors", false},
                                 {"optim.safetensors", true}};

//===----------------------------------------------------------------------===//
// Loading
//===----------------------------------------------------------------------===//

void checkCheckpoint(const std::string &checkpoint, const Program &program,
                     CheckpointPart wanted) {
  std::vector<std::string> missing, extra, different;
  for (const Part &part : parts) {
    if (!part.isOf(wanted))
      continue;
    SafetensorsFile file((fs::path(checkpoint) / part.file).string());
    size_t found = 0;
    for (const StateTensor &state : program.state) {
      if (!part.holds(state))
        continue;
      const GlobalTensor &tensor = state.tensor;
      const TensorEntry *entry = file.find(tensor.name);
      if (!entry) {
        missing.push_back(tensor.name + " " + dimsText(tensor.dims));
        continue;
      }
      ++found;
      if (entry->dims != tensor.dims ||
          entry->type != fileTypeOf(typeOf(tensor)))
        different.push_back(
            format("%s: %s %s in the checkpoint, %s %s in the program",
                   tensor.name.c_str(), dimsText(entry->dims).c_str(),
                   nameOf(entry->type), dimsText(tensor.dims).c_str(),
                   nameOf(fileTypeOf(typeOf(tensor)))));
    }
    if (found == file.tensors().size())
      continue;
    std::unordered_set<std::string> known;
    for (const StateTensor &state : program.state)
      if (part.holds(state))
        known.insert(state.tensor.name);
    for (const TensorEntry &entry : file.tensors())
      if (!known.count(entry.name))
        extra.push_back(entry.name + " " + dimsText(entry.dims));
  }
  if (missing.empty() && extra.empty() && different.empty())
    return;
  throw Error(checkpoint + ": is a checkpoint of another model than " +
              program.model + listText("not in the checkpoint", missing) +
              listText("only in the checkpoint", extra) +
              listText("of another shape or type", different));
}

void loadCheckpoint(const std::string &checkpoint, const Program &program,
                    Machine &machine, CheckpointPart wanted) {
  std::vector<char> aligned;
  for (const Part &part : parts) {
    if (!part.isOf(wanted))
      continue;
    SafetensorsFile file((fs::path(checkpoint) / part.file).string());
    for (const StateTensor &state : program.state) {
      if (!part.holds(state))
        continue;
      const TensorEntry *entry = file.find(state.tensor.name);
      if (!entry || entry->bytes != bytesOf(state.tensor))
        throw Error(checkpoint + ": changed while it was read");
      // Copied, since other writers may align nothing.
      aligned.resize(std::max<size_t>(aligned.size(), entry->bytes));
      std::memcpy(aligned.data(), file.data(*entry), entry->bytes);
      writeGlobal(machine, state.tensor, aligned.data());
    }
  }
}

//===----------------------------------------------------------------------===//
// Saving
//===----------------------------------------------------------------------===//

static void writePart(const fs::path &folder, const Part &part,
                      const Program &program, Machine &machine) {
  std::vector<const StateTensor *> states;
  for (const StateTensor &state : program.state)
    if (part.holds(state))
      states.push_back(&state);
  // Larger elements first: then every tensor is aligned to its elements.
  std::stable_sort(states.begin(), states.end(),
                   [](const StateTensor *a, const StateTensor *b) {
                     return sizeOf(typeOf(a->tensor)) >
                            sizeOf(typeOf(b->tensor));
                   });
  std::vector<TensorEntry> entries;
  for (const StateTensor *state : states) {
    TensorEntry entry;
    entry.name = state->tensor.name;
    entry.type = fileTypeOf(typeOf(state->tensor));
    entry.dims = state->tensor.dims;
    entries.push_back(entry);
  }
  SafetensorsWriter writer((folder / part.file).string(), std::move(entries),
                           {{"format", "pt"}, {"model", program.model}});
  std::vector<char> host;
  for (const StateTensor *state : states) {
    host.resize(std::max<size_t>(host.size(), bytesOf(state->tensor)));
    readGlobal(machine, state->tensor, host.data());
    writer.append(host.data());
  }
  writer.finish();
}

static std::string historyText(const ValidationHistory &history) {
  auto exact = [](double value) { return format("%.17g", value); };
  return JsonObject()
      .add("metric", history.metric)
      .add("step", history.step)
      .addRaw("best", exact(history.best))
      .add("best_epoch", history.bestEpoch)
      .add("waited", history.waited)
      .addRaw("level", history.level ? exact(*history.level) : "null")
      .add("level_waited", history.levelWaited)
      .add("falls", history.falls)
      .str();
}

static std::string stateText(const CheckpointInfo &info, int64_t save,
                             const Program &program) {
  JsonObject flags;
  for (const auto &[name, value] : info.flags)
    flags.add(name, value);
  std::string classes;
  for (const std::string &name : info.classes)
    classes += (classes.empty() ? "" : ", ") + jsonQuote(name);
  JsonObject state;
  state.add("format", 1)
      .add("save", save)
      .add("model", program.model)
      .add("model_hash", info.modelHash)
      .add("compiler", program.compiler)
      .add("optimizer", program.optimizer)
      .add("step", info.state.step)
      .add("epoch", info.state.epoch)
      .add("position", info.state.position)
      .add("images", info.state.images)
      .add("batch", program.batch);
  if (!info.state.validations.metric.empty())
    state.addRaw("validations", historyText(info.state.validations));
  state.addRaw("flags", flags.str()).addRaw("classes", "[" + classes + "]");
  return state.str() + "\n";
}

/// Temporary folders start with this; one that lies here belonged to a program
/// that was killed while it saved.
static constexpr char temporaryPrefix[] = ".saving-";

static void removeLeftovers(const fs::path &folder) {
  std::error_code error;
  for (const fs::directory_entry &entry : fs::directory_iterator(folder, error))
    if (entry.path().filename().string().rfind(temporaryPrefix, 0) == 0)
      fs::remove_all(entry.path(), error);
}

/// Moves a finished folder to its name, even where a checkpoint of the same
/// step stands (a training that was continued from an earlier one).
static void moveInto(const fs::path &temporary, const fs::path &target) {
  if (::rename(temporary.c_str(), target.c_str()) == 0)
    return;
  if (errno != EEXIST && errno != ENOTEMPTY)
    throwSystemError(target.string(), "write");
  // In one step where the file system can; else the old one is set aside.
  if (::renameat2(AT_FDCWD, temporary.c_str(), AT_FDCWD, target.c_str(),
                  RENAME_EXCHANGE) == 0) {
    fs::remove_all(temporary);
    return;
  }
  fs::path aside = temporary.string() + ".old";
  if (::rename(target.c_str(), aside.c_str()) != 0 ||
      ::rename(temporary.c_str(), target.c_str()) != 0)
    throwSystemError(target.string(), "write");
  fs::remove_all(aside);
}

/// Writes a checkpoint of this name.
static std::string writeCheckpoint(const std::string &folder,
                                   const std::string &name,
                                   const CheckpointInfo &info,
                                   const Program &program, Machine &machine) {
  fs::path root(folder), target = root / name;
  fs::path temporary = root / (temporaryPrefix + name);
  try {
    fs::create_directories(root);
    removeLeftovers(root);
    Temporary folderOwner(temporary.string());
    fs::create_directory(temporary);
    // In the order of their making, so that the folder is empty in the end.
    Temporary stateOwner((temporary / "state.json").string());
    std::vector<std::unique_ptr<Temporary>> partOwners;
    for (const Part &part : parts) {
      partOwners.push_back(
          std::make_unique<Temporary>((temporary / part.file).string()));
      writePart(temporary, part, program, machine);
    }
    int64_t save = 1;
    for (const SavedCheckpoint &other : listCheckpoints(folder))
      save = std::max(save, other.save + 1);
    FileWriter state(stateOwner.path());
    state.write(stateText(info, save, program));
    state.finish();
    syncDirectory(temporary.string());
    moveInto(temporary, target);
    folderOwner.keep();
    stateOwner.keep();
    for (auto &owner : partOwners)
      owner->keep();
    syncDirectory(root.string());
  } catch (const std::exception &error) {
    std::error_code ignored;
    fs::remove_all(temporary, ignored);
    if (dynamic_cast<const RankLost *>(&error))
      throw; // it says more than that this was not saved
    auto earlier = listCheckpoints(folder);
    throw Error("the checkpoint of step " + std::to_string(info.state.step) +
                " could not be saved: " + error.what() +
                (earlier.empty() ? ""
                                 : "\n  the latest checkpoint is intact: " +
                                       earlier.back().path));
  }
  return target.string();
}

std::string bestCheckpoint(const std::string &folder) {
  return (fs::path(folder) / "best").string();
}

void saveBestCheckpoint(const std::string &folder, const CheckpointInfo &info,
                        const Program &program, Machine &machine) {
  writeCheckpoint(folder, "best", info, program, machine);
}

std::string saveCheckpoint(const std::string &folder, int64_t keep,
                           const CheckpointInfo &info, const Program &program,
                           Machine &machine) {
  const std::string written = writeCheckpoint(
      folder, format("step-%06lld", static_cast<long long>(info.state.step)),
      info, program, machine);
  auto checkpoints = listCheckpoints(folder);
  std::erase_if(checkpoints, [](const SavedCheckpoint &checkpoint) {
    return !checkpoint.damage.empty();
  });
  int64_t surplus = keep > 0 ? int64_t(checkpoints.size()) - keep : 0;
  for (int64_t i = 0; i < surplus; ++i) {
    // Its state.json first: without it the rest is no checkpoint.
    std::error_code ignored;
    fs::remove(fs::path(checkpoints[i].path) / "state.json", ignored);
    fs::remove_all(checkpoints[i].path, ignored);
  }
  return written;
}

} // namespace lwcc::rt::train
