//===- Timeline.cpp - The times of a program, for people ------------------===//

#include "ir/json/ParseJson.h"
#include "passes/plan/price/ProgramTime.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/FormatVariadic.h"

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

void plan::printTrace(const ProgramTime &time, llvm::raw_ostream &os) {
  os << "{\"traceEvents\": [\n";
  llvm::StringMap<int> devices;
  std::vector<int> deviceOf;
  const std::vector<Program::Lane> &lanes = time.program.lanes;
  for (auto [i, lane] : llvm::enumerate(lanes)) {
    auto [entry, isNew] = devices.try_emplace(lane.device, devices.size());
    deviceOf.push_back(entry->second);
    if (isNew)
      os << llvm::formatv("{{\"name\": \"process_name\", \"ph\": \"M\", "
                          "\"args\": {{\"name\": {0}}, \"pid\": {1}},\n",
                          jsonText(lane.device), entry->second);
    os << llvm::formatv("{{\"name\": \"thread_name\", \"ph\": \"M\", \"args\": "
                        "{{\"name\": {0}}, \"pid\": {1}, \"tid\": {2}},\n",
                        jsonText(lane.name), entry->second, i);
  }
  std::vector<int> calls(lanes.size(), 0);
  llvm::StringRef between = "";
  for (const ProgramTime::TimedCall &timed : time.calls) {
    const Program::Call &call = time.program.calls[timed.call];
    os << between
       << llvm::formatv(
              "{{\"name\": {0}, \"cat\": {1}, \"ph\": \"X\", \"pid\": {2}, "
              "\"tid\": {3}, \"ts\": {4:f3}, \"dur\": {5:f3}, \"args\": "
              "{{\"layer\": {6}, \"step\": 0, \"call\": {7}}}",
              jsonText(call.callee), jsonText(call.phase), deviceOf[timed.lane],
              timed.lane, timed.begin * 1e6, timed.seconds * 1e6,
              jsonText(call.layer), calls[timed.lane]++);
    between = ",\n";
  }
  os << llvm::formatv("\n], \"otherData\": {{\"program\": {0}, \"hash\": {1}, "
                      "\"plan\": {2}, \"predicted\": true}}\n",
                      jsonText(time.program.name), jsonText(time.program.hash),
                      jsonText(time.program.plan));
}
