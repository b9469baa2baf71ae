//===- Profile.cpp - Measured times of runtime calls ----------------------===//

#include "passes/plan/price/Profile.h"
#include "ir/InputFile.h"
#include "ir/json/JsonFields.h"
#include "ir/json/JsonWriter.h"
#include "ir/json/ParseJson.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/raw_ostream.h"

#include <cmath>
#include <limits>

using namespace lwcc;
using namespace lwcc::plan;
namespace json = llvm::json;

/// A call's function, and whether it reads what another device has, which takes
/// some ten times as long for each byte: what calls have in common whose times
/// are in proportion to their work.
static std::string kindOf(llvm::StringRef key, bool readsElsewhere) {
  return key.split(' ').first.str() + (readsElsewhere ? "@" : "");
}
static bool readsElsewhere(llvm::StringRef key) { return key.contains('@'); }

void Profile::add(int64_t share, llvm::StringRef key, const Entry &entry) {
  Share &known = shares[share];
  known.entries[key] = entry;
  known.kinds[kindOf(key, readsElsewhere(key))][entry.work] = entry;
}

std::optional<Profile::Answer> Profile::find(int64_t share, llvm::StringRef key,
                                             double work) const {
  auto known = shares.find(share);
  if (known == shares.end())
    return std::nullopt;
  auto entry = known->second.entries.find(key);
  if (entry != known->second.entries.end())
    return Answer{entry->second.seconds, entry->second.deviation, true,
                  entry->second.processors};
  const auto &kinds = known->second.kinds;
  auto kind = kinds.find(kindOf(key, readsElsewhere(key)));
  if (kind == kinds.end())
    kind = kinds.find(kindOf(key, !readsElsewhere(key)));
  if (kind == kinds.end())
    return std::nullopt;
  // The nearest by ratio.
  const std::map<double, Entry> &times = kind->second;
  auto above = times.lower_bound(work);
  if (above == times.end())
    --above;
  auto nearest = above;
  if (above != times.begin())
    if (auto below = std::prev(above);
        work * work < above->first * below->first)
      nearest = below;
  double scale = nearest->first > 0 ? work / nearest->first : 1;
  return Answer{nearest->second.seconds * scale,
                nearest->second.deviation * scale, false, /*processors=*/0};
}

int64_t Profile::nearest(double share) const {
  assert(!shares.empty() && "a profile without times");
  auto distance = [&](const auto &known) {
    return std::abs(std::log(share / static_cast<double>(known.first)));
  };
  return llvm::min_element(shares,
                           [&](const auto &a, const auto &b) {
                             return distance(a) < distance(b);
                           })
      ->first;
}

bool Profile::knowsProcessors() const {
  for (const auto &[share, known] : shares)
    for (const auto &entry : known.entries)
      if (entry.second.processors > 0)
        return true;
  return false;
}

size_t Profile::size() const {
  size_t count = 0;
  for (const auto &[share, known] : shares)
    count += known.entries.size();
  return count;
}

std::string Profile::toJson() const {
  std::string text;
  llvm::raw_string_ostream os(text);
  JsonWriter json(os);
  auto writeEntry = [&](const Entry &entry) {
    json.member("seconds", entry.seconds);
    json.member("deviation", entry.deviation);
    json.member("work", entry.work);
    json.member("samples", entry.samples);
    if (entry.processors > 0)
      json.member("processors", entry.processors);
  };
  // Sorted, a line each: files can be compared.
  auto writeShare = [&](const Share &share) {
    std::vector<llvm::StringRef> keys;
    for (const auto &entry : share.entries)
      keys.push_back(entry.first());
    llvm::sort(keys);
    for (llvm::StringRef key : keys)
      json.objectMember(key, JsonWriter::oneLine,
                        [&] { writeEntry(share.entries.at(key)); });
  };
  json.object(JsonWriter::lines, [&] {
    json.member("version", 1);
    json.textMember("target", target);
    json.textMember("device", device);
    json.textMember("precision", precision);
    json.objectMember("shares", JsonWriter::lines, [&] {
      for (const auto &[number, share] : shares)
        json.objectMember(std::to_string(number), JsonWriter::lines,
                          [&, &share = share] { writeShare(share); });
    });
  });
  os << "\n";
  return text;
}

static void readAll(JsonFields &fields, Profile &profile,
                    std::vector<std::string> &mistakes) {
  if (!fields.expectVersion(1))
    return;
  profile.target = fields.text("target");
  profile.device = fields.text("device");
  profile.precision = fields.text("precision");
  const json::Object *shares = fields.members("shares", /*needed=*/true);
  fields.finish();
  if (!shares)
    return;
  for (const auto &[name, entries] : *shares) {
    int64_t share;
    const json::Object *calls = entries.getAsObject();
    if (llvm::StringRef(name).getAsInteger(10, share) || share < 1 || !calls) {
      mistakes.push_back(llvm::formatv("\"shares.{0}\" is no number of devices "
                                       "with an object of calls",
                                       llvm::StringRef(name)));
      continue;
    }
    for (const auto &[key, found] : *calls) {
      std::string where = llvm::StringRef(key).str();
      const json::Object *call = found.getAsObject();
      if (!call) {
        mistakes.push_back("expected an object for \"" + where + "\"");
        continue;
      }
      JsonFields entry(*call, where + ": ", mistakes);
      Profile::Entry read;
      read.seconds = entry.positive("seconds");
      read.deviation = entry.notNegative("deviation", 0);
      read.work = entry.notNegative("work", 0);
      read.samples = entry.count("samples", 1, /*least=*/1,
                                 std::numeric_limits<int64_t>::max());
      read.processors = std::min(entry.notNegative("processors", 0), 1.0);
      entry.finish();
      profile.add(share, key, read);
    }
  }
}

std::vector<std::string> lwcc::plan::profileFromJson(llvm::StringRef text,
                                                     Profile &profile) {
  return readFields(
      text, [&](JsonFields &fields, std::vector<std::string> &mistakes) {
        readAll(fields, profile, mistakes);
      });
}

std::vector<std::string> lwcc::plan::readProfile(llvm::StringRef path,
                                                 llvm::StringRef precision,
                                                 llvm::StringRef target,
                                                 Profile &profile) {
  auto buffer = readInput(path, mostJsonBytes);
  if (!buffer)
    return {llvm::formatv("cannot read costs '{0}': {1}", path,
                          llvm::toString(buffer.takeError()))};
  std::vector<std::string> mistakes =
      profileFromJson((*buffer)->getBuffer(), profile);
  if (mistakes.empty() && profile.precision != precision)
    mistakes.push_back(llvm::formatv("they were measured in {0}, not {1}",
                                     profile.precision, precision));
  if (mistakes.empty() && !target.empty() && profile.target != target)
    mistakes.push_back(
        llvm::formatv("they were measured for --target={0}", profile.target));
  for (std::string &mistake : mistakes)
    mistake = llvm::formatv("costs '{0}': {1}", path, mistake);
  return mistakes;
}
