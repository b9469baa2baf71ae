//===- PlanFile.cpp - Plans as files --------------------------------------===//

#include "ir/json/JsonFields.h"
#include "ir/json/JsonWriter.h"
#include "ir/json/ParseJson.h"
#include "ir/json/Suggestion.h"
#include "passes/plan/model/Plan.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

#include <limits>

using namespace lwcc;
using namespace lwcc::plan;
namespace json = llvm::json;

/// Version 2 has groups, lanes of phases, widths of lanes, and places that
/// repeat. What version 1 has means the same there.
static constexpr int64_t version = 2;

//===----------------------------------------------------------------------===//
// Writing
//===----------------------------------------------------------------------===//

/// What a reader would assume anyway is left out.
static void writeTiling(JsonWriter &json, const Tiling &tiling,
                        const Machine &machine) {
  for (size_t d = 0; d < dimensions.size(); ++d) {
    llvm::StringRef field = dimensions.substr(d, 1);
    if (tiling.degrees[d] == 1)
      continue;
    if (!tiling.sizes[d].empty())
      json.arrayMember(field, JsonWriter::oneLine, [&] {
        for (int64_t size : tiling.sizes[d])
          json.value(size);
      });
    else
      json.member(field, tiling.degrees[d]);
  }
  if (tiling.places == machine.placesInTurn(tiling.tiles()))
    return;
  llvm::ArrayRef<Place> places = tiling.places;
  size_t period = 1;
  while (period < places.size() &&
         places.drop_front(period) != places.drop_back(period))
    ++period;
  json.arrayMember("places", JsonWriter::oneLine, [&] {
    for (const Place &place : places.take_front(period))
      json.value(place.text());
  });
}

std::string lwcc::plan::toJson(const Plan &plan) {
  std::string text;
  llvm::raw_string_ostream os(text);
  JsonWriter json(os);
  json.object(JsonWriter::lines, [&] {
    json.member("version", version);
    json.textMember("model", plan.model);
    json.textMember("hash", plan.hash);
    json.member("batch", plan.batch);
    json.objectMember("machine", JsonWriter::oneLine, [&] {
      if (!plan.machine.name.empty())
        json.textMember("name", plan.machine.name);
      json.member("nodes", plan.machine.nodes);
      json.member("gpus", plan.machine.gpus);
    });
    json.textMember("strategy", plan.strategy);
    if (!plan.costs.empty())
      json.textMember("costs", plan.costs);
    json.objectMember("layers", JsonWriter::lines, [&] {
      for (const LayerPlan &layer : plan.layers)
        json.objectMember(layer.layer, JsonWriter::oneLine, [&] {
          writeTiling(json, layer.tiling, plan.machine);
          if (!layer.lanes.empty())
            json.objectMember("lane", JsonWriter::oneLine, [&] {
              for (auto [phase, lane] : layer.lanes)
                json.member(phaseName(phase), lane);
            });
        });
    });
    if (!plan.groups.empty())
      json.objectMember("groups", JsonWriter::lines, [&] {
        for (const Group &group : plan.groups)
          json.arrayMember(group.name, JsonWriter::oneLine, [&] {
            for (const std::string &layer : group.layers)
              json.value(jsonText(layer));
          });
      });
    if (!plan.widths.empty())
      json.objectMember("lanes", JsonWriter::lines, [&] {
        for (const LaneWidth &width : plan.widths)
          json.objectMember(width.lane.text(), JsonWriter::oneLine,
                            [&] { json.member("threads", width.threads); });
      });
    if (plan.order.empty())
      return;
    json.objectMember("order", JsonWriter::lines, [&] {
      for (const LaneOrder &order : plan.order)
        json.arrayMember(order.lane.text(), JsonWriter::oneLine, [&] {
          for (const Task &task : order.tasks)
            json.value(jsonText(task.text()));
        });
    });
  });
  os << "\n";
  return text;
}

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

namespace {
class Reader {
public:
  explicit Reader(std::vector<std::string> &mistakes) : mistakes(mistakes) {}

