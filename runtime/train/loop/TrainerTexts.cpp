//===- TrainerTexts.cpp - What a training says of itself ------------------===//
//
// The lines at its start and at its end, and those on what it has passed over.
// When they are said is decided by Trainer.cpp.
//
//===----------------------------------------------------------------------===//

#include "runtime/train/files/Text.h"
#include "runtime/train/loop/Trainer.h"
#include "runtime/train/report/Info.h"

#include <cstdio>
#include <system_error>

namespace lwcc::rt::train {

void Trainer::banner() {
  progress.line(describeHeader(program));
  progress.line("  device      " + machine.describe());
  for (size_t d = 0; d < program.machine.devices.size(); ++d)
    progress.line(format("  memory      %s on device %zu",
                         bytesText(machine.bytesHeld(d)).c_str(), d));
  progress.line("  data        " + task.data.describe());
  if (task.validation)
    progress.line("  validation  " + task.validation->describe());
  progress.line(format(
      "  training    %s of %s, to step %s; %s, lr %g (%s), %s; seed %llu",
      plural(length.epochs, "epoch").c_str(),
      plural(length.perEpoch, "step").c_str(), countText(length.steps).c_str(),
      optimizer.title.c_str(), options.lr, options.sched.c_str(),
      optimizer.describe(options).c_str(),
      static_cast<unsigned long long>(options.seed)));
  if (task.weights)
    progress.line("  weights     " + task.weights->describe());
  if (!task.checkpoint.empty())
    progress.line(format("  resumed     after step %s from %s",
                         countText(state.step).c_str(),
                         task.checkpoint.c_str()));
}

/// What is kept of a training, if anything is.
void Trainer::noteUnkept() {
  if (state.step < length.steps && options.checkpointDir.empty() &&
      options.exportOnnx.empty())
    progress.line("  note        what is learned will not be kept: "
                  "--checkpoint-dir=DIR keeps checkpoints\n"
                  "              to continue from, --export-onnx=FILE the "
                  "trained model");
}

/// "stopped by SIGINT after step 13 of 20"; "" if it was not.
std::string Trainer::stopText() {
  if (!stopping())
    return "";
  std::string text = "stopped";
  if (int signal = signals.received())
    text += " by " + signalText(signal);
  text +=
      " after step " + countText(state.step) + " of " + countText(length.steps);
  if (!lastCheckpoint.empty() && savedStep == state.step)
    text += "; the checkpoint is " + lastCheckpoint + ", which --resume=" +
            (options.checkpointDir.empty() ? lastCheckpoint : "auto") +
            " continues";
  return text;
}

/// Once for each, however often an epoch comes to it.
void Trainer::noteSkipped(const std::vector<SkippedSample> &samples) {
  for (const SkippedSample &sample : samples)
    if (skipped.insert(sample.reason).second)
      progress.line("skipped " + sample.reason);
}

void Trainer::sayEnd(Clock::time_point start) {
  if (!skipped.empty())
    progress.line(plural(int64_t(skipped.size()), "image") +
                  " could not be read and " +
                  (skipped.size() == 1 ? "was" : "were") +
                  " skipped (--on-bad-image=stop ends the training instead)");
  if (improvement && improvement->hasBest())
    progress.line(
        "best: " + improvement->bestText() +
        (options.best.empty() || options.checkpointDir.empty()
             ? ""
             : "; its checkpoint is " + bestCheckpoint(options.checkpointDir)));
  double seconds = std::chrono::duration<double>(Clock::now() - start).count();
  progress.line("done in " + durationText(seconds));
  if (progress.failure())
    std::fprintf(stderr,
                 "warning: lines were lost: cannot write to standard "
                 "output: %s\n",
                 std::generic_category().message(progress.failure()).c_str());
}

} // namespace lwcc::rt::train
