//===- Progress.cpp - What a person sees while it trains ------------------===//

#include "runtime/train/Progress.h"

#include "runtime/train/Text.h"

#include <algorithm>

namespace lwcc::rt::train {

Progress::Progress(std::FILE *out, bool terminal, const Plan &plan)
    : out(out), terminal(terminal), plan(plan), lastStep(Clock::now()),
      lastReport(lastStep) {}

Progress::~Progress() {
  if (shown)
    std::fprintf(out, "\n");
}

std::string Progress::numbers(const Mean &mean) const {
  if (mean.steps == 0)
    return "no steps";
  return format("loss %.4f  top-1 %.2f %%", mean.loss / mean.steps,
                100.0 * mean.correct / (mean.steps * plan.batch));
}

double Progress::step(int64_t step, int64_t epoch, float loss,
                      int64_t correct) {
  Clock::time_point now = Clock::now();
  double seconds = std::chrono::duration<double>(now - lastStep).count();
  lastStep = now;
  sinceReport.add(loss, correct);
  ofEpoch.add(loss, correct);
  sinceSeconds += seconds;
  // The first step warms caches up and would spoil the estimate.
  if (counted++ > 0)
    trained += seconds;

  double quiet = std::chrono::duration<double>(now - lastReport).count();
  bool due = terminal ? quiet >= 0.1 : step % plan.interval == 0 || quiet >= 10;
  if (due || first || step == plan.steps)
    report(step, epoch, now);
  first = false;
  return plan.batch / std::max(seconds, 1e-9);
}

void Progress::report(int64_t step, int64_t epoch, Clock::time_point now) {
  double speed = sinceReport.steps * plan.batch / std::max(sinceSeconds, 1e-9);
  std::string text =
      format("epoch %lld/%lld  step %lld/%lld  %s  %.*f images/s",
             static_cast<long long>(epoch), static_cast<long long>(plan.epochs),
             static_cast<long long>(step), static_cast<long long>(plan.steps),
             numbers(sinceReport).c_str(), speed < 100 ? 1 : 0, speed);
  if (counted > 1 && step < plan.steps)
    text += "  " + durationText(trained / (counted - 1) * (plan.steps - step)) +
            " left";
  if (terminal) {
    size_t width = text.size();
    text.resize(std::max(width, shown), ' ');
    std::fprintf(out, "\r%s", text.c_str());
    shown = width;
  } else {
    std::fprintf(out, "%s\n", text.c_str());
  }
  std::fflush(out);
  sinceReport = {};
  sinceSeconds = 0;
  lastReport = now;
}

void Progress::line(const std::string &text) {
  if (shown)
    std::fprintf(out, "\r%*s\r", static_cast<int>(shown), "");
  shown = 0;
  std::fprintf(out, "%s\n", text.c_str());
  std::fflush(out);
}

void Progress::pause() { lastStep = Clock::now(); }

std::string Progress::epochSummary() {
  std::string text = numbers(ofEpoch);
  ofEpoch = {};
  return text;
}

} // namespace lwcc::rt::train