  void read(JsonFields &fields, Plan &plan);

private:
  template <typename... Args>
  void mistake(const char *format, Args &&...args) {
    mistakes.push_back(
        llvm::formatv(format, std::forward<Args>(args)...).str());
  }
  void checkKeys(const json::Object &object, const std::string &where,
                 const std::vector<llvm::StringRef> &known);
  void readDegree(const json::Value &field, int dim, Tiling &tiling);
  void readPlaces(const json::Value &field, Tiling &tiling);
  void readOrder(const json::Object &lanes, Plan &plan);
  void readLanes(const json::Value &field, LayerPlan &plan);
  void readGroups(const json::Object &groups, Plan &plan);
  void readWidths(const json::Object &lanes, Plan &plan);
  std::optional<Place> readPlace(llvm::StringRef text,
                                 const std::string &where);
  LayerPlan readLayer(const json::Value &value);

  std::vector<std::string> &mistakes;
  std::string layer; ///< that is being read
};
} // namespace

void Reader::checkKeys(const json::Object &object, const std::string &where,
                       const std::vector<llvm::StringRef> &known) {
  for (llvm::StringRef key : namesOf(object))
    if (!llvm::is_contained(known, key))
      mistake("{0}unknown field \"{1}\"{2}", where, key,
              suggestion(key, known));
}

/// A number of parts, or the list of their sizes. How many are too many depends
/// on the layer: check() says so.
void Reader::readDegree(const json::Value &field, int dim, Tiling &tiling) {
  if (const json::Array *sizes = field.getAsArray()) {
    for (const json::Value &entry : *sizes)
      tiling.sizes[dim].push_back(entry.getAsInteger().value_or(0));
    tiling.degrees[dim] = sizes->size();
    if (!sizes->empty() &&
        llvm::all_of(tiling.sizes[dim], [](int64_t size) { return size > 0; }))
      return;
  } else if (std::optional<int64_t> parts = field.getAsInteger();
             parts && *parts > 0) {
    tiling.degrees[dim] = *parts;
    return;
  }
  mistake("layer \"{0}\": expected a positive number of parts, or a list of "
          "their sizes, for \"{1}\", found {2}",
          layer, dimensions.substr(dim, 1), field);
  tiling.degrees[dim] = 1;
  tiling.sizes[dim].clear();
}

/// Plans name compute lanes; what goes over the others follows from them.
std::optional<Place> Reader::readPlace(llvm::StringRef text,
                                       const std::string &where) {
  std::optional<Place> place = parsePlace(text);
  if (place && !place->lane.isCopy())
    return place;
  if (place)
    mistake("{0}: {1} is a copy lane, on which nothing is computed; lanes of "
            "that device are {2} and up",
            where, text, place->on(Lane()).text());
  else
    mistake("{0}: expected a place \"node.gpu.lane\", found {1}", where,
            json::Value(text));
  return std::nullopt;
}

void Reader::readPlaces(const json::Value &field, Tiling &tiling) {
  const json::Array *places = field.getAsArray();
  if (!places)
    return mistake("layer \"{0}\": expected a list of places", layer);
  bool good = true;
  for (const json::Value &entry : *places) {
    std::optional<llvm::StringRef> text = entry.getAsString();
    std::optional<Place> place;
    if (text)
      place = readPlace(*text, "layer \"" + layer + "\"");
    else
      mistake("layer \"{0}\": expected a place \"node.gpu.lane\", found {1}",
              layer, entry);
    good &= place.has_value();
    tiling.places.push_back(place.value_or(Place{}));
  }
  int64_t count = places->size();
  if (good && (count == 0 || count > tiling.tiles()))
    mistake("layer \"{0}\" has {1} tiles but {2} places", layer, tiling.tiles(),
            count);
}

/// Updates run where their parameters lie, and a forward pass on the tile's
/// place; so these have no lane.
void Reader::readLanes(const json::Value &field, LayerPlan &plan) {
  const json::Object *lanes = field.getAsObject();
  bool good = lanes != nullptr;
  if (lanes)
    for (llvm::StringRef name : namesOf(*lanes)) {
      std::optional<Phase> phase = phaseNamed(name);
      std::optional<int64_t> lane = lanes->getInteger(name);
      if ((phase == Phase::backward || phase == Phase::weight) && lane &&
          *lane >= 0)
        plan.lanes[*phase] = *lane;
      else
        good = false;
    }
  if (!good)
    mistake("layer \"{0}\": expected the lanes of \"backward\" and "
            "\"weight\" for \"lane\", found {1}",
            layer, field);
}

