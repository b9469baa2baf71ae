//===- CallTimes.cpp - What a trace says about calls ----------------------===//

#include "tools/lwcc/CallTimes.h"
#include "ir/InputFile.h"
#include "passes/plan/ParseJson.h"
#include "tools/lwcc/Build.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/ErrorHandling.h"

#include <algorithm>
#include <limits>

using namespace lwcc;
using llvm::Expected;
using llvm::StringRef;
namespace json = llvm::json;

Expected<CallTimes> CallTimes::read(StringRef traceFile) {
  auto buffer = readInput(traceFile, mostJsonBytes);
  if (!buffer)
    return failed("cannot read the trace: " +
                  llvm::toString(buffer.takeError()));
  std::vector<std::string> mistakes;
  json::Value value = nullptr;
  const json::Object *object =
      plan::parseObject((*buffer)->getBuffer(), value, mistakes);
  if (!object)
    return failed("cannot read the trace: " + llvm::join(mistakes, "; "));
  CallTimes times;
  const json::Object &trace = *object;
  const json::Object &about = *trace.getObject("otherData");
  times.device = about.getString("device")->str();
  if (const json::Array *threads = about.getArray("threads"))
    for (const json::Value &lane : *threads)
      times.threads += *lane.getAsInteger();
  for (const json::Value &event : *trace.getArray("traceEvents"))
    if (const json::Object &call = *event.getAsObject();
        call.getString("ph") == "X") {
      const json::Object &about = *call.getObject("args");
      times.calls.push_back(
          {call.getString("name")->str(), about.getString("layer")->str(),
           call.getString("cat")->str(),
           static_cast<size_t>(*call.getInteger("tid")),
           static_cast<size_t>(*about.getInteger("call")),
           *about.getInteger("step"), *call.getNumber("ts") * 1e-6,
           *call.getNumber("dur") * 1e-6});
    }
  return times;
}

double CallTimes::seconds() const {
  double begin = std::numeric_limits<double>::infinity(), end = -begin;
  for (const Call &call : calls) {
    begin = std::min(begin, call.begin);
    end = std::max(end, call.begin + call.seconds);
  }
  return end - begin;
}

double CallTimes::median(StringRef function, StringRef layer) const {
  std::vector<double> seconds;
  for (const Call &call : calls)
    if (call.phase == "forward" &&
        (function.empty() || call.function == function) &&
        StringRef(call.layer).starts_with(layer))
      seconds.push_back(call.seconds);
  if (seconds.empty())
    llvm::reportFatalInternalError("no call of " + function + " for '" + layer +
                                   "' was traced");
  llvm::sort(seconds);
  return seconds[seconds.size() / 2];
}
