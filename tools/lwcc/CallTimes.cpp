//===- CallTimes.cpp - What a trace says about calls ----------------------===//

#include "tools/lwcc/CallTimes.h"
#include "ir/InputFile.h"
#include "ir/json/ParseJson.h"
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

namespace {
/// Takes a trace apart. Of a file with many events, the first mistake is
/// enough.
class Reader {
public:
  llvm::Error read(const json::Object &trace);
  CallTimes times;

private:
  llvm::Error readCall(const json::Object &event);
  llvm::Error readDescription(const json::Object &about);
};
} // namespace

llvm::Error Reader::readDescription(const json::Object &about) {
  for (auto [name, field] :
       {std::pair<StringRef, std::string *>{"target", &times.target},
        {"device", &times.device},
        {"hash", &times.hash},
        {"precision", &times.precision}}) {
    std::optional<StringRef> text = about.getString(name);
    if (!text)
      return makeError("otherData: expected a text for \"" + name + "\"");
    *field = text->str();
  }
  std::optional<int64_t> batch = about.getInteger("batch");
  if (!batch)
    return makeError("otherData: expected a whole number for \"batch\"");
  times.batch = *batch;
  if (const json::Array *threads = about.getArray("threads"))
    for (const json::Value &lane : *threads)
      times.threads += lane.getAsInteger().value_or(0);
  return llvm::Error::success();
}

llvm::Error Reader::readCall(const json::Object &event) {
  const json::Object *about = event.getObject("args");
  auto name = event.getString("name"), phase = event.getString("cat");
  auto begin = event.getNumber("ts"), duration = event.getNumber("dur");
  auto lane = event.getInteger("tid");
  if (!about || !name || !phase || !begin || !duration || !lane)
    return makeError("expected \"name\", \"cat\", \"tid\", \"ts\", \"dur\" and "
                     "\"args\"");
  auto layer = about->getString("layer");
  auto step = about->getInteger("step"), call = about->getInteger("call");
  if (!layer || !step || !call)
    return makeError("args: expected \"layer\", \"step\" and \"call\"");
  if (*lane < 0 || *call < 0 || *duration < 0)
    return makeError("\"tid\", \"call\" and \"dur\" cannot be below 0");
  times.calls.push_back({name->str(), layer->str(), phase->str(),
                         static_cast<size_t>(*lane), static_cast<size_t>(*call),
                         *step, *begin * 1e-6, *duration * 1e-6});
  return llvm::Error::success();
}

llvm::Error Reader::read(const json::Object &trace) {
  const json::Object *about = trace.getObject("otherData");
  const json::Array *events = trace.getArray("traceEvents");
  if (!about || !events)
    return makeError(
        "it is no trace of a trainer: expected \"traceEvents\" and "
        "\"otherData\"");
  if (llvm::Error error = readDescription(*about))
    return error;
  for (auto [i, value] : llvm::enumerate(*events)) {
    const json::Object *event = value.getAsObject();
    llvm::Error error = !event ? makeError("expected an object")
                        : event->getString("ph") == "X"
                            ? readCall(*event)
                            : llvm::Error::success();
    if (error)
      return makeError("traceEvents[" + llvm::Twine(i) +
                       "]: " + llvm::toString(std::move(error)));
  }
  if (times.calls.empty())
    return makeError("it has no calls");
  return llvm::Error::success();
}

Expected<CallTimes> CallTimes::read(StringRef traceFile) {
  auto wrong = [&](const llvm::Twine &why) {
    return makeError("trace '" + traceFile + "': " + why);
  };
  auto buffer = readInput(traceFile, mostJsonBytes);
  if (!buffer)
    return makeError("cannot read trace '" + traceFile +
                     "': " + llvm::toString(buffer.takeError()));
  std::vector<std::string> mistakes;
  json::Value value = nullptr;
  const json::Object *trace =
      parseObject((*buffer)->getBuffer(), value, mistakes);
  if (!trace)
    return wrong(llvm::join(mistakes, "; "));
  Reader reader;
  if (llvm::Error error = reader.read(*trace))
    return wrong(llvm::toString(std::move(error)));
  return std::move(reader.times);
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
