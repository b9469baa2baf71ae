//===- PlanTest.cpp - Plans as files, plans against models ----------------===//
//
// What is written is read back, and everything that is wrong with a file or
// with its fit to a model is said.
//
//===----------------------------------------------------------------------===//

#include "passes/plan/model/LayerGraph.h"
#include "passes/plan/solve/Solvers.h"
#include "test/unit/passes/LayeredGraphs.h"

#include "gtest/gtest.h"

#include <limits>

using namespace lwcc;
using namespace lwcc::plan;
using namespace lwcc::plan::test;

namespace {

Plan read(llvm::StringRef text) {
  Plan plan;
  EXPECT_EQ(fromJson(text, plan), std::vector<std::string>{});
  return plan;
}

std::vector<std::string> mistakesInPlan(llvm::StringRef text) {
  Plan plan;
  return fromJson(text, plan);
}

TEST(Plan, writesOneReadableLinePerLayerWithoutWhatGoesWithoutSaying) {
  Plan plan{"m.onnx", "cafe", 8, {1, 2}, "single", {}};
  Tiling placed{{2, 1, 1, 1, 1}, {{0, 0, 0}, {0, 1, 2}}, {}};
  Tiling uneven{{1, 2, 1, 1, 1}, {{0, 0, 0}, {0, 1, 0}}, {}};
  uneven.sizes[1] = {5, 1};
  plan.layers = {{"a \"quoted\" layer", placed}, {"b", uneven}, {"c", {}}};
  EXPECT_EQ(toJson(plan), R"({
  "version": 2,
  "model": "m.onnx",
  "hash": "cafe",
  "batch": 8,
  "machine": {"nodes": 1, "gpus": 2},
  "strategy": "single",
  "layers": {
    "a \"quoted\" layer": {"n": 2, "places": ["0.0.0", "0.1.2"]},
    "b": {"c": [5, 1]},
    "c": {}
  }
}
)");
}

TEST(Plan, readsWhatItWrites) {
  Plan plan{"m.onnx", "cafe", 8, {2, 4}, "mine", {}};
  Tiling tiling{{2, 1, 3, 1, 1}, {}, {}};
  for (int64_t i = 0; i < 6; ++i)
    tiling.places.push_back({i / 4, i % 4, i % 2});
  tiling.sizes[2] = {1, 1, 2};
  plan.layers = {{"conv1", tiling}, {"fc", Tiling{}}};
  plan.order = {{{0, 1, 1}, {{"conv1", 1, Phase::backward}, {"a[b]", {}}}},
                {{1, 0, 0}, {{"conv1", 4}}}};
  plan.layers[1].lanes = {{Phase::backward, 1}, {Phase::weight, 2}};
  plan.groups = {{"stage \"0\"", {"conv1", "fc"}}};
  plan.order.insert(plan.order.begin(),
                    {{0, 0, 0}, {{"stage \"0\"", 0, Phase::weight}}});
  plan.costs = "h200.json";
  Plan again = read(toJson(plan));
  complete(again, {}, plan.machine); // places that were left out
  EXPECT_EQ(again, plan);
}

