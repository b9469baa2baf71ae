//===- ProgramTime.cpp - How long a program's step takes ------------------===//

#include "passes/plan/price/ProgramTime.h"
#include "ir/json/ParseJson.h"
#include "passes/plan/machine/Links.h"
#include "passes/plan/model/Call.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/Support/FormatVariadic.h"

#include <cmath>
#include <utility>

using namespace mlir;
using namespace lwcc;
using namespace lwcc::plan;

namespace {
/// When a lane is expected to come to a point, and how much of the variance of
/// that is its own: not shared with the lanes that it has waited for.
struct Moment {
  double mean = 0, variance = 0;
};
} // namespace

/// When a lane that comes to a wait at `arrival` goes on, if it takes `waking`
/// to notice what happened meanwhile. Clark's formula for the expected maximum
/// of independent normal variables. As likely as the event is the later one,
/// what the lane knows of its time is what the other lane knows.
static Moment afterWait(Moment arrival, Moment event, double waking) {
  double deviation = std::sqrt(arrival.variance + event.variance);
  double lead = arrival.mean - event.mean;
  if (deviation == 0)
    return lead >= 0 ? arrival : Moment{event.mean + waking, 0};
  double ratio = lead / deviation;
  double later = std::erfc(-ratio / std::sqrt(2)) / 2; // the lane is
  double density = std::exp(-ratio * ratio / 2) / std::sqrt(2 * M_PI);
  return {arrival.mean * later + (event.mean + waking) * (1 - later) +
              deviation * density,
          arrival.variance * later};
}

static SmallVector<BusyLinks::Source> sourcesOf(const PricedCall &call,
                                                const Machine &machine) {
  return llvm::map_to_vector(call.remote, [&](const RemoteRead &read) {
    return BusyLinks::Source{machine.deviceOf(read.device), read.bytes};
  });
}

ProgramTime plan::timeOf(exec::ProgramOp program, StringRef sequence,
                         const Machine &machine, const CostModel &costs) {
  SymbolTable symbols(program);
  ProgramTime time;
  time.source = costs.source();
  llvm::DenseMap<StringAttr, int> numbers;
  llvm::StringMap<double> lost; // by device: to transfers beside kernels
  for (auto lane : program.getBody().getOps<exec::LaneOp>()) {
    numbers[lane.getSymNameAttr()] = static_cast<int>(time.lanes.size());
    time.lanes.push_back(lane);
  }
  std::vector<Moment> free(time.lanes.size());
  BusyLinks links(machine);
  llvm::DenseMap<StringAttr, Moment> recorded;
  auto found = symbols.lookup<exec::SequenceOp>(sequence);
  for (Operation &op : found.getBody().front()) {
    if (auto record = dyn_cast<exec::RecordOp>(op)) {
      recorded[record.getEventAttr().getAttr()] =
          free[numbers.lookup(record.getLaneAttr().getAttr())];
    } else if (auto wait = dyn_cast<exec::WaitOp>(op)) {
      Moment &lane = free[numbers.lookup(wait.getLaneAttr().getAttr())];
      lane = afterWait(lane, recorded.lookup(wait.getEventAttr().getAttr()),
                       costs.waking());
    } else if (auto call = dyn_cast<exec::CallOp>(op)) {
      int number = numbers.lookup(call.getLaneAttr().getAttr());
      exec::LaneOp lane = time.lanes[number];
      PricedCall priced = describe(call, symbols);
      CostModel::Answer answer = costs.answer(priced.work);
      // Measured times are those of calls that read elsewhere, beside others.
      if (answer.from == CostModel::Answer::analytic)
        answer.seconds = std::max(answer.seconds,
                                  links.arrival(machine.deviceOf(priced.device),
                                                sourcesOf(priced, machine),
                                                free[number].mean) -
                                      free[number].mean);
      time.all += answer.seconds;
      if (answer.from == CostModel::Answer::measured)
        time.measured += answer.seconds;
      else if (answer.from == CostModel::Answer::interpolated)
        time.interpolated += answer.seconds;
      // Measured times were taken beside transfers.
      double &owed = lost[lane.getDevice()];
      if (lane.getCopies() && answer.from == CostModel::Answer::analytic)
        owed += machine.transferSlowdown * answer.seconds;
      else if (!lane.getCopies())
        answer.seconds += std::exchange(owed, 0);
      time.spans.push_back({call, number, free[number].mean, answer.seconds});
      free[number].mean += answer.seconds;
      free[number].variance += answer.deviation * answer.deviation;
    }
  }
  Moment end;
  for (const Moment &lane : free)
    end = afterWait(end, lane, 0);
  time.step = end.mean + costs.starting();
  return time;
}

