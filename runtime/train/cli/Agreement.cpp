//===- Agreement.cpp - Flags that need or exclude each other --------------===//

#include "runtime/train/cli/Agreement.h"

#include "runtime/train/cli/Setup.h"

namespace lwcc::rt::train {

/// Of the learning rate's flags.
static void checkSchedule(const Options &options, Mistakes &mistakes) {
  const bool warmsUp = options.warmupEpochs > 0 || options.warmupSteps > 0;
  if (options.warmupEpochs > 0 && options.warmupSteps > 0)
    mistakes.add("--warmup-epochs and --warmup-steps: a warm-up rises with "
                 "each epoch or with each step; give one of them");
  if (options.sched == "onecycle" && warmsUp)
    mistakes.add("--sched=onecycle has a warm-up of its own, of --pct-start; "
                 "leave --warmup-epochs and --warmup-steps at 0");
  if (options.sched == "multistep" && options.decayMilestones.empty())
    mistakes.add("--sched=multistep needs --decay-milestones, such as "
                 "--decay-milestones=30,60,80");
  if (options.sched == "plateau" && options.decayRate >= 1)
    mistakes.add("--sched=plateau: the learning rate falls only with a "
                 "--decay-rate below 1");
}

/// A batch that is not full is filled up with samples that do not count.
static void checkLastBatch(const Options &options, const Program &program,
                           Mistakes &mistakes) {
  if (options.lastBatch == "keep" && program.batchStatistics)
    mistakes.add("--last-batch=keep: batch normalization would take what fills "
                 "the last batch up into its statistics; leave it out "
                 "(--last-batch=drop), or compile the model with --frozen-bn");
}

/// Of the flags that look at validations.
static void checkValidation(const Flags &flags, const Program &program,
                            Mistakes &mistakes) {
  const Options &options = flags.options;
  const bool splits = options.valSplit > 0;
  if (splits && !options.valData.empty())
    mistakes.add(flags.given.count("val-split")
                     ? "--val-split and --val-data: a training validates on a "
                       "part of its data or on other data; give one of them"
                     : "--val-data: the checkpoint's training holds a part of "
                       "its data back; add --val-split=0 to train on it, too");
  // Nothing is followed where nothing is trained.
  if (options.epochs == 0)
    return;
  const bool validates = splits || !options.valData.empty();
  const std::string needs =
      " needs validations: --val-data=DIR, or --val-split=0.1 for a part of "
      "the data";
  if (flags.given.count("best") && !validates)
    mistakes.add("--best" + needs);
  if (options.patience > 0 && !validates)
    mistakes.add("--patience" + needs);
  if (options.sched == "plateau" && !validates)
    mistakes.add("--sched=plateau" + needs);
  if (flags.given.count("best") && options.checkpointDir.empty() &&
      options.patience <= 0 && options.sched != "plateau")
    mistakes.add("--best needs --checkpoint-dir=DIR, where the checkpoint of "
                 "the best epoch is kept");
  if (options.best.starts_with("val_top") && !program.lossName.empty())
    mistakes.add("--best=" + options.best +
                 ": the model has a loss of numbers, and no classes; "
                 "--best=val_loss follows that");
  else if (options.best == "val_top5" && program.classes <= 5)
    mistakes.add("--best=val_top5: the model has " +
                 std::to_string(program.classes) +
                 " classes, so that all images count as correct");
}

void checkAgreement(const Flags &flags, const Program &program) {
  const Options &options = flags.options;
  Mistakes mistakes;
  if (options.checkpointDir.empty() && options.checkpointEvery > 0)
    mistakes.add("--checkpoint-every needs --checkpoint-dir");
  checkSchedule(options, mistakes);
  checkLastBatch(options, program, mistakes);
  checkValidation(flags, program, mistakes);
  mistakes.raise();
}

} // namespace lwcc::rt::train
