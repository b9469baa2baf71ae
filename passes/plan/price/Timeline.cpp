//===- Timeline.cpp - The times of a program, for people ------------------===//

#include "ir/json/JsonWriter.h"
#include "passes/plan/price/ProgramTime.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/FormatVariadic.h"

#include <optional>

using namespace lwcc;
using namespace lwcc::plan;

void plan::printTimeline(const ProgramTime &time, llvm::raw_ostream &os) {
  constexpr int columns = 96;
  constexpr llvm::StringLiteral letters =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
  llvm::MapVector<llvm::StringRef, char> letterOf;
  size_t width = 0;
  const std::vector<Program::Lane> &lanes = time.program.lanes;
  for (const Program::Lane &lane : lanes)
    width = std::max(width, lane.name.size());
  std::vector<std::string> rows(lanes.size(), std::string(columns, '.'));
  std::vector<double> busy(lanes.size(), 0);
  // Of a column that several calls share, the longest stands there.
  std::vector<std::vector<double>> most(lanes.size(),
                                        std::vector<double>(columns, 0));
  for (const ProgramTime::TimedCall &timed : time.calls) {
    char &letter = letterOf[time.program.calls[timed.call].layer];
    if (!letter)
      letter = letters[(letterOf.size() - 1) % letters.size()];
    busy[timed.lane] += timed.seconds;
    auto columnOf = [&](double at) {
      return time.step > 0 ? at / time.step * columns : 0;
    };
    double begin = columnOf(timed.begin),
           end = columnOf(timed.begin + timed.seconds);
    for (int c = static_cast<int>(begin); c < columns && c < end; ++c) {
      double part = std::min(end, c + 1.0) - std::max<double>(begin, c);
      if (part <= most[timed.lane][c])
        continue;
      most[timed.lane][c] = part;
      rows[timed.lane][c] = letter;
    }
  }
  os << llvm::formatv("timeline of a step of {0:f3} ms, {1:f4} ms a column:\n",
                      time.step * 1e3, time.step * 1e3 / columns);
  for (auto [i, row] : llvm::enumerate(rows))
    os << "  " << llvm::left_justify(lanes[i].name, width) << " |" << row
       << llvm::formatv("| {0,3:f0} %\n",
                        time.step > 0 ? busy[i] / time.step * 100 : 0);
  std::string line = " ";
  for (auto [layer, letter] : letterOf) {
    std::string entry = llvm::formatv(" {0}={1}", letter, layer);
    if (line.size() + entry.size() > 110) {
      os << line << "\n";
      line = " ";
    }
    line += entry;
  }
  os << line << "\n";
}

/// The name of a process (a device) or of a thread (a lane) of a trace.
static void writeName(JsonWriter &json, llvm::StringRef kind,
                      llvm::StringRef name, int device,
                      std::optional<int> lane = {}) {
  json.object(JsonWriter::oneLine, [&] {
    json.member("name", kind);
    json.member("ph", "M");
    json.objectMember("args", JsonWriter::oneLine,
                      [&] { json.textMember("name", name); });
    json.member("pid", device);
    if (lane)
      json.member("tid", *lane);
  });
}

void plan::printTrace(const ProgramTime &time, llvm::raw_ostream &os) {
  const std::vector<Program::Lane> &lanes = time.program.lanes;
  JsonWriter json(os, /*indent=*/0);
  llvm::StringMap<int> devices;
  std::vector<int> deviceOf, calls(lanes.size(), 0);
  auto writeEvents = [&] {
    for (auto [i, lane] : llvm::enumerate(lanes)) {
      auto [entry, isNew] = devices.try_emplace(lane.device, devices.size());
      deviceOf.push_back(entry->second);
      if (isNew)
        writeName(json, "process_name", lane.device, entry->second);
      writeName(json, "thread_name", lane.name, entry->second,
                static_cast<int>(i));
    }
    for (const ProgramTime::TimedCall &timed : time.calls) {
      const Program::Call &call = time.program.calls[timed.call];
      json.object(JsonWriter::oneLine, [&] {
        json.textMember("name", call.callee);
        json.textMember("cat", call.phase);
        json.member("ph", "X");
        json.member("pid", deviceOf[timed.lane]);
        json.member("tid", timed.lane);
        json.fixedMember("ts", timed.begin * 1e6, 3);
        json.fixedMember("dur", timed.seconds * 1e6, 3);
        json.objectMember("args", JsonWriter::oneLine, [&] {
          json.textMember("layer", call.layer);
          json.member("step", 0);
          json.member("call", calls[timed.lane]++);
        });
      });
    }
  };
  json.object(JsonWriter::oneLine, [&] {
    json.arrayMember("traceEvents", JsonWriter::lines, writeEvents);
    json.objectMember("otherData", JsonWriter::oneLine, [&] {
      json.textMember("program", time.program.name);
      json.textMember("hash", time.program.hash);
      json.textMember("plan", time.program.plan);
      json.member("predicted", true);
    });
  });
  os << "\n";
}