void plan::printTimeline(const ProgramTime &time, llvm::raw_ostream &os) {
  constexpr int columns = 96;
  constexpr StringLiteral letters =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
  llvm::MapVector<StringRef, char> letterOf;
  size_t width = 0;
  for (exec::LaneOp lane : time.lanes)
    width = std::max(width, lane.getSymName().size());
  std::vector<std::string> rows(time.lanes.size(), std::string(columns, '.'));
  std::vector<double> busy(time.lanes.size(), 0);
  // Of a column that several calls share, the longest stands there.
  std::vector<std::vector<double>> most(time.lanes.size(),
                                        std::vector<double>(columns, 0));
  for (const Span &span : time.spans) {
    exec::CallOp call = span.call;
    char &letter = letterOf[call.getLayer()];
    if (!letter)
      letter = letters[(letterOf.size() - 1) % letters.size()];
    busy[span.lane] += span.seconds;
    auto columnOf = [&](double at) {
      return time.step > 0 ? at / time.step * columns : 0;
    };
    double begin = columnOf(span.begin),
           end = columnOf(span.begin + span.seconds);
    for (int c = static_cast<int>(begin); c < columns && c < end; ++c) {
      double part = std::min(end, c + 1.0) - std::max<double>(begin, c);
      if (part <= most[span.lane][c])
        continue;
      most[span.lane][c] = part;
      rows[span.lane][c] = letter;
    }
  }
  os << llvm::formatv("timeline of a step of {0:f3} ms, {1:f4} ms a column:\n",
                      time.step * 1e3, time.step * 1e3 / columns);
  for (auto [i, row] : llvm::enumerate(rows))
    os << "  "
       << llvm::left_justify(exec::LaneOp(time.lanes[i]).getSymName(), width)
       << " |" << row
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

void plan::printTrace(exec::ProgramOp program, const ProgramTime &time,
                      llvm::raw_ostream &os) {
  os << "{\"traceEvents\": [\n";
  llvm::StringMap<int> devices;
  std::vector<int> deviceOf;
  for (auto [i, lane] : llvm::enumerate(time.lanes)) {
    exec::LaneOp op = lane;
    auto [entry, isNew] = devices.try_emplace(op.getDevice(), devices.size());
    deviceOf.push_back(entry->second);
    if (isNew)
      os << llvm::formatv("{{\"name\": \"process_name\", \"ph\": \"M\", "
                          "\"args\": {{\"name\": {0}}, \"pid\": {1}},\n",
                          jsonText(op.getDevice()), entry->second);
    os << llvm::formatv("{{\"name\": \"thread_name\", \"ph\": \"M\", \"args\": "
                        "{{\"name\": {0}}, \"pid\": {1}, \"tid\": {2}},\n",
                        jsonText(op.getSymName()), entry->second, i);
  }
  std::vector<int> calls(time.lanes.size(), 0);
  StringRef between = "";
  for (const Span &span : time.spans) {
    exec::CallOp call = span.call;
    os << between
       << llvm::formatv(
              "{{\"name\": {0}, \"cat\": {1}, \"ph\": \"X\", \"pid\": {2}, "
              "\"tid\": {3}, \"ts\": {4:f3}, \"dur\": {5:f3}, \"args\": "
              "{{\"layer\": {6}, \"step\": 0, \"call\": {7}}}",
              jsonText(call.getCallee()), jsonText(call.getPhase()),
              deviceOf[span.lane], span.lane, span.begin * 1e6,
              span.seconds * 1e6, jsonText(call.getLayer()),
              calls[span.lane]++);
    between = ",\n";
  }
  auto text = [&](StringRef name) {
    auto attribute = program->getAttrOfType<StringAttr>(name);
    return jsonText(attribute ? attribute.getValue() : "");
  };
  os << llvm::formatv("\n], \"otherData\": {{\"program\": {0}, \"hash\": {1}, "
                      "\"plan\": {2}, \"predicted\": true}}\n",
                      text("exec.model"), text("exec.hash"), text("exec.plan"));
}
