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
#include "runtime/train/report/ClassTable.h"
#include "runtime/train/report/Info.h"
#include "runtime/train/report/Log.h"
#include "runtime/train/report/PredictionTable.h"

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

/// Of the classes, by the training's numbers; none where nobody knows them.
static std::vector<std::string> namesOf(const Program &program,
                                        const DataSource &source,
                                        const std::vector<std::string> &known) {
  if (!known.empty())
    return known;
  std::vector<std::string> names = source.classNames();
  return static_cast<int64_t>(names.size()) == program.classes
             ? names
             : std::vector<std::string>();
}

int runEvaluate(const Program &program, Flags &flags) {
  const Options &options = flags.options;
  TrainedWeights weights;
  std::optional<DataSet> opened;
  Mistakes mistakes;
  mistakes.attempt([&] { weights = findTrainedWeights(program, flags); });
  if (!options.log.empty())
    mistakes.attempt([&] { checkWritable(options.log); });
  if (!options.metrics.empty())
    mistakes.attempt([&] {
      checkWritable(options.metrics);
      if (!program.lossName.empty())
        throw Error("--metrics: is of classes, and this model's loss is of "
                    "numbers (" +
                    program.loss + ")");
      if (std::string why = whyWithoutScores(program); !why.empty())
        throw Error("--metrics: " + why);
    });
  mistakes.attempt([&] {
    opened.emplace(openChecked(options.data, DataRole::validation, program,
                               options, weights.classes));
  });
  mistakes.raise();
  const DataSet &data = *opened;
  remarkOnNumbers(program, *data.source, weights);
  std::unique_ptr<Machine> machine = createMachine(program, options);
  // What is written through, a pipe perhaps, is not for lines to people.
  std::FILE *out =
      !options.metrics.empty() && isSpecial(options.metrics) ? stderr : stdout;
  std::fprintf(out,
               "%s\n  device      %s\n  data        %s\n  weights     %s\n",
               describeHeader(program).c_str(), machine->describe().c_str(),
               data.describe().c_str(), weights.text.c_str());
  std::fflush(out);

  std::optional<ClassTable> classes;
  if (!options.metrics.empty())
    classes.emplace(program.classes,
                    namesOf(program, *data.source, weights.classes));
  StopSignals signals;
  Inference inference(*machine, {program, options, data, weights.checkpoint},
                      /*scores=*/classes.has_value());
  Inference::Sink count;
  if (classes)
    count = [&](int64_t image, std::span<const float> scores) {
      const int32_t label = data.source->label(image);
      if (!scores.empty() && label >= 0) // others do not count
        classes->add(label, predictionOf(scores).top);
    };
  Evaluation result =
      inference.run([&] { return signals.received() != 0; }, count);
  if (int signal = signals.received()) {
    std::fprintf(stderr, "stopped by %s: not all of the data was seen\n",
                 signalText(signal).c_str());
    return 128 + signal;
  }
  for (const SkippedSample &sample : result.skipped)
    std::fprintf(out, "skipped %s\n", sample.reason.c_str());
  if (result.images == 0)
    throw Error(options.data + ": not one image can be read");
  JsonObject record;
  result.addTo(record, program);
  if (classes) {
    writeAtomically(options.metrics,
                    [&](FileWriter &file) { file.write(classes->text()); });
    const ClassScore macro = classes->macro();
    record.add("macro_precision", macro.precision)
        .add("macro_recall", macro.recall)
        .add("macro_f1", macro.f1);
    std::fprintf(out,
                 "classes:    precision %.2f %%  recall %.2f %%  F1 %.2f %%  "
                 "(means over the classes; %s)\n",
                 100 * macro.precision, 100 * macro.recall, 100 * macro.f1,
                 options.metrics.c_str());
  }
  Log(options.log, /*append=*/false).write(record);
  std::fprintf(out, "evaluation: %s\n", result.text(program).c_str());
  if (std::fflush(out) != 0)
    throw Error("cannot write to standard output: " +
                std::generic_category().message(errno));
  return 0;
}

} // namespace lwcc::rt::train
