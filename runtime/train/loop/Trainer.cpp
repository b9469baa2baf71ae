//===- Trainer.cpp - The training loop ------------------------------------===//

#include "runtime/train/loop/Trainer.h"

#include "runtime/core/Error.h"
#include "runtime/train/files/OutputFiles.h"
#include "runtime/train/files/Text.h"
#include "runtime/train/loop/Evaluate.h"
#include "runtime/train/loop/NonFinite.h"
#include "runtime/train/report/Info.h"
#include "runtime/train/state/Init.h"
#include "runtime/train/state/OnnxExport.h"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <filesystem>
#include <system_error>

#include <unistd.h>

namespace lwcc::rt::train {

static bool isAtEpochEnd(const TrainState &state) {
  return state.epoch > 0 && state.position == 0;
}

/// Steps before the traced ones, and how many those are.
static constexpr int64_t traceWarmup = 3, traceLength = 10;

static Sequence *record(Machine &machine, const char *name,
                        const std::function<void(Machine &)> &body) {
  return machine.record(name, [&] { body(machine); });
}

Trainer::Trainer(Machine &machine, const TrainingTask &task)
    : machine(machine), task(task), program(task.program),
      options(task.options),
      length(options, task.start, task.data.source->size(), program.batch),
      optimizer(optimizerOf(program.optimizer)),
      learningRate(learningRateOf(options, length.epochs, length.curve)),
      queue(machine, program),
      trace(machine, program, options.trace,
            std::min(task.start.step + traceWarmup + 1, length.steps),
            traceLength),
      log(options.log, !task.checkpoint.empty()),
      epochTable(options.logCsv, !task.checkpoint.empty(), metricOf(program)),
      events(options.tensorboard, task.start.step + 1),
      progress(stdout, ::isatty(STDOUT_FILENO),
               {length.epochs, length.steps, program.batch, options.logInterval,
                sampleNoun(program), metricOf(program)}),
      state(task.start), lastCheckpoint(task.checkpoint) {
  state.images = task.data.source->size();
  state.epoch = length.firstEpoch;
  state.position = length.firstBatch * program.batch;
  BatchLoader::Settings settings;
  settings.skipBad = options.onBadImage == "skip";
  settings.slots = StepQueue::depth + 1;
  if (task.validation) {
    settings.evaluation = true;
    settings.workers = workersFor(*task.validation->source, options.workers);
    validationLoader.emplace(machine, program, *task.validation, settings);
    evaluateStep = record(machine, "evaluate", program.evaluate);
  }
  if (state.step < length.steps) {
    settings.evaluation = false;
    settings.workers = workersFor(*task.data.source, options.workers);
    settings.mixing = {std::max(options.mixup, 0.0),
                       std::max(options.cutmix, 0.0)};
    settings.keepLast = options.lastBatch == "keep";
    settings.shuffle = !options.noShuffle;
    settings.seed = options.seed;
    settings.firstEpoch = length.firstEpoch;
    settings.firstBatch = length.firstBatch;
    loader.emplace(machine, program, task.data, settings);
    trainStep = record(machine, "train_step", program.trainStep);
  }

  if (task.validation && options.epochs != 0 &&
      (!options.best.empty() || options.patience > 0 ||
       options.sched == "plateau"))
    improvement.emplace(options, state);

  bool resumed = !task.checkpoint.empty();
  initializeState(machine, program, options.seed, options.init == "fresh",
                  [&](const StateTensor &tensor) {
                    return !resumed || tensor.role == Role::constant;
                  });
  if (task.weights)
    task.weights->write(machine);
  if (resumed)
    loadCheckpoint(task.checkpoint, program, machine);
  else
    startAverages(machine, program);
}

bool Trainer::stopping() {
  if (progress.failure() == EPIPE)
    signals.request(SIGPIPE);
  return signals.received() != 0 || !failure.empty();
}

/// An output that cannot be written must not cost the others.
void Trainer::attempt(const std::function<void()> &output) {
  try {
    output();
  } catch (const Error &error) {
    if (failure.empty())
      failure = error.what();
  }
}

int Trainer::run() {
  const Clock::time_point start = Clock::now();
  banner();
  noteUnkept();
  if (isAtEpochEnd(state) && improvement && !improvement->isCounted())
    validate();
  if (state.step < length.steps)
    trainEpochs();
  else if (options.epochs != 0)
    progress.line(format("the training is complete: %s of %s were done before",
                         countText(state.step).c_str(),
                         plural(length.steps, "step").c_str()));
  bool complete = state.step >= length.steps || endsEarly();
  if (!options.checkpointDir.empty())
    saveCheckpointNow();
  else if (!complete && stopping())
    saveBesideExport();
  validate();
  std::string stop = stopText();
  if (!options.exportOnnx.empty())
    attempt([&] {
      exportOnnx(options.exportOnnx, program, machine);
      progress.line("exported " + options.exportOnnx +
                    (complete ? "" : ", as it is: the training was " + stop));
    });
  if (!failure.empty())
    throw Error(failure + (complete ? "" : "\n  the training was " + stop));
  if (int signal = signals.received()) {
    if (signal == SIGPIPE) // somewhere else may still be somebody
      std::fprintf(stderr, "%s\n", stop.c_str());
    progress.line(stop);
    return 128 + signal;
  }
  sayEnd(start);
  return 0;
}

void Trainer::trainEpochs() {
  progress.pause();
  while (state.step < length.steps && !stopping() && !endsEarly()) {
    Batch &batch = loader->next();
    queue.launch(trainStep, batch,
                 scalarsOf(optimizer, options,
                           learningRate.at({batch.epoch, state.step,
                                            state.validations.falls}),
                           state.step + 1),
                 false, trace.covers(state.step + 1));
    ++state.step;
    bool epochEnds = batch.index + 1 == length.perEpoch;
    state.epoch = batch.epoch + epochEnds;
    state.position = epochEnds ? 0 : (batch.index + 1) * program.batch;
    while (queue.mustRetire())
      finishStep(queue.retire());

    int64_t every = options.checkpointEvery;
    if (!options.checkpointDir.empty() &&
        (every > 0 ? state.step % every == 0 : epochEnds))
      saveCheckpointNow();
    if (epochEnds) {
      drain();
      endEpoch();
    }
  }
  drain();
  writeTrace();
  if (endsEarly())
    progress.line("ended early after epoch " + countText(state.epoch) + ": " +
                  improvement->exhaustedText());
}

void Trainer::endEpoch() {
  EpochRow row{state.epoch, state.step, lastRate, progress.endEpoch(), {}};
  std::string text = "epoch " + std::to_string(state.epoch) + ": ";
  text += row.training ? format("loss %.4f  ", row.training->loss) +
                             metricOf(program).text(row.training->first)
                       : "no steps";
  progress.line(text);
  row.validation = validate();
  if (failure.empty())
    attempt([&] { epochTable.add(row); });
}

bool Trainer::endsEarly() const {
  return improvement && improvement->isExhausted();
}

void Trainer::writeTrace() {
  attempt([&] {
    if (trace.write())
      progress.line("traced to " + options.trace);
  });
}

void Trainer::writeLog(const JsonObject &record) {
  if (failure.empty())
    attempt([&] { log.write(record); });
}

void Trainer::writeEvents(int64_t step, const std::vector<Scalar> &scalars) {
  if (failure.empty())
    attempt([&] { events.add(step, scalars); });
}

void Trainer::drain() {
  while (!queue.empty())
    finishStep(queue.retire());
}

void Trainer::finishStep(const StepResult &result) {
  int64_t epoch = result.batch->epoch + 1;
  lastRate = result.scalars.lr;
  double speed = progress.step(result.scalars.step, epoch, result.loss,
                               result.first, result.batch->labelCount);
  const double first =
      result.first / std::max<double>(double(result.batch->labelCount), 1);
  const std::string key = metricOf(program).key;
  writeLog(JsonObject()
               .add("step", int64_t(result.scalars.step))
               .add("epoch", epoch)
               .add("loss", result.loss)
               .add(key, first)
               .add("lr", result.scalars.lr)
               .add("images_per_s", speed));
  if (events.isOpen())
    writeEvents(result.scalars.step, {{"loss/train", result.loss},
                                      {key + "/train", float(first)},
                                      {"lr", result.scalars.lr},
                                      {"images_per_s", float(speed)}});
  noteSkipped(result.batch->skipped);
  if (!std::isfinite(result.loss))
    stopAtBadLoss(result);
  if (result.calls)
    trace.add(result.scalars.step, *result.calls);
  if (trace.endsWith(result.scalars.step))
    writeTrace();
  tellRanks();
  loader->release(*result.batch);
}

void Trainer::stopAtBadLoss(const StepResult &result) {
  while (!queue.empty())
    loader->release(*queue.retire().batch);
  std::string cause =
      explainNonFinite(machine, program, *task.data.source, trainStep, result);
  throw Error(format(
      "the loss is %s at step %u (epoch %lld): %s\n  %s\n  a lower --lr (now "
      "%g) or --warmup-epochs often helps",
      numberText(result.loss).c_str(), result.scalars.step,
      static_cast<long long>(result.batch->epoch + 1), cause.c_str(),
      lastCheckpoint.empty()
          ? "there is no checkpoint to continue from"
          : ("the last checkpoint is kept: " + lastCheckpoint).c_str(),
      result.scalars.lr));
}

CheckpointInfo Trainer::checkpointInfo() const {
  return {state, program.modelHash, program.optimizer, task.flags,
          task.data.source->classNames()};
}

void Trainer::saveCheckpointNow() {
  drain();
  if (savedStep == state.step)
    return;
  attempt([&] { saveCheckpointInto(options.checkpointDir); });
  progress.pause();
}

void Trainer::saveCheckpointInto(const std::string &folder) {
  machine.synchronize();
  lastCheckpoint = saveCheckpoint(folder, options.checkpointKeep,
                                  checkpointInfo(), program, machine);
  savedStep = state.step;
  tellRanks();
}

/// What a person is told if one of several is lost.
void Trainer::tellRanks() {
  if (const Ranks *ranks = machine.ranks())
    ranks->remote->saved(state.step, lastCheckpoint);
}

/// Where a training is cut short that keeps a model, but no checkpoints: what
/// was learned could be evaluated, but not continued.
void Trainer::saveBesideExport() {
  const std::string &file = options.exportOnnx;
  if (file.empty() || isDescriptor(file) || isSpecial(file) ||
      state.step == task.start.step)
    return;
  attempt([&] {
    const std::string folder = file + ".checkpoints";
    std::error_code error; // saving reports it
    std::filesystem::create_directories(folder, error);
    FolderLock lock;
    lock.take(folder);
    saveCheckpointInto(folder);
  });
}

/// Says what a validation has shown, and does what follows from it.
void Trainer::judge(const Evaluation &result) {
  const ValidationHistory before = state.validations;
  const bool isBest = improvement && isAtEpochEnd(state) &&
                      !improvement->isCounted() && improvement->add(result);
  progress.line("validation: " + result.text(program) +
                (isBest ? "; the best so far" : ""));
  auto rateAfter = [&](int64_t falls) {
    return learningRate.at({state.epoch, state.step, falls});
  };
  const double rate = rateAfter(state.validations.falls);
  if (rate < rateAfter(before.falls))
    progress.line(format("learning rate %g from here on: no progress in %s",
                         rate,
                         plural(options.plateauPatience + 1, "epoch").c_str()));
  if (!isBest || options.best.empty() || options.checkpointDir.empty())
    return;
  attempt([&] {
    saveBestCheckpoint(options.checkpointDir, checkpointInfo(), program,
                       machine);
  });
  // What is not there is not remembered: a resumed training validates again.
  if (!failure.empty())
    state.validations = before;
}

std::optional<ValidationMeans> Trainer::validate() {
  if (!task.validation || validatedStep == state.step || stopping())
    return std::nullopt;
  Evaluation result = evaluate(queue, evaluateStep, *validationLoader,
                               [&] { return stopping(); });
  progress.pause();
  if (stopping()) // not the whole set
    return std::nullopt;
  noteSkipped(result.skipped);
  validatedStep = state.step;
  int64_t epoch = state.epoch + (state.position > 0);
  judge(result);
  JsonObject record;
  record.add("step", state.step).add("epoch", epoch);
  result.addTo(record, program);
  writeLog(record);
  const Metric metric = metricOf(program);
  const ValidationMeans means{result.loss, result.firstMean(),
                              metric.secondValue(result.secondMean())};
  std::vector<Scalar> scalars = {
      {"loss/validation", float(means.loss)},
      {metric.key + "/validation", float(means.first)}};
  if (!metric.second.empty())
    scalars.push_back({metric.second + "/validation", float(means.second)});
  writeEvents(state.step, scalars);
  return means;
}

} // namespace lwcc::rt::train
