//===- Predict.cpp - The command predict ----------------------------------===//
//
// The class of each image of a data set, as a file of CSV that appears when it
// is complete (report/PredictionTable.h has its columns). Refuses weights that
// nobody has trained.
//
//===----------------------------------------------------------------------===//

#include "runtime/core/Error.h"
#include "runtime/train/cli/Setup.h"
#include "runtime/train/files/OutputFiles.h"
#include "runtime/train/files/Text.h"
#include "runtime/train/loop/Inference.h"
#include "runtime/train/loop/Signals.h"
#include "runtime/train/report/Info.h"
#include "runtime/train/report/PredictionTable.h"

#include <chrono>
#include <cmath>
#include <cstdio>
#include <optional>

namespace lwcc::rt::train {

namespace {
/// Ends the writing of the file, so that none appears.
struct Stopped : Error {
  explicit Stopped(int signal)
      : Error("stopped by " + signalText(signal)), signal(signal) {}
  int signal;
};
} // namespace

/// What the program cannot predict with.
static void checkWeights(const Program &program, const TrainedWeights &weights,
                         Mistakes &mistakes) {
  if (std::string why = whyWithoutScores(program); !why.empty())
    mistakes.add("predict: " + why);
  if (weights.drawn)
    mistakes.add("predict: the weights are drawn at random when a training "
                 "starts, as " +
                 program.model +
                 " says: nothing was learned yet; --resume=CHECKPOINT takes "
                 "those of a training");
}

int runPredict(const Program &program, Flags &flags) {
  const Options &options = flags.options;
  TrainedWeights weights;
  std::optional<DataSet> opened;
  Mistakes mistakes;
  mistakes.attempt([&] { weights = findTrainedWeights(program, flags); });
  checkWeights(program, weights, mistakes);
  mistakes.attempt([&] { checkWritable(options.output); });
  mistakes.attempt([&] {
    opened.emplace(
        openChecked(options.data, DataRole::prediction, program, options));
  });
  mistakes.raise();
  const DataSet &data = *opened;
  std::unique_ptr<Machine> machine = createMachine(program, options);
  // What is written through, a pipe perhaps, is not for lines to people.
  std::FILE *out = isSpecial(options.output) ? stderr : stdout;
  std::fprintf(out,
               "%s\n  device      %s\n  data        %s\n  weights     %s\n",
               describeHeader(program).c_str(), machine->describe().c_str(),
               data.describe().c_str(), weights.text.c_str());
  std::fflush(out);

  StopSignals signals;
  auto start = std::chrono::steady_clock::now();
  Inference inference(*machine, {program, options, data, weights.checkpoint},
                      /*scores=*/true);
  const Scores kind = program.lossName.empty()    ? Scores::classes
                      : program.lossName == "bce" ? Scores::decisions
                                                  : Scores::numbers;
  PredictionTable table(kind, program.scores.dims[1], weights.classes,
                        options.scores);
  Evaluation result;
  int64_t odd = 0; // with scores that are no numbers
  auto fill = [&](FileWriter &writer) {
    std::string text = table.header();
    auto flush = [&](size_t enough) {
      if (text.size() < enough)
        return;
      writer.write(text);
      text.clear();
    };
    odd = 0;
    result =
        inference.run([&] { return signals.received() != 0; },
                      [&](int64_t image, std::span<const float> scores) {
                        const std::string name = data.source->nameOf(image);
                        text += scores.empty() ? table.emptyRow(name)
                                               : table.row(name, scores);
                        odd += !scores.empty() &&
                               std::isnan(predictionOf(scores).probability);
                        flush(1 << 16);
                      });
    if (int signal = signals.received())
      throw Stopped(signal);
    flush(1);
  };
  try {
    writeAtomically(options.output, fill);
  } catch (const Stopped &stop) {
    std::fprintf(stderr, "%s: nothing was written\n", stop.what());
    return 128 + stop.signal;
  }
  for (const SkippedSample &sample : result.skipped)
    std::fprintf(out, "skipped %s\n", sample.reason.c_str());
  if (odd)
    std::fprintf(stderr, "warning: %s %s scores that are not all numbers\n",
                 plural(odd, sampleNoun(program)).c_str(),
                 odd == 1 ? "has" : "have");
  double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start)
          .count();
  std::fprintf(out, "predicted %s to %s in %s\n",
               plural(result.images, sampleNoun(program)).c_str(),
               options.output.c_str(), durationText(seconds).c_str());
  return 0;
}

} // namespace lwcc::rt::train
