//===- Trace.cpp - When every call of a step ran --------------------------===//

#include "runtime/train/report/Trace.h"

#include "runtime/train/files/Json.h"
#include "runtime/train/files/OutputFiles.h"
#include "runtime/train/files/Text.h"

#include <algorithm>
#include <limits>

namespace lwcc::rt::train {

bool Trace::write() {
  if (path.empty() || written)
    return false;
  writeAtomically(path, [&](FileWriter &file) { writeTo(file); });
  return written = true;
}

/// The line that names a device ("process") or a lane ("thread").
static JsonObject nameEvent(const char *what, const std::string &name) {
  return JsonObject()
      .add("name", what)
      .add("ph", "M")
      .addRaw("args", JsonObject().add("name", name).str());
}

static std::string microseconds(int64_t nanoseconds) {
  return format("%lld.%03d", static_cast<long long>(nanoseconds / 1000),
                static_cast<int>(nanoseconds % 1000));
}

/// What other ranks ran is in nobody's trace but theirs, and they write none.
static bool isOfThisRank(const TracedCall &call) { return call.end != 0; }

void Trace::writeTo(FileWriter &file) const {
  const std::vector<LaneSpec> &lanes = program.machine.lanes;
  std::string text = "{\"traceEvents\": [";
  const char *separator = "\n";
  auto add = [&](const JsonObject &event) {
    text += separator + event.str();
    separator = ",\n";
  };
  for (size_t d = 0; d < program.machine.devices.size(); ++d)
    add(nameEvent("process_name", "device " + std::to_string(d))
            .add("pid", int64_t(d)));
  for (size_t l = 0; l < lanes.size(); ++l)
    add(nameEvent("thread_name", lanes[l].name)
            .add("pid", lanes[l].device)
            .add("tid", int64_t(l)));

  int64_t origin = std::numeric_limits<int64_t>::max();
  for (const auto &[step, calls] : steps)
    for (const TracedCall &call : *calls)
      origin = isOfThisRank(call) ? std::min(origin, call.begin) : origin;
  for (const auto &[step, calls] : steps) {
    std::vector<int> counted(lanes.size());
    for (const TracedCall &call : *calls) {
      if (!isOfThisRank(call))
        continue;
      add(JsonObject()
              .add("name", call.op)
              .add("cat", call.phase)
              .add("ph", "X")
              .add("pid", lanes[call.lane].device)
              .add("tid", call.lane)
              .addRaw("ts", microseconds(call.begin - origin))
              .addRaw("dur", microseconds(call.end - call.begin))
              .addRaw("args", JsonObject()
                                  .add("layer", call.layer)
                                  .add("step", step)
                                  .add("call", counted[call.lane]++)
                                  .str()));
    }
    file.write(text); // not all of a long trace in memory
    text.clear();
  }
  file.write(text + "\n], \"otherData\": " + description() + "}\n");
}

std::string Trace::description() const {
  JsonObject about;
  about.add("program", program.model)
      .add("hash", program.modelHash)
      .add("compiler", program.compiler)
      .add("plan", program.plan)
      .add("batch", program.batch)
      .add("precision", program.precision)
      .add("target", machine.target())
      .add("device", machine.describe());
  std::vector<int64_t> threads;
  for (size_t l = 0; l < program.machine.lanes.size(); ++l)
    threads.push_back(machine.threads(static_cast<int>(l)));
  if (std::count(threads.begin(), threads.end(), 0) == 0)
    about.add("threads", threads);
  return about.str();
}

} // namespace lwcc::rt::train