TEST(Plan, mistakesInAFileNameLayerAndField) {
  auto layer = [](llvm::StringRef fields) {
    return "{\"version\": 1, \"layers\": {\"fc\": " + fields.str() + "}}";
  };
  auto mistakeIn = [](llvm::StringRef text) {
    std::vector<std::string> mistakes = mistakesInPlan(text);
    EXPECT_EQ(mistakes.size(), 1u);
    return mistakes.empty() ? "" : mistakes[0];
  };
  EXPECT_EQ(mistakeIn("{\n  \"a\":\n}"),
            "line 3, column 1: syntax error while parsing value - unexpected "
            "'}'; expected '[', '{', or a literal");
  EXPECT_EQ(mistakeIn("[]"), "expected an object");
  EXPECT_EQ(mistakeIn("{}"), "\"version\" is missing");
  EXPECT_EQ(mistakeIn(R"({"version": 3, "layers": {}})"),
            "has version 3; this lwcc reads versions 1 to 2");
  EXPECT_EQ(mistakeIn(R"({"version": 1})"), "\"layers\" is missing");
  EXPECT_EQ(mistakeIn(layer("3")), "layer \"fc\": expected an object");
  EXPECT_EQ(mistakeIn(layer(R"({"place": ["0.0.0"]})")),
            "layer \"fc\": unknown field \"place\", did you mean \"places\"?");
  EXPECT_EQ(mistakeIn(layer(R"({"n": 0})")),
            "layer \"fc\": expected a positive number of parts, or a list of "
            "their sizes, for \"n\", found 0");
  EXPECT_EQ(mistakeIn(layer(R"({"n": [2, 0]})")),
            "layer \"fc\": expected a positive number of parts, or a list of "
            "their sizes, for \"n\", found [2,0]");
  EXPECT_EQ(mistakeIn(layer(R"({"places": 3})")),
            "layer \"fc\": expected a list of places");
  EXPECT_EQ(mistakeIn(layer(R"({"places": ["0.0"]})")),
            "layer \"fc\": expected a place \"node.gpu.lane\", found \"0.0\"");
  EXPECT_EQ(mistakeIn(layer(R"({"n": 2, "places": []})")),
            "layer \"fc\" has 2 tiles but 0 places");
  EXPECT_EQ(mistakeIn(layer(R"({"places": ["0.0.0", "0.1.0"]})")),
            "layer \"fc\" has 1 tiles but 2 places");
  for (const char *lanes :
       {"3", R"({"forward":1})", R"({"weight":-1})", R"({"weight":"1"})"})
    EXPECT_EQ(mistakeIn(layer(R"({"lane": )" + std::string(lanes) + "}")),
              "layer \"fc\": expected the lanes of \"backward\" and "
              "\"weight\" for \"lane\", found " +
                  std::string(lanes));
  EXPECT_EQ(mistakeIn(R"({"version": 2, "layers": {}, "groups": {"g": [1]}})"),
            "groups: expected a list of layers for \"g\"");
}

TEST(Plan, theOrderOfALaneNamesLayersTilesAndPhases) {
  Plan plan = read(R"({"version": 1, "layers": {},
      "order": {"0.1.0": ["conv1", "conv1[1]", "fc[0] backward", "x[y]"]}})");
  EXPECT_EQ(plan.order, (std::vector<LaneOrder>{{{0, 1, 0},
                                                 {{"conv1", {}},
                                                  {"conv1", 1},
                                                  {"fc", 0, Phase::backward},
                                                  {"x[y]", {}}}}}));
  EXPECT_EQ(mistakesInPlan(R"({"version": 1, "layers": {}, "order":
      {"0.0": ["a"], "0.0.0": 3, "0.0.1": [4]}})"),
            (std::vector<std::string>{
                "order: expected a place \"node.gpu.lane\", found \"0.0\"",
                "order of 0.0.0: expected a list of layers",
                "order of 0.0.1: expected a layer's name, found 4"}));
  plan = read(R"({"version": 1, "layers": {"conv1": {"n": 2}},
      "order": {"0.0.0": ["cnv1", "conv1[2]", "conv1[1]", "fc", "fc"]}})");
  complete(plan, smallNet(), {1, 2});
  EXPECT_EQ(check(plan, smallNet(), {1, 2}),
            (std::vector<std::string>{
                "the order of 0.0.0 names layer \"cnv1\", which the model does "
                "not have, did you mean \"conv1\"?",
                "the order of 0.0.0 names \"conv1[2]\", but the layer has 2 "
                "tiles",
                "the order of 0.0.0 names \"conv1[1]\", which runs elsewhere",
                "the order of 0.0.0 names \"fc\" twice"}));
}

TEST(Plan, lanesHaveWidths) {
  Plan plan = read(R"({"version": 2,
      "lanes": {"0.0.0": {"threads": 2}, "0.0.1": {"threads": 1}},
      "layers": {"conv1": {"n": 2, "places": ["0.0.0", "0.0.1"]}}})");
  EXPECT_EQ(plan.widths,
            (std::vector<LaneWidth>{{{0, 0, {0}}, 2}, {{0, 0, {1}}, 1}}));
  Plan again;
  EXPECT_EQ(fromJson(toJson(plan), again), std::vector<std::string>());
  EXPECT_EQ(again.widths, plan.widths);
  complete(plan, smallNet(), {1, 1});
  EXPECT_EQ(check(plan, smallNet(), {1, 1}), std::vector<std::string>());
}

