//===- Setup.cpp - What training and the commands prepare alike -----------===//

#include "runtime/train/cli/Setup.h"

#include "runtime/core/Error.h"
#include "runtime/train/data/PictureCache.h"
#include "runtime/train/data/Split.h"
#include "runtime/train/files/Text.h"
#include "runtime/train/loop/Inference.h"
#include "runtime/train/report/Info.h"
#include "runtime/train/report/Remarks.h"
#include "runtime/train/state/Checkpoint.h"

#include <algorithm>
#include <cstdio>
#include <limits>

namespace lwcc::rt::train {

void Mistakes::add(const std::string &mistake) {
  text += (text.empty() ? "" : "\n") + mistake;
}

void Mistakes::attempt(const std::function<void()> &step) {
  try {
    step();
  } catch (const Error &error) {
    add(error.what());
  }
}

void Mistakes::raise() const {
  if (!text.empty())
    throw Error(text);
}

std::unique_ptr<Machine> createMachine(const Program &program,
                                       const Options &options,
                                       const Ranks *ranks) {
  MachineOptions choice;
  choice.threads = static_cast<int>(options.threads);
  // Neither a measurement nor equal bits may depend on what else runs.
  choice.yielding = !options.deterministic && options.benchmark == 0;
  choice.deterministic = options.deterministic;
  choice.ranks = ranks;
  return Machine::create(program.machine, choice);
}

/// Opens a folder and says what looks wrong in it.
static std::unique_ptr<DataSource>
openSource(const std::string &place, DataRole role, const Program &program,
           const Options &options, std::vector<std::string> classes) {
  // Enough for an epoch that is worth the name, in whole batches.
  int64_t synthetic =
      (std::max<int64_t>(1024, 8 * program.batch) + program.batch - 1) /
      program.batch * program.batch;
  std::vector<ModelInput> inputs = inputsOf(program);
  for (ModelInput &input : inputs) {
    input.classNames = classes;
    input.ignoredLabel = options.ignoreIndex;
    input.columns = splitAtCommas(options.columns);
    input.targetColumns = splitAtCommas(options.targetColumns);
  }
  auto source = openData(place, role, inputs, synthetic);
  if (role == DataRole::training && source->size() < program.batch &&
      options.lastBatch == "drop")
    throw Error(place + ": holds " +
                plural(source->size(), sampleNoun(program)) +
                ", fewer than a batch of " + countText(program.batch) +
                "; compile the model with a smaller --batch" +
                (program.batchStatistics
                     ? ""
                     : ", or train on what there is: --last-batch=keep"));
  if (source->size() == 0)
    throw Error(place + ": holds no " + sampleNoun(program) + "s");
  if (source->size() > std::numeric_limits<uint32_t>::max())
    throw Error(place + ": holds " +
                plural(source->size(), sampleNoun(program)) +
                "; their numbers have 32 bits");
  if (role == DataRole::training && place != "synthetic")
    for (const std::string &remark :
         remarksOn(*source, place, inputs,
                   !options.mean.empty() || !options.std.empty()))
      std::fprintf(stderr, "warning: %s\n", remark.c_str());
  else if (!source->remark.empty())
    std::fprintf(stderr, "warning: %s: %s\n", place.c_str(),
                 source->remark.c_str());
  return source;
}

/// With the way to the model's inputs; what is learned is augmented. Of several
/// inputs what is asked for is done to the images, alike to all of a sample, or
/// to the first input if none is images.
static DataSet dataSetOf(std::unique_ptr<DataSource> source, DataRole role,
                         const Program &program, const Options &options) {
  const std::vector<ModelInput> inputs = inputsOf(program);
  std::vector<bool> images;
  for (size_t k = 0; k < inputs.size(); ++k)
    images.push_back(source->part(k).format().image &&
                     inputs[k].dims.size() == 3);
  const bool anyImages = std::count(images.begin(), images.end(), true) > 0;
  Augmentation augmentation;
  if (role == DataRole::training)
    augmentation = {options.scale,       options.ratio, options.hflip,
                    options.colorJitter, options.erase, options.rotate,
                    options.randAugment, options.vflip};
  DataSet data{std::move(source), {}};
  for (size_t k = 0; k < inputs.size(); ++k) {
    const SampleFormat format = data.source->part(k).format();
    if (inputs.size() == 1 || (anyImages ? images[k] : k == 0))
      data.transforms.emplace_back(format, inputs[k].dims, options.mean,
                                   options.std, options.cropPct, augmentation);
    else
      data.transforms.emplace_back(
          format, inputs[k].dims, std::vector<double>{}, std::vector<double>{});
  }
  return data;
}

DataSet openChecked(const std::string &place, DataRole role,
                    const Program &program, const Options &options,
                    std::vector<std::string> classes) {
  return dataSetOf(
      openSource(place, role, program, options, std::move(classes)), role,
      program, options);
}

/// Where decoded pictures are kept; null where no epoch follows another one.
static std::shared_ptr<PictureMemory> pictureMemory(const Options &options) {
  const bool once =
      options.epochs < 0 ? options.steps < 0 : options.epochs <= 1;
  if (once || options.pictureCache == 0)
    return nullptr;
  constexpr int64_t gib = int64_t(1) << 30;
  return std::make_shared<PictureMemory>(
      options.pictureCache < 0 ? -1 : options.pictureCache * gib);
}

TrainingData openTrainingData(const Program &program, const Options &options) {
  const std::shared_ptr<PictureMemory> memory = pictureMemory(options);
  auto open = [&](const std::string &place, DataRole role,
                  std::vector<std::string> classes) {
    auto source = openSource(place, role, program, options, std::move(classes));
    return memory && source->isDecoded()
               ? keepDecoded(std::move(source), memory)
               : std::move(source);
  };
  auto source = open(options.data, DataRole::training, /*classes=*/{});
  if (options.valSplit > 0) {
    const int64_t images = source->size();
    const int64_t held = heldBack(images, options.valSplit);
    const bool keeps = options.lastBatch == "keep";
    if (images - held < (keeps ? 1 : program.batch))
      throw Error(
          options.data + ": holds " + plural(images, sampleNoun(program)) +
          "; without the " + countText(held) + " of --val-split " +
          (keeps
               ? "none is left to train on"
               : "they are fewer than a batch of " + countText(program.batch)));
    DataSplit parts =
        splitData(std::move(source), options.valSplit, options.seed,
                  program.inputs.size() + program.auxiliary.size());
    return {dataSetOf(std::move(parts.training), DataRole::training, program,
                      options),
            dataSetOf(std::move(parts.validation), DataRole::validation,
                      program, options)};
  }
  TrainingData data{
      dataSetOf(std::move(source), DataRole::training, program, options),
      std::nullopt};
  if (!options.valData.empty())
    data.validation.emplace(
        dataSetOf(open(options.valData, DataRole::validation,
                       data.training.source->classNames()),
                  DataRole::validation, program, options));
  return data;
}

std::string whyWithoutScores(const Program &program) {
  if (!program.scores.dims.empty())
    return "";
  const std::vector<int64_t> &dims = program.labels.dims;
  if (program.lossName.empty() && dims.size() == 1)
    return "this program was compiled without scores";
  return "this model gives more than a list for each " +
         std::string(sampleNoun(program)) + " (" +
         (program.lossName.empty() ? "labels" : "targets") + " of shape " +
         dimsText(dims) +
         "); --export-onnx of a training gives the model to other programs";
}

TrainedWeights findTrainedWeights(const Program &program, Flags &flags) {
  const std::string &resume = flags.options.resume;
  TrainedWeights weights;
  if (resume.empty()) {
    weights.drawn = hasDrawnWeights(program);
    weights.text = weights.drawn
                       ? "drawn at random, as " + program.model + " says"
                       : "of " + program.model;
    weights.text += "; --resume=CHECKPOINT takes those of a training";
    return weights;
  }
  if (resume == "auto")
    throw Error("--resume=auto: only a training has a folder of its own; "
                "--resume=DIR takes the latest checkpoint of a folder");
  weights.checkpoint = resolveResume(resume, "");
  CheckpointInfo info = readCheckpointInfo(weights.checkpoint);
  checkCheckpoint(weights.checkpoint, program, CheckpointPart::model);
  for (const std::string &difference :
       recallFlags(flags, info.flags, weights.checkpoint))
    std::fprintf(stderr, "note: %s in %s\n", difference.c_str(),
                 weights.checkpoint.c_str());
  weights.classes = std::move(info.classes);
  weights.text =
      weights.checkpoint + ", after step " + countText(info.state.step);
  return weights;
}

} // namespace lwcc::rt::train
