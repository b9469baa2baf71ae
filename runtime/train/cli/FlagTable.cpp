//===- FlagTable.cpp - All flags of the trainer ---------------------------===//

#include "runtime/train/cli/FlagTable.h"

namespace lwcc::rt::train {

/// Steps and epochs have numbers of 32 bits.
static constexpr double maxCount = std::numeric_limits<uint32_t>::max();

const std::vector<Spelling> &spellingTable() {
  static const std::vector<Spelling> spellings = {
      {"data-dir", "data"},
      {"reprob", "erase"},
      {"dr", "decay-rate"},
      {"patience-epochs", "plateau-patience"},
      {"checkpoint-hist", "checkpoint-keep"},
      {"opt-eps", "eps"},
  };
  return spellings;
}

const std::vector<FlagSection> &flagTable() {
  using O = Options;
  static const std::vector<FlagSection> sections = {
      {"Data",
       {
           {"data", "DIR", &O::data,
            "training images: a folder with a folder of pictures (JPEG, PNG, "
            "WebP, BMP) for each class, or with images.npy (uint8 or float; "
            "[n,h,w,c], [n,c,h,w], [n,h,w] or [n,features]) and labels.npy, or "
            "with MNIST's IDX files, or with CIFAR's binary files; or a table, "
            "FILE.csv; or \"synthetic\""},
           {"val-data", "DIR", &O::valData,
            "images to validate on after each epoch"},
           {"val-split", "X", &O::valSplit,
            "hold this part of --data back, drawn by --seed, and validate on "
            "it",
            true, 0, 0.9},
           {"no-shuffle", nullptr, &O::noShuffle,
            "take the images in their order", true},
           {"last-batch",
            "drop|keep",
            &O::lastBatch,
            "an epoch's last images, where they do not fill a batch: left out, "
            "or trained on as a smaller batch",
            true,
            0,
            noLimit,
            {"drop", "keep"}},
           {"mean", "M[,M..]", &O::mean,
            "subtracted from the input, for all channels or for each (bytes "
            "are scaled to [0,1] before)",
            true, -noLimit},
           {"std", "S[,S..]", &O::std, "what the input is divided by then",
            true, std::numeric_limits<double>::min()},
           {"crop-pct", "X", &O::cropPct,
            "the model sees the centre of an image: this part of its shorter "
            "side; 0.875 is torchvision's 224 of 256",
            true, 0.01, 1},
           {"scale", "LOW,HIGH", &O::scale,
            "training sees random parts of an image, of LOW to HIGH of its "
            "area; 0.08,1 is torchvision's RandomResizedCrop",
            true, std::numeric_limits<double>::min(), 1},
           {"ratio", "LOW,HIGH", &O::ratio,
            "with --scale: a part's width divided by its height", true,
            std::numeric_limits<double>::min()},
           {"hflip", "P", &O::hflip,
            "training sees an image mirrored with probability P", true, 0, 1},
           {"vflip", "P", &O::vflip,
            "training sees an image upside down with probability P, as "
            "torchvision's RandomVerticalFlip",
            true, 0, 1},
           {"rotate", "DEGREES", &O::rotate,
            "training sees an image turned by up to so many degrees, either "
            "way, as torchvision's RandomRotation",
            true, 0, 180},
           {"rand-augment", "N[,M]", &O::randAugment,
            "training sees an image changed N times, with strength M of 30 "
            "(without it 9), as torchvision's RandAugment",
            true, 0},
           {"color-jitter", "B[,C,S,H]", &O::colorJitter,
            "training sees brightness, contrast, saturation and hue changed by "
            "up to so much, as torchvision's ColorJitter; one number is for "
            "the first three",
            true},
           {"erase", "P", &O::erase,
            "training sees an image with a rectangle erased with probability "
            "P, as torchvision's RandomErasing",
            true, 0, 1},
           {"mixup", "ALPHA", &O::mixup,
            "training sees each image mixed with another of its batch, by a "
            "share from Beta(ALPHA, ALPHA), and learns both labels, as "
            "torchvision's MixUp",
            true, std::numeric_limits<double>::min()},
           {"cutmix", "ALPHA", &O::cutmix,
            "a rectangle of each image is another's of its batch, as "
            "torchvision's CutMix; with --mixup one of both for each batch",
            true, std::numeric_limits<double>::min()},
           {"ignore-index", "N", &O::ignoreIndex,
            "labels of this number do not count; -100 is one where a sample "
            "has several labels",
            true, std::numeric_limits<int32_t>::min(),
            std::numeric_limits<int32_t>::max()},
           {"columns", "A[,B..]", &O::columns,
            "of a table: the columns that the model sees, in this order "
            "(without it: all but the targets)",
            true},
           {"target-columns", "C[,D..]", &O::targetColumns,
            "of a table: the columns of labels or targets (without it: the "
            "last ones)",
            true},
           {"on-bad-image",
            "skip|stop",
            &O::onBadImage,
            "a picture that cannot be read is named and passed over, or ends "
            "the training",
            true,
            0,
            noLimit,
            {"skip", "stop"}},
           {"workers", "N", &O::workers,
            "threads that prepare batches; 0: 1, or for pictures one for each "
            "core, at most 8",
            false, 0, 256},
           {"picture-cache", "GIB", &O::pictureCache,
            "memory for decoded pictures, which later epochs need not decode; "
            "0: none (without it: as long as half of the machine's memory is "
            "free)",
            false, 0, 1 << 20},
       }},
      {"Training",
       {
           {"epochs", "N", &O::epochs,
            "passes over the data; 0 only evaluates and exports (default: "
            "1, or as many as --steps takes)",
            true, 0, maxCount},
           {"steps", "N", &O::steps, "stop after N steps over all epochs", true,
            0, maxCount},
           {"lr", "X", &O::lr, "learning rate", true},
           {"sched",
            "NAME",
            &O::sched,
            "learning rate: constant; step, multistep or cosine by epoch; "
            "onecycle by step; or plateau, which falls where validations do "
            "not get better",
            true,
            0,
            noLimit,
            {"constant", "step", "multistep", "cosine", "onecycle", "plateau"}},
           {"warmup-epochs", "N", &O::warmupEpochs,
            "epochs of linear warm-up from --warmup-lr to --lr", true},
           {"warmup-steps", "N", &O::warmupSteps,
            "the same, rising with each of N steps", true, 0, maxCount},
           {"warmup-lr", "X", &O::warmupLr,
            "learning rate of the first epoch or step of a warm-up", true},
           {"min-lr", "X", &O::minLr,
            "lowest learning rate of cosine and plateau", true},
           {"decay-epochs", "N", &O::decayEpochs,
            "epochs between two falls of step", true, 1},
           {"decay-rate", "X", &O::decayRate,
            "what step, multistep and plateau multiply the learning rate with",
            true},
           {"decay-milestones", "N,..", &O::decayMilestones,
            "epochs, counted from 0, with which multistep falls", true, 1},
           {"pct-start", "X", &O::pctStart,
            "the part of all steps in which onecycle rises to --lr", true, 0,
            1},
           {"div-factor", "X", &O::divFactor,
            "onecycle begins at --lr divided by X", true,
            std::numeric_limits<double>::min()},
           {"final-div-factor", "X", &O::finalDivFactor,
            "onecycle ends at what it began with divided by X", true,
            std::numeric_limits<double>::min()},
           {"plateau-patience", "N", &O::plateauPatience,
            "plateau falls with epoch N + 1 in a row that is not better, by "
            "0.01 %, than the best before, by the metric of --best, or "
            "val_loss",
            true, 0, maxCount},
           {"clip-value", "X", &O::clipValue,
            "bounds each element of the gradients to [-X, X]", true,
            std::numeric_limits<double>::min()},
           {"seed", "N", &O::seed,
            "of initial weights, dropout and the order of the images", true},
           {"init",
            "file|fresh",
            &O::init,
            "initial weights: what the model file says, or each layer's "
            "default drawn anew",
            true,
            0,
            noLimit,
            {"file", "fresh"}},
           {"init-from", "FILE", &O::initFrom,
            "weights to start from, by name and shape, what fits: a "
            "safetensors file, or an ONNX model (.onnx); all others keep the "
            "values of --init"},
       }},
      {ofOptimizers,
       {
           {"momentum", "X", &O::momentum, "of the steps", true},
           {"nesterov", nullptr, &O::nesterov, "Nesterov momentum", true},
           {"betas", "A,B", &O::betas,
            "what running averages keep in a step: Adam's of the gradient and "
            "of its square, Lion's in the update and in its state",
            true, 0, 1},
           {"alpha", "A", &O::alpha,
            "what the running average of the gradient's square keeps in a step",
            true, 0, 1},
           {"lr-decay", "X", &O::lrDecay,
            "the learning rate is divided by 1 + X * steps before", true},
           {"trust-coeff", "X", &O::trustCoeff,
            "a gradient's norm is at most X times its parameter's", true},
           {"eps", "X", &O::eps, "added to what gradients are divided by",
            true},
           {"weight-decay", "X", &O::weightDecay, "for all parameters", true},
       }},
      {"Checkpoints and results",
       {
           {"checkpoint-dir", "DIR", &O::checkpointDir,
            "folder for checkpoints"},
           {"checkpoint-every", "N", &O::checkpointEvery,
            "steps between checkpoints; 0: one after each epoch"},
           {"checkpoint-keep", "N", &O::checkpointKeep,
            "latest checkpoints that are kept; 0: all"},
           {"best",
            "METRIC",
            &O::best,
            "keep the checkpoint of the best validation, as best in "
            "--checkpoint-dir: val_loss, val_top1 or val_top5",
            true,
            0,
            noLimit,
            {"val_loss", "val_top1", "val_top5"}},
           {"patience", "N", &O::patience,
            "end after N epochs in a row in which the validation is not better "
            "than the best before, by the metric of --best, or val_loss",
            true, 1, maxCount},
           {"resume", "auto|PATH", &O::resume,
            "continue from the latest checkpoint of --checkpoint-dir if there "
            "is one, or from PATH; flags of the training that are not given "
            "are the checkpoint's"},
           {"export-onnx", "FILE", &O::exportOnnx,
            "write the model with its trained values at the end"},
           {"log", "FILE", &O::log,
            "write a line of JSON for each step (step and epoch count from 1) "
            "and each evaluation"},
           {"log-csv", "FILE", &O::logCsv,
            "write a line of CSV for each epoch: its number, learning rate, "
            "and loss and accuracy of training and validation"},
           {"tensorboard", "DIR", &O::tensorboard,
            "write events that TensorBoard shows: loss, accuracy, learning "
            "rate and speed of each step, loss and accuracy of each "
            "validation"},
           {"log-interval", "N", &O::logInterval,
            "steps between lines of progress where there is no terminal; after "
            "10 seconds without one a line appears as well",
            false, 1},
       }},
      {"Machine",
       {
           {"threads", "N", &O::threads,
            "CPU threads; 0: one for each core that other work leaves free "
            "(with --deterministic for each core), or OMP_NUM_THREADS. Another "
            "number rounds differently, with --deterministic, too, where "
            "checkpoints remember it",
            true, 0, 4096},
           {"ranks", "N", &O::ranks,
            "start N processes on this machine, each with its share of the "
            "program's devices; on several machines srun, mpirun or torchrun "
            "start them, and the flag is left out",
            false, 1, 65536},
           {"deterministic", nullptr, &O::deterministic,
            "bitwise equal results from run to run with as many CPU threads",
            true},
           {"benchmark", "N", &O::benchmark,
            "time N steps on synthetic data that is already on the device, "
            "behind N/2 that are not timed",
            false, 0, 1e6},
           {"trace", "FILE", &O::trace,
            "write when every call ran, one track a lane, for chrome://tracing "
            "or Perfetto: in the steps of --benchmark, else in 10 steps behind "
            "the first 3; on GPUs those steps run without a graph, slower"},
       }},
      {ofPrediction,
       {
           {"output", "FILE", &O::output,
            "the predictions, as CSV: image, class, probability (also -o "
            "FILE)"},
           {"scores", nullptr, &O::scores,
            "write the scores of all classes as well"},
       }},
      {ofEvaluation,
       {
           {"metrics", "FILE", &O::metrics,
            "write precision, recall and F1 of each class and the confusion "
            "matrix, as CSV"},
       }},
      {"Instead of training",
       {
           {"info", nullptr, &O::info,
            "describe the program: model, memory, what was fixed at compile "
            "time"},
           {"help", nullptr, &O::help, "this text"},
           {"version", nullptr, &O::version, "the compiler's version"},
       }},
  };
  return sections;
}

static constexpr char weightsHelp[] =
    "take the weights of this checkpoint, or of the latest in this folder, and "
    "what its training was told of --mean, --std, --crop-pct, --ignore-index "
    "and --columns; without it the weights are the model file's";
static constexpr char badImageHelp[] =
    "a picture that cannot be read is named and passed over, or ends it";

const std::vector<Command> &commandTable() {
  static const std::vector<Command> commands = {
      {evaluateCommand,
       "loss and accuracy of images that are not trained on",
       "--data=DIR --resume=CHECKPOINT",
       {
           {"data",
            "images and their classes, as for a training; a last batch that is "
            "smaller counts, too",
            "--data is missing: --data=DIR names a folder of images and their "
            "classes"},
           {"mean"},
           {"std"},
           {"crop-pct"},
           {"ignore-index"},
           {"columns"},
           {"target-columns"},
           {"on-bad-image", badImageHelp},
           {"workers"},
           {"resume", weightsHelp, nullptr, "PATH"},
           {"log", "write a line of JSON with the result"},
           {"metrics"},
           {"threads"},
           {"deterministic"},
           {"help"},
           {"version"},
       }},
      {predictCommand,
       "the class of each image, as CSV",
       "--data=DIR --resume=CHECKPOINT -o FILE",
       {
           {"data",
            "images: a folder with pictures (JPEG, PNG, WebP, BMP), at any "
            "depth, or with images.npy, or with MNIST's IDX file or CIFAR's "
            "binary one, or a table, FILE.csv; classes are not needed, and not "
            "read",
            "--data is missing: --data=DIR names a folder of images"},
           {"mean"},
           {"std"},
           {"crop-pct"},
           {"columns"},
           {"target-columns", "of a table: columns that are passed over, if "
                              "it has them"},
           {"on-bad-image",
            "a picture that cannot be read is named and its row is left empty, "
            "or it ends the prediction"},
           {"workers"},
           {"resume", weightsHelp, nullptr, "PATH"},
           {"threads"},
           {"deterministic"},
           {"output", nullptr, "no output given; add -o predictions.csv"},
           {"scores"},
           {"help"},
           {"version"},
       }},
  };
  return commands;
}

const CommandFlag *Command::find(const std::string &flag) const {
  for (const CommandFlag &each : flags)
    if (flag == each.name)
      return &each;
  return nullptr;
}

} // namespace lwcc::rt::train
