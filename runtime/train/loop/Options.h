//===- Options.h - What a training is told ----------------------*- C++ -*-===//
//
// The nouns of this room:
//
//   options        what a training is told (this file)
//   step           one batch through forward, backward and update
//   step queue     the steps that were started and not yet read (StepQueue.h)
//   optimizer      its hyper-parameters, and what a step gets of them
//                  (Optimizers.h)
//   learning rate  of a step, from the options (LearningRate.h)
//   length         which step is the last one (TrainingLength.h)
//   improvement    whether validations still get better (Improvement.h)
//   evaluation     loss and accuracy of data that is not learned (Evaluate.h)
//   inference      a data set through a model that is not trained (Inference.h)
//   trainer        the order of steps, validations and checkpoints, and the end
//                  of a training (Trainer.h)
//   benchmark      steps on one batch, timed (Benchmark.h)
//
// Options has one field for each flag of the trainer; the initializers are the
// defaults with SGD, other optimizers' rows have theirs. How a flag is spelled,
// which values it takes and whether a checkpoint remembers it is decided by the
// command line (cli/FlagTable.cpp). The loop reads fields only and does not
// know that there is a command line.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_RUNTIME_TRAIN_LOOP_OPTIONS_H
#define LWCC_RUNTIME_TRAIN_LOOP_OPTIONS_H

#include <cstdint>
#include <string>
#include <vector>

namespace lwcc::rt::train {

struct Options {
  // Data
  std::string data;
  std::string valData;
  double valSplit = -1; ///< -1: no part of the data
  bool noShuffle = false;
  std::string lastBatch = "drop"; ///< or "keep": one that is not full
  std::vector<double> mean, std;
  double cropPct = 1;
  std::vector<double> scale;
  std::vector<double> ratio = {3.0 / 4, 4.0 / 3};
  double hflip = 0, vflip = 0;
  std::vector<double> colorJitter;
  std::vector<double> randAugment;
  double rotate = 0;
  double erase = 0;
  double mixup = -1, cutmix = -1; ///< -1: nothing is mixed
  std::string onBadImage = "skip";
  int64_t ignoreIndex = -100;         ///< the label that does not count
  std::string columns, targetColumns; ///< of tables, separated by commas
  int64_t workers = 0;                ///< 0: as the data needs
  int64_t pictureCache = -1; ///< GiB; -1: while half of all memory is free
  // Training
  int64_t epochs = -1; ///< -1: as many as `steps` takes, or 1
  int64_t steps = -1;  ///< -1: no limit
  double lr = 0.01;
  std::string sched = "constant";
  int64_t warmupEpochs = 0;
  int64_t warmupSteps = 0;
  double warmupLr = 1e-5;
  double minLr = 0;
  int64_t decayEpochs = 90;
  double decayRate = 0.1;
  std::vector<double> decayMilestones;
  double pctStart = 0.3;
  double divFactor = 25;
  double finalDivFactor = 1e4;
  int64_t plateauPatience = 10;
  double momentum = 0.9;
  bool nesterov = false;
  std::vector<double> betas;
  double alpha = 0;
  double lrDecay = 0;
  double trustCoeff = 0;
  double eps = 0;
  double clipValue = -1; ///< -1: gradients are not clipped
  double weightDecay = 0;
  uint64_t seed = 0;
  std::string init = "file";
  std::string initFrom;
  // Checkpoints and results
  std::string checkpointDir;
  int64_t checkpointEvery = 0; ///< 0: after each epoch
  int64_t checkpointKeep = 3;  ///< 0: all
  std::string best;            ///< "": no best checkpoint
  int64_t patience = -1;       ///< -1: until the end
  std::string resume;
  std::string exportOnnx;
  std::string log;
  std::string logCsv;
  std::string tensorboard;
  int64_t logInterval = 50;
  // Machine
  int64_t threads = 0;
  int64_t ranks = 0; ///< 0: this process alone, or what a launcher started
  bool deterministic = false;
  int64_t benchmark = 0;
  std::string trace;
  // Prediction
  std::string output;
  bool scores = false;
  // Evaluation
  std::string metrics;
  // Instead of training
  bool info = false;
  bool help = false;
  bool version = false;
};

} // namespace lwcc::rt::train

#endif // LWCC_RUNTIME_TRAIN_LOOP_OPTIONS_H