TEST(Plan, everyMistakeAboutLanesIsReportedWithItsPlace) {
  EXPECT_EQ(mistakesInPlan(R"({"version": 2,
      "lanes": {"0.0.sync": {"threads": 1}, "0.0": {"threads": 1},
                "0.0.1": {"threads": 2000}, "0.0.2": 3, "0.0.3": {"cores": 1}},
      "layers": {"conv1": {"places": ["0.0.in"]}},
      "order": {"0.0.back": ["conv1"]}})"),
            (std::vector<std::string>{
                "lanes: expected a place \"node.gpu.lane\", found \"0.0\"",
                "expected a number of at most 1024 for "
                "\"lanes.0.0.1.threads\", found 2000",
                "lanes: expected an object for 0.0.2, such as "
                "{\"threads\": 2}",
                "unknown field \"lanes.0.0.3.cores\"",
                "lanes: 0.0.sync is a copy lane, on which nothing is computed; "
                "lanes of that device are 0.0.0 and up",
                "order: 0.0.back is a copy lane, on which nothing is computed; "
                "lanes of that device are 0.0.0 and up",
                "layer \"conv1\": 0.0.in is a copy lane, on which nothing is "
                "computed; lanes of that device are 0.0.0 and up"}));
  Plan plan = read(R"({"version": 2,
      "lanes": {"0.0.16": {"threads": 1}, "0.0.3": {"threads": 2}},
      "layers": {"conv1": {"n": 2, "places": ["0.0.0", "0.0.1"]}}})");
  complete(plan, smallNet(), {1, 1});
  EXPECT_EQ(check(plan, smallNet(), {1, 1}),
            (std::vector<std::string>{
                "\"lanes\" gives 0.0.16 threads, but a device's lanes are 0 to "
                "15",
                "\"lanes\" gives 0.0.3 threads, but no layer runs there"}));
}

TEST(Plan, aGroupStandsForItsLayersTilesOnTheLane) {
  Plan plan = read(R"({"version": 2, "groups": {"stage": ["conv1", "fc"]},
      "layers": {"conv1": {"n": 4, "places": ["0.0.0", "0.1.0"]},
                 "fc": {"lane": {"weight": 1}}},
      "order": {"0.0.0": ["stage[1]", "stage[0]", "stage backward"],
                "0.0.1": ["stage weight"]}})");
  complete(plan, smallNet(), {1, 2});
  EXPECT_EQ(check(plan, smallNet(), {1, 2}), std::vector<std::string>());
  EXPECT_EQ(plan.layers[0].tiling.places,
            (std::vector<Place>{{0, 0, 0}, {0, 1, 0}, {0, 0, 0}, {0, 1, 0}}));
  auto tasks = [&](Place lane, Task task) {
    std::string text;
    for (const Task &each : tasksOf(plan, lane, task))
      text += each.text() + ", ";
    return text;
  };
  EXPECT_EQ(tasks({0, 0, 0}, {"stage", 1}), "conv1[2], ");
  EXPECT_EQ(tasks({0, 0, 0}, {"stage", 0}), "conv1[0], fc, ");
  EXPECT_EQ(tasks({0, 1, 0}, {"stage", {}, Phase::backward}),
            "conv1[1] backward, conv1[3] backward, ");
  EXPECT_EQ(tasks({0, 0, 1}, {"stage", {}, Phase::weight}), "fc weight, ");
  EXPECT_EQ(tasks({0, 0, 0}, {"conv1", 3}), "conv1[3], ");
}

