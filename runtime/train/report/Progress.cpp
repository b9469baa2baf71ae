//===- Progress.cpp - What a person sees while it trains ------------------===//

#include "runtime/train/report/Progress.h"

#include "runtime/train/files/Text.h"

#include <algorithm>
#include <cerrno>
#include <iterator>

#include <stdio_ext.h>
#include <sys/ioctl.h>

namespace lwcc::rt::train {

Progress::Progress(std::FILE *out, bool terminal, const Extent &extent)
    : out(out), terminal(terminal), extent(extent), lastStep(Clock::now()),
      lastReport(lastStep) {}

Progress::~Progress() {
  if (shown)
    print("\n");
}

void Progress::print(const std::string &text) {
  if (std::fwrite(text.data(), 1, text.size(), out) == text.size() &&
      std::fflush(out) == 0)
    return;
  if (!failed)
    failed = errno;
  ::__fpurge(out); // not tried again, perhaps with half a line
  std::clearerr(out);
}

/// Asked each time, since people resize their windows.
size_t Progress::columns() const {
  struct winsize size;
  bool known = ::ioctl(::fileno(out), TIOCGWINSZ, &size) == 0 && size.ws_col;
  return known ? size.ws_col : 80;
}

std::optional<EpochMeans> Progress::meansOf(const Mean &mean) const {
  if (mean.steps == 0)
    return std::nullopt;
  return EpochMeans{mean.loss / static_cast<double>(mean.steps),
                    mean.first /
                        static_cast<double>(std::max<int64_t>(mean.labels, 1))};
}

double Progress::step(int64_t step, int64_t epoch, float loss, double sum,
                      int64_t labels) {
  Clock::time_point now = Clock::now();
  double seconds = std::chrono::duration<double>(now - lastStep).count();
  lastStep = now;
  sinceReport.add(loss, sum, labels);
  ofEpoch.add(loss, sum, labels);
  sinceSeconds += seconds;
  // The first step warms caches up and would spoil the estimate.
  if (counted++ > 0)
    trained += seconds;

  double quiet = std::chrono::duration<double>(now - lastReport).count();
  bool due =
      terminal ? quiet >= 0.1 : step % extent.interval == 0 || quiet >= 10;
  if (due || first || step == extent.steps)
    report(step, epoch, now);
  first = false;
  return extent.batch / std::max(seconds, 1e-9);
}

void Progress::report(int64_t step, int64_t epoch, Clock::time_point now) {
  double speed =
      sinceReport.steps * extent.batch / std::max(sinceSeconds, 1e-9);
  const EpochMeans means = meansOf(sinceReport).value_or(EpochMeans());
  auto count = [](int64_t n) { return std::to_string(n); };
  struct Part {
    std::string text;
    int rank; ///< 0 is the last to be left out
  };
  Part parts[] = {
      {"epoch " + count(epoch) + "/" + count(extent.epochs), 3},
      {"step " + count(step) + "/" + count(extent.steps), 0},
      {format("loss %.4f", means.loss), 1},
      {extent.metric.text(means.first), 4},
      {format("%.*f %ss/s", speed < 100 ? 1 : 0, speed, extent.noun.c_str()),
       5},
      {"", 2}};
  if (counted > 1 && step < extent.steps)
    parts[5].text =
        durationText(trained / (counted - 1) * (extent.steps - step)) + " left";
  auto join = [&](int ranks) {
    std::string text;
    for (const Part &part : parts)
      if (part.rank < ranks && !part.text.empty())
        text += (text.empty() ? "" : "  ") + part.text;
    return text;
  };
  int ranks = std::size(parts);
  std::string text = join(ranks);
  if (terminal) {
    // The last column stays free: behind it a terminal begins a new line.
    size_t room = std::max<size_t>(columns(), 2) - 1;
    while (text.size() > room && ranks > 1)
      text = join(--ranks);
    text.resize(std::min(text.size(), room));
    size_t width = text.size();
    text.resize(std::max(width, std::min(shown, room)), ' ');
    print("\r" + text);
    shown = width;
  } else {
    print(text + "\n");
  }
  sinceReport = {};
  sinceSeconds = 0;
  lastReport = now;
}

void Progress::line(const std::string &text) {
  std::string blank;
  if (shown)
    blank = "\r" + std::string(std::min(shown, columns() - 1), ' ') + "\r";
  shown = 0;
  print(blank + text + "\n");
}

void Progress::pause() { lastStep = Clock::now(); }

std::optional<EpochMeans> Progress::endEpoch() {
  std::optional<EpochMeans> means = meansOf(ofEpoch);
  ofEpoch = {};
  return means;
}

} // namespace lwcc::rt::train
