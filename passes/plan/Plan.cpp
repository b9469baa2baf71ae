//===- Plan.cpp - A tiling and a place per layer --------------------------===//
//
// Reading, writing and checking plans.
//
//===----------------------------------------------------------------------===//

#include "passes/plan/Plan.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

using namespace lwcc::plan;
namespace json = llvm::json;

static constexpr int64_t version = 1;

namespace {
/// The degrees of a tiling by the names they have in files.
struct Degree {
  llvm::StringRef name;
  int64_t Tiling::*value;
};
constexpr Degree degrees[] = {{"n", &Tiling::n},
                              {"c", &Tiling::c},
                              {"h", &Tiling::h},
                              {"w", &Tiling::w},
                              {"k", &Tiling::k}};
} // namespace

std::string lwcc::plan::toJson(const Plan &plan) {
  std::string text;
  llvm::raw_string_ostream os(text);
  // Written by hand for one line per layer; strings are escaped by JSON.h.
  auto string = [](llvm::StringRef s) { return json::Value(s); };
  os << "{\n  \"version\": " << version
     << ",\n  \"model\": " << string(plan.model)
     << ",\n  \"hash\": " << string(plan.hash)
     << ",\n  \"batch\": " << plan.batch
     << ",\n  \"strategy\": " << string(plan.strategy) << ",\n  \"layers\": {";
  llvm::StringRef separator = "\n";
  for (const LayerPlan &layer : plan.layers) {
    os << separator << "    " << string(layer.layer) << ": {";
    for (const Degree &degree : degrees)
      os << '"' << degree.name << "\": " << layer.tiling.*degree.value << ", ";
    os << "\"places\": [";
    llvm::interleaveComma(layer.tiling.places, os, [&](const Place &p) {
      os << '"' << p.node << '.' << p.gpu << '.' << p.lane << '"';
    });
    os << "]}";
    separator = ",\n";
  }
  os << "\n  }\n}\n";
  return text;
}

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

template <typename... Args>
static llvm::Error mistake(const char *format, Args &&...args) {
  return llvm::createStringError(
      llvm::formatv(format, std::forward<Args>(args)...).str());
}

static llvm::Expected<Place> placeOf(const json::Value &value,
                                     llvm::StringRef layer) {
  std::optional<llvm::StringRef> text = value.getAsString();
  llvm::SmallVector<llvm::StringRef> parts;
  if (text)
    text->split(parts, '.');
  Place place;
  int64_t *numbers[] = {&place.node, &place.gpu, &place.lane};
  bool good = parts.size() == 3;
  for (int i = 0; good && i < 3; ++i)
    good = !parts[i].getAsInteger(10, *numbers[i]) && *numbers[i] >= 0;
  if (!good)
    return mistake("layer \"{0}\": expected a place \"node.gpu.lane\", found "
                   "{1}",
                   layer, value);
  return place;
}

static llvm::Expected<Tiling> tilingOf(const json::Value &value,
                                       llvm::StringRef layer) {
  const json::Object *object = value.getAsObject();
  if (!object)
    return mistake("layer \"{0}\": expected an object", layer);
  Tiling tiling;
  for (const auto &[key, field] : *object) {
    llvm::StringRef name = key;
    if (name == "places")
      continue;
    const Degree *degree =
        llvm::find_if(degrees, [&](const Degree &d) { return d.name == name; });
    if (degree == std::end(degrees))
      return mistake("layer \"{0}\": unknown field \"{1}\"", layer, name);
    std::optional<int64_t> number = field.getAsInteger();
    if (!number || *number < 1)
      return mistake("layer \"{0}\": expected a positive number for \"{1}\", "
                     "found {2}",
                     layer, name, field);
    tiling.*degree->value = *number;
  }
  tiling.places.clear();
  if (!object->get("places"))
    return tiling; // spread by complete()
  const json::Array *places = object->getArray("places");
  if (!places)
    return mistake("layer \"{0}\": expected a list of places", layer);
  for (const json::Value &entry : *places) {
    llvm::Expected<Place> place = placeOf(entry, layer);
    if (!place)
      return place.takeError();
    tiling.places.push_back(*place);
  }
  if (static_cast<int64_t>(tiling.places.size()) != tiling.tiles())
    return mistake("layer \"{0}\" has {1} tiles but {2} places", layer,
                   tiling.tiles(), tiling.places.size());
  return tiling;
}