TEST(Plan, everyMistakeOfGroupsAndPhasesLanesIsReported) {
  Plan plan = read(R"({"version": 2,
      "groups": {"a": ["conv1", "cnv1"], "b": ["conv1"], "fc": []},
      "layers": {"conv1": {"n": 2}, "fc": {"lane": {"weight": 16}}}})");
  complete(plan, smallNet(), {1, 2});
  EXPECT_EQ(check(plan, smallNet(), {1, 2}),
            (std::vector<std::string>{
                "layer \"fc\" has its phase \"weight\" on lane 16, but a "
                "device's lanes are 0 to 15",
                "group \"a\" names layer \"cnv1\", which the model does not "
                "have, did you mean \"conv1\"?",
                "layer \"conv1\" is in the groups \"a\" and \"b\"",
                "group \"fc\" has the name of a layer"}));
  plan = read(R"({"version": 2, "groups": {"a": ["conv1"]},
      "layers": {"conv1": {"n": 2}, "fc": {"lane": {"weight": 1}}},
      "order": {"0.0.0": ["a[1]", "a", "b", "fc weight"],
                "0.0.1": ["a", "fc weight", "fc"]}})");
  complete(plan, smallNet(), {1, 2});
  EXPECT_EQ(check(plan, smallNet(), {1, 2}),
            (std::vector<std::string>{
                "the order of 0.0.0 names \"a[1]\", but no layer of the group "
                "has 2 tiles there",
                "the order of 0.0.0 names layer \"b\", which the model does "
                "not have",
                "the order of 0.0.0 names \"fc weight\", which runs elsewhere",
                "the order of 0.0.1 names \"a\", but no layer of the group has "
                "a tile there",
                "the order of 0.0.1 names \"fc\", which runs elsewhere"}));
}

TEST(Plan, allMistakesOfAFileAreReported) {
  EXPECT_EQ(mistakesInPlan(R"({"version": 1, "batch": "x", "layer": 1,
      "layers": {"a": {"n": 0, "q": 1}, "b": 7}})"),
            (std::vector<std::string>{
                "expected a number of at least 0 for \"batch\", found \"x\"",
                "unknown field \"layer\", did you mean \"layers\"?",
                "layer \"a\": expected a positive number of parts, or a list "
                "of their sizes, for \"n\", found 0",
                "layer \"a\": unknown field \"q\"",
                "layer \"b\": expected an object"}));
}

TEST(Plan, whatIsLeftOutIsSpreadOverTheGpusAndTakenFromTheProducer) {
  Plan plan =
      read(R"({"version": 1, "layers": {"conv1": {"n": 3}, "fc": {}}})");
  complete(plan, smallNet(), {1, 2});
  Tiling spread{{3, 1, 1, 1, 1}, {{0, 0, 0}, {0, 1, 0}, {0, 0, 0}}, {}};
  ASSERT_EQ(plan.layers.size(), 4u);
  EXPECT_EQ(plan.layers[0], (LayerPlan{"conv1", spread}));
  EXPECT_EQ(plan.layers[1], (LayerPlan{"fc", Tiling{}}));
  EXPECT_EQ(plan.layers[2], (LayerPlan{"relu", spread}));
  EXPECT_EQ(plan.layers[3], (LayerPlan{"loss", Tiling{}}));
}

TEST(Plan, aPlanThatFitsHasNoMistakes) {
  Plan plan = planBy("single", smallNet(), {});
  EXPECT_TRUE(check(plan, smallNet(), {}).empty());
}

TEST(Plan, everyMismatchIsReported) {
  Plan plan{"other.onnx", "beef", 4, {}, "", {}};
  auto add = [&](const char *name, Extents degrees, Place place = {}) {
    Tiling tiling{degrees, {}, {}};
    tiling.places.assign(tiling.tiles(), place);
    plan.layers.push_back({name, tiling});
    return &plan.layers.back().tiling;
  };
  add("fc", {16, 1, 1, 1, 1});
  add("conv", {1, 1, 1, 1, 1});
  add("conv1", {1, 2, 1, 1, 1}, {0, 5, 0})->sizes[1] = {1, 4};
  add("loss", {1, 2, 1, 1, 1});
  EXPECT_EQ(
      check(plan, smallNet(), {1, 4}),
      (std::vector<std::string>{
          "it was made for another model (other.onnx)",
          "it was made for batch 4, not 8",
          "layer \"fc\" is cut into 16 along n, which has 8",
          "the model has no layer \"conv\", did you mean \"conv1\"?",
          "the parts of layer \"conv1\" along c add up to 5, not 6",
          "layer \"conv1\" is placed on 0.5.0, but there are 1 nodes of 4 GPUs",
          "layer \"conv1\" is placed on 0.5.0, but there are 1 nodes of 4 GPUs",
          "layer \"loss\" cannot be cut along c; it can be along n (8)",
          "it says nothing about layer \"relu\""}));
}