LayerPlan Reader::readLayer(const json::Value &value) {
  LayerPlan plan{layer, {}, {}};
  plan.tiling.places.clear(); // without any they are spread by complete()
  const json::Object *object = value.getAsObject();
  if (!object) {
    mistake("layer \"{0}\": expected an object", layer);
    return plan;
  }
  std::vector<llvm::StringRef> known = {"places", "lane"};
  for (size_t d = 0; d < dimensions.size(); ++d) {
    known.push_back(dimensions.substr(d, 1));
    if (const json::Value *field = object->get(known.back()))
      readDegree(*field, d, plan.tiling);
  }
  checkKeys(*object, "layer \"" + layer + "\": ", known);
  if (const json::Value *places = object->get("places"))
    readPlaces(*places, plan.tiling);
  if (const json::Value *lanes = object->get("lane"))
    readLanes(*lanes, plan);
  return plan;
}

void Reader::readGroups(const json::Object &groups, Plan &plan) {
  for (llvm::StringRef name : namesOf(groups)) {
    const json::Array *list = groups.getArray(name);
    auto isText = [](const json::Value &entry) {
      return entry.getAsString().has_value();
    };
    if (!list || !llvm::all_of(*list, isText)) {
      mistake("groups: expected a list of layers for \"{0}\"", name);
      continue;
    }
    Group group{name.str(), {}};
    for (const json::Value &entry : *list)
      group.layers.push_back(entry.getAsString()->str());
    plan.groups.push_back(std::move(group));
  }
}

void Reader::readWidths(const json::Object &lanes, Plan &plan) {
  for (llvm::StringRef name : namesOf(lanes)) {
    std::optional<Place> lane = readPlace(name, "lanes");
    const json::Object *object = lanes.getObject(name);
    if (!object) {
      mistake("lanes: expected an object for {0}, such as {{\"threads\": 2}",
              name);
      continue;
    }
    JsonFields fields(*object, "lanes." + name.str() + ".", mistakes);
    int64_t threads = fields.count("threads", 1, /*least=*/1, mostThreads);
    fields.finish();
    if (lane)
      plan.widths.push_back({*lane, threads});
  }
}

void Reader::readOrder(const json::Object &lanes, Plan &plan) {
  for (llvm::StringRef name : namesOf(lanes)) {
    const json::Array *list = lanes.getArray(name);
    std::optional<Place> lane = readPlace(name, "order");
    if (!list)
      mistake("order of {0}: expected a list of layers", name);
    if (!lane || !list)
      continue;
    LaneOrder order{*lane, {}};
    for (const json::Value &entry : *list)
      if (std::optional<llvm::StringRef> text = entry.getAsString())
        order.tasks.push_back(parseTask(*text));
      else
        mistake("order of {0}: expected a layer's name, found {1}", name,
                entry);
    plan.order.push_back(std::move(order));
  }
}

void Reader::read(JsonFields &fields, Plan &plan) {
  if (!fields.expectVersion(version))
    return;
  plan.model = fields.text("model");
  plan.hash = fields.text("hash");
  plan.batch = fields.count("batch", 0, /*least=*/0,
                            std::numeric_limits<int64_t>::max());
  plan.strategy = fields.text("strategy");
  plan.costs = fields.text("costs");
  if (auto machine = fields.object("machine", /*needed=*/false)) {
    plan.machine.name = machine->text("name");
    plan.machine.nodes = machine->count("nodes", 1);
    plan.machine.gpus = machine->count("gpus", 1);
    machine->finish();
  }
  const json::Object *layers = fields.members("layers", /*needed=*/true);
  const json::Object *groups = fields.members("groups", /*needed=*/false);
  const json::Object *lanes = fields.members("lanes", /*needed=*/false);
  const json::Object *order = fields.members("order", /*needed=*/false);
  fields.finish();
  if (groups)
    readGroups(*groups, plan);
  if (lanes)
    readWidths(*lanes, plan);
  if (order)
    readOrder(*order, plan);
  if (!layers)
    return;
  for (llvm::StringRef name : namesOf(*layers)) {
    layer = name.str();
    plan.layers.push_back(readLayer(*layers->get(name)));
  }
}

std::vector<std::string> lwcc::plan::fromJson(llvm::StringRef text,
                                              Plan &plan) {
  return readFields(
      text, [&](JsonFields &fields, std::vector<std::string> &mistakes) {
        Reader(mistakes).read(fields, plan);
      });
}
