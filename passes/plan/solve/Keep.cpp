//===- Keep.cpp - Layers whose cuts are given -----------------------------===//

#include "passes/plan/solve/Keep.h"
#include "passes/plan/solve/Space.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/Regex.h"

using namespace lwcc;
using namespace lwcc::plan;

std::string lwcc::plan::parseKeep(llvm::StringRef text, Keep &keep) {
  auto [pattern, degrees] = text.rsplit('=');
  if (pattern.empty() || degrees.empty())
    return "expected a regular expression of layers' names, =, and degrees "
           "such as n4 or n2c2";
  std::string mistake;
  if (!llvm::Regex(pattern).isValid(mistake))
    return "'" + pattern.str() + "' is no regular expression: " + mistake;
  keep = {pattern.str()};
  Extents known = {};
  while (!degrees.empty()) {
    size_t dimension = dimensions.find(degrees.front());
    int64_t degree = 0;
    if (dimension == llvm::StringRef::npos ||
        degrees.drop_front().consumeInteger(10, degree) || degree < 1)
      return "'" + degrees.str() + "' is no degree: expected some of " +
             dimensions.str() + ", a number of parts behind each";
    if (known[dimension]++)
      return "has two degrees of " + dimensions.substr(dimension, 1).str();
    keep.degrees[dimension] = degree;
    degrees = degrees.drop_front().drop_while(llvm::isDigit);
  }
  return "";
}

std::vector<std::string> lwcc::plan::findKept(llvm::ArrayRef<std::string> texts,
                                              const LayerGraph &graph,
                                              const Machine &machine,
                                              KeptDegrees &kept) {
  std::vector<std::string> mistakes;
  std::map<int, std::string> by; // of each kept leader: the first text
  const std::vector<LayerGroup> groups = groupsOf(graph);
  for (const std::string &text : texts) {
    auto fail = [&](const llvm::Twine &message) {
      mistakes.push_back(("--keep=" + text + ": " + message).str());
    };
    Keep keep;
    if (std::string mistake = parseKeep(text, keep); !mistake.empty()) {
      fail(mistake);
      continue;
    }
    const llvm::Regex pattern(keep.pattern);
    bool isFound = false;
    for (const LayerGroup &group : groups) {
      auto named = llvm::find_if(group, [&](int layer) {
        return pattern.match(graph.layers[layer].name);
      });
      if (named == group.end())
        continue;
      isFound = true;
      const LayerGraph::Layer &leader = graph.layers[group.front()];
      std::string name = "layer '" + leader.name + "'";
      if (*named != group.front())
        name += ", which '" + graph.layers[*named].name + "' is cut with,";
      for (auto [d, degree] : llvm::enumerate(keep.degrees))
        if (degree > leader.extents[d])
          fail(name + " has an extent of only " +
               llvm::Twine(leader.extents[d]) + " along " +
               dimensions.substr(d, 1));
      auto [known, isNew] = kept.try_emplace(group.front(), keep.degrees);
      if (isNew)
        by[group.front()] = text;
      else if (known->second != keep.degrees)
        fail(name + " is cut otherwise by --keep=" + by[group.front()]);
    }
    if (!isFound) {
      std::string names;
      for (const LayerGraph::Layer &layer :
           llvm::ArrayRef(graph.layers).take_front(3))
        names += (names.empty() ? "'" : ", '") + layer.name + "'";
      fail("no layer has such a name; the first ones are " + names +
           ", --explain lists all");
    }
    int64_t tiles = 1;
    for (int64_t degree : keep.degrees)
      tiles *= std::min<int64_t>(degree, 1 << 10); // no overflow
    if (tiles > machine.devices())
      fail("more parts than the " + llvm::Twine(machine.devices()) +
           (machine.devices() == 1 ? " device" : " devices"));
  }
  return mistakes;
}