TEST(Plan, whatNoModelHasRoomForIsRefusedBeforeAnythingIsAllocated) {
  LayerGraph graph = smallNet();
  graph.layers[0].extents = {8, 512, 512, 512, 3};
  auto mistakes = [&](const std::string &layers) {
    Plan plan = read("{\"version\": 1, \"layers\": {" + layers + "}}");
    complete(plan, graph, {1, 2});
    return check(plan, graph, {1, 2});
  };
  EXPECT_EQ(
      mistakes(R"("conv1": {"n": 1000000000})"),
      (std::vector<std::string>{
          "layer \"conv1\" is cut into 1000000000 along n, which has 8"}));
  // The product of these overflows.
  EXPECT_EQ(mistakes(R"("fc": {"n": 4000000000, "c": 4000000000})").size(), 2u);
  EXPECT_EQ(
      mistakes(R"("conv1": {"h": [4611686018427387904, 4611686018427387904]})"),
      (std::vector<std::string>{
          "the parts of layer \"conv1\" along h add up to "
          "9223372036854775807, not 512"}));
  EXPECT_EQ(mistakes(R"("conv1": {"c": 64, "h": 512, "w": 512})"),
            (std::vector<std::string>{"layer \"conv1\" is cut into 16777216 "
                                      "tiles; there may be 4096"}));
  EXPECT_TRUE(mistakes(R"("conv1": {"c": 64, "h": 64})").empty());
  Plan plan = read(R"({"version": 2, "groups": {"g": ["conv1", "fc"]},
      "layers": {"conv1": {"n": 4000000000, "places": ["0.0.0"]}},
      "order": {"0.0.0": ["g[3999999999]", "g", "conv1[3999999999]",
                          "conv1 backward"]}})");
  complete(plan, graph, {1, 2});
  EXPECT_EQ(check(plan, graph, {1, 2}).size(), 3u);
}

TEST(Plan, proportionsOfAnySizeAreAddedUp) {
  constexpr int64_t most = std::numeric_limits<int64_t>::max();
  LayerGraph::Layer follower;
  follower.extents = {8, int64_t(1) << 39, 1, 1, 1};
  Tiling leader;
  leader.degrees = {2, 1, 1, 1, 1};
  leader.sizes[0] = {most, most};
  EXPECT_TRUE(followerTiling(follower, leader).sizes[0].empty());
  // What is summed over is cut along channels, where that many parts fit.
  leader.degrees = {1, int64_t(1) << 40, 1, 1, int64_t(1) << 40};
  Extents wanted = followerTiling(follower, leader).degrees;
  EXPECT_EQ(wanted, (Extents{1, 1, 1, 1, 1}));
}

TEST(Plan, aDeviceHasSixteenLanes) {
  Plan plan = read(R"({"version": 1, "layers": {
      "conv1": {"n": 2, "places": ["0.0.15", "0.1.99"]}, "fc": {}}})");
  complete(plan, smallNet(), {1, 2});
  EXPECT_EQ(check(plan, smallNet(), {1, 2}),
            (std::vector<std::string>{"layer \"conv1\" is placed on 0.1.99, "
                                      "but a device's lanes are 0 to 15"}));
}

TEST(Plan, nodesThatAreComputedWithinOthersMayBeNamed) {
  LayerGraph graph = smallNet();
  graph.absorbed = {"add", "norm"};
  Plan plan = read(R"({"version": 1, "layers": {
      "conv1": {"n": 2}, "add": {"n": 2}, "fc": {}},
      "order": {"0.0.0": ["conv1[0]", "norm", "add[0]"]}})");
  EXPECT_EQ(dropAbsorbed(plan, graph), "\"add\", \"norm\"");
  complete(plan, graph, {1, 2});
  EXPECT_TRUE(check(plan, graph, {1, 2}).empty());
  EXPECT_EQ(plan.order[0].tasks.size(), 1u);
}

} // namespace
