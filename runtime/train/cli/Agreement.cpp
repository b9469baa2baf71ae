//===- Agreement.cpp - Flags that need or exclude each other --------------===//

#include "runtime/train/cli/Agreement.h"

#include "runtime/train/cli/Setup.h"
#include "runtime/train/files/Text.h"

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

/// What is mixed is one of floats with one label, and there is another.
static void checkMixing(const Options &options, const Program &program,
                        Mistakes &mistakes) {
  if (options.mixup <= 0 && options.cutmix <= 0)
    return;
  const std::string flag = options.mixup <= 0    ? "--cutmix"
                           : options.cutmix <= 0 ? "--mixup"
                                                 : "--mixup and --cutmix";
  auto refuse = [&](const std::string &why) {
    mistakes.add(flag + ": " + why);
  };
  const bool ofClasses = program.lossName.empty();
  const bool single = program.labels.dims.size() == 1;
  if (!ofClasses)
    refuse("labels of classes are mixed, and the model has a loss of numbers");
  else if (!single)
    refuse("one label of each sample is mixed, and the model has labels " +
           dimsText(program.labels.dims));
  else if (program.shares.dims.empty())
    refuse("samples are of several classes then; compile the model with "
           "lwcc --soft-labels");
  if (!program.auxiliary.empty())
    refuse("labels of one output are mixed, and the model has another with its "
           "own");
  if (program.inputs.size() > 1)
    refuse("one input is mixed, and the model has " +
           std::to_string(program.inputs.size()));
  else if (program.inputs.front().tokens > 0)
    refuse("the model's input is integers, of which there is no mean");
  else if (options.cutmix > 0 && program.inputs.front().dims.size() != 4)
    mistakes.add("--cutmix: images [n, c, h, w] are cut, and the model's input "
                 "is " +
                 dimsText(program.inputs.front().dims) +
                 "; --mixup takes any numbers");
  if (program.batch == 1)
    refuse("a batch of one has no other sample; compile the model with a "
           "larger --batch");
  if (options.ignoreIndex != Options().ignoreIndex)
    refuse("a sample whose label does not count (--ignore-index) cannot be "
           "mixed; leave such samples out of the data");
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
  checkMixing(options, program, mistakes);
  checkValidation(flags, program, mistakes);
  mistakes.raise();
}

} // namespace lwcc::rt::train
