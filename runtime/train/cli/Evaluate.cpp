//===- Evaluate.cpp - The command evaluate --------------------------------===//
//
// Loss and accuracy of a data set with trained weights, without a training set.
// The numbers are those of a validation (loop/Evaluate.h): every image counts
// once, whatever the batch.
//
//===----------------------------------------------------------------------===//

#include "runtime/core/Error.h"
#include "runtime/train/cli/Setup.h"
#include "runtime/train/files/OutputFiles.h"
#include "runtime/train/files/Text.h"
#include "runtime/train/loop/Inference.h"
#include "runtime/train/loop/Signals.h"
#include "runtime/train/report/Info.h"
#include "runtime/train/report/Log.h"

#include <cerrno>
#include <cstdio>
#include <optional>
#include <system_error>

namespace lwcc::rt::train {

/// A set whose classes nobody has numbered but itself.
static void remarkOnNumbers(const Program &program, const DataSource &source,
                            const TrainedWeights &weights) {
  const std::vector<std::string> names = source.classNames();
  if (!weights.classes.empty() || names.empty() ||
      static_cast<int64_t>(names.size()) == program.classes)
    return;
  std::fprintf(stderr,
               "warning: %s of the model's %s are here, numbered by their "
               "names; the training's numbers are known with a checkpoint "
               "(--resume) of a training on folders\n",
               countText(static_cast<int64_t>(names.size())).c_str(),
               plural(program.classes, "class").c_str());
}

int runEvaluate(const Program &program, Flags &flags) {
  const Options &options = flags.options;
  TrainedWeights weights;
  std::optional<DataSet> opened;
  Mistakes mistakes;
  mistakes.attempt([&] { weights = findTrainedWeights(program, flags); });
  if (!options.log.empty())
    mistakes.attempt([&] { checkWritable(options.log); });
  mistakes.attempt([&] {
    opened.emplace(openChecked(options.data, DataRole::validation, program,
                               options, weights.classes));
  });
  mistakes.raise();
  const DataSet &data = *opened;
  remarkOnNumbers(program, *data.source, weights);
  std::unique_ptr<Machine> machine = createMachine(program, options);
  std::printf("%s\n  device      %s\n  data        %s\n  weights     %s\n",
              describeHeader(program).c_str(), machine->describe().c_str(),
              data.describe().c_str(), weights.text.c_str());
  std::fflush(stdout);

  StopSignals signals;
  Inference inference(*machine, {program, options, data, weights.checkpoint},
                      /*scores=*/false);
  Evaluation result = inference.run([&] { return signals.received() != 0; });
  if (int signal = signals.received()) {
    std::fprintf(stderr, "stopped by %s: not all of the data was seen\n",
                 signalText(signal).c_str());
    return 128 + signal;
  }
  for (const SkippedSample &sample : result.skipped)
    std::printf("skipped %s\n", sample.reason.c_str());
  if (result.images == 0)
    throw Error(options.data + ": not one image can be read");
  Log(options.log, /*append=*/false)
      .write(JsonObject()
                 .add("val_loss", result.loss)
                 .add("val_top1", result.top1Fraction())
                 .add("val_top5", result.top5Fraction())
                 .add("val_images", result.images));
  std::printf("evaluation: %s\n", result.text(program).c_str());
  if (std::fflush(stdout) != 0)
    throw Error("cannot write to standard output: " +
                std::generic_category().message(errno));
  return 0;
}

} // namespace lwcc::rt::train
