//===- Setup.h - What training and the commands prepare alike ---*- C++ -*-===//
//
// The machine, and a data set that is checked against the program: what every
// command of the program needs before it starts. Decides nothing of what is
// done with them.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_RUNTIME_TRAIN_CLI_SETUP_H
#define LWCC_RUNTIME_TRAIN_CLI_SETUP_H

#include "runtime/train/cli/Flags.h"
#include "runtime/train/data/DataSource.h"
#include "runtime/train/data/Transform.h"

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace lwcc::rt::train {

/// Collects what is wrong, so that all of it is said at once.
class Mistakes {
public:
  void add(const std::string &mistake);
  /// Calls `step`; an Error that it throws is one of the mistakes.
  void attempt(const std::function<void()> &step);
  /// Throws Error with a line for each, unless there are none.
  void raise() const;

private:
  std::string text;
};

/// Throws Error: no such device, too little memory.
std::unique_ptr<Machine> createMachine(const Program &program,
                                       const Options &options,
                                       const Ranks *ranks = nullptr);

/// Opens a folder of data and how it becomes the model's input. `classes` are
/// the training's, where they have names. Remarks go to standard error. Throws
/// Error where the data does not fit the program.
DataSet openChecked(const std::string &place, DataRole role,
                    const Program &program, const Options &options,
                    std::vector<std::string> classes = {});

/// What is learned, and what is validated on, if anything is.
struct TrainingData {
  DataSet training;
  std::optional<DataSet> validation;
};

/// Opens --data and --val-data, or holds a part of the first back
/// (--val-split). Throws Error.
TrainingData openTrainingData(const Program &program, const Options &options);

/// Why the program gives no scores of a sample; "" if it does.
std::string whyWithoutScores(const Program &program);

/// The weights of a model that is not trained: from where, and what their
/// training knew.
struct TrainedWeights {
  std::string checkpoint;           ///< "": the program's own
  std::vector<std::string> classes; ///< names, where they are known
  std::string text;                 ///< for people: whose they are
  bool drawn = false;               ///< at random: nothing has been learned
};

/// Resolves --resume of a command and takes what its training was told. Throws
/// Error, also where the program's own weights are needed and not there.
TrainedWeights findTrainedWeights(const Program &program, Flags &flags);

/// evaluate and predict (Evaluate.cpp, Predict.cpp): return the exit code.
int runEvaluate(const Program &program, Flags &flags);
int runPredict(const Program &program, Flags &flags);

} // namespace lwcc::rt::train

#endif // LWCC_RUNTIME_TRAIN_CLI_SETUP_H