llvm::Expected<Plan> lwcc::plan::fromJson(llvm::StringRef text) {
  llvm::Expected<json::Value> value = json::parse(text);
  if (!value)
    return value.takeError();
  const json::Object *object = value->getAsObject();
  if (!object)
    return mistake("expected an object");
  std::optional<int64_t> found = object->getInteger("version");
  if (!found)
    return mistake("expected a \"version\"");
  if (*found != version)
    return mistake("has version {0}; this lwcc reads version {1}", *found,
                   version);
  Plan plan;
  auto string = [&](llvm::StringRef key) {
    return object->getString(key).value_or("").str();
  };
  plan.model = string("model");
  plan.hash = string("hash");
  plan.strategy = string("strategy");
  plan.batch = object->getInteger("batch").value_or(0);
  const json::Object *layers = object->getObject("layers");
  if (!layers)
    return mistake("expected an object \"layers\"");
  for (const auto &[key, field] : *layers) {
    llvm::Expected<Tiling> tiling = tilingOf(field, key);
    if (!tiling)
      return tiling.takeError();
    plan.layers.push_back({llvm::StringRef(key).str(), std::move(*tiling)});
  }
  // JSON objects have no order; names are one that does not depend on chance.
  llvm::sort(plan.layers, [](const LayerPlan &a, const LayerPlan &b) {
    return a.layer < b.layer;
  });
  return plan;
}

//===----------------------------------------------------------------------===//
// Completing and checking
//===----------------------------------------------------------------------===//

void lwcc::plan::complete(Plan &plan, const LayerGraph &graph,
                          const Machine &machine) {
  llvm::StringMap<Tiling> known;
  for (LayerPlan &layer : plan.layers) {
    Tiling &tiling = layer.tiling;
    if (tiling.places.empty())
      for (int64_t i = 0; i < tiling.tiles(); ++i) {
        int64_t gpu = i % (machine.nodes * machine.gpus);
        tiling.places.push_back({gpu / machine.gpus, gpu % machine.gpus, 0});
      }
    known[layer.layer] = tiling;
  }
  for (const LayerGraph::Layer &layer : graph.layers) {
    if (known.contains(layer.name))
      continue;
    Tiling tiling;
    if (layer.producer >= 0)
      tiling = known.lookup(graph.layers[layer.producer].name);
    known[layer.name] = tiling;
    plan.layers.push_back({layer.name, tiling});
  }
}

std::vector<std::string> lwcc::plan::check(const Plan &plan,
                                           const LayerGraph &graph,
                                           const Machine &machine) {
  std::vector<std::string> mistakes;
  auto object = [&](const char *format, auto &&...args) {
    mistakes.push_back(llvm::formatv(format, args...).str());
  };
  if (!plan.hash.empty() && !graph.hash.empty() && plan.hash != graph.hash)
    object("it was made for another model ({0})", plan.model);
  if (plan.batch && graph.batch && plan.batch != graph.batch)
    object("it was made for batch {0}, not {1}", plan.batch, graph.batch);

  llvm::StringMap<const LayerGraph::Layer *> layers;
  for (const LayerGraph::Layer &layer : graph.layers)
    layers[layer.name] = &layer;
  llvm::StringMap<Tiling> tilings;
  for (const LayerPlan &layer : plan.layers)
    tilings[layer.layer] = layer.tiling;
  for (const LayerPlan &layer : plan.layers) {
    auto entry = layers.find(layer.layer);
    if (entry == layers.end()) {
      object("the model has no layer \"{0}\"", layer.layer);
      continue;
    }
    llvm::ArrayRef<int64_t> shape = entry->second->shape;
    // What a layer takes from its producer it is cut by as far as it has it.
    if (entry->second->producer >= 0)
      if (auto from = tilings.find(graph.layers[entry->second->producer].name);
          from != tilings.end() && from->second == layer.tiling)
        shape = {};
    for (auto [dim, extent] : llvm::enumerate(shape.take_front(4)))
      if (int64_t degree = layer.tiling.*degrees[dim].value; degree > extent)
        object("layer \"{0}\" is cut into {1} along {2}, which has {3}",
               layer.layer, degree, degrees[dim].name, extent);
    if (layer.tiling.k > 1)
      object("layer \"{0}\" is cut along its reduction (k), which this version "
             "cannot do yet; n, c, h and w can be cut",
             layer.layer);
    for (const Place &p : layer.tiling.places)
      if (p.node >= machine.nodes || p.gpu >= machine.gpus)
        object("layer \"{0}\" is placed on {1}.{2}.{3}, but there {4}",
               layer.layer, p.node, p.gpu, p.lane,
               machine.nodes * machine.gpus == 1
                   ? "is one GPU"
                   : llvm::formatv("are {0} nodes of {1} GPUs", machine.nodes,
                                   machine.gpus)
                         .str());
  }
  for (const LayerGraph::Layer &layer : graph.layers)
    if (!tilings.contains(layer.name))
      object("it says nothing about layer \"{0}\"", layer.name);
  return mistakes;
}
