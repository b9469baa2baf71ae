//===- PlanTest.cpp - Plans as files, plans against models ----------------===//
//
// What is written is read back, and everything that is wrong with a file or
// with its fit to a model is said.
//
//===----------------------------------------------------------------------===//

#include "passes/plan/Solvers.h"

#include "gtest/gtest.h"

using namespace lwcc::plan;

namespace {

LayerGraph twoLayers() {
  return {"m.onnx", "cafe", 8, {{"conv1", {8, 6, 4, 4}}, {"fc", {8, 10}}}};
}

std::string mistakeIn(llvm::StringRef text) {
  llvm::Expected<Plan> plan = fromJson(text);
  return plan ? "" : llvm::toString(plan.takeError());
}

TEST(Plan, writesOneReadableLinePerLayer) {
  Plan plan{"m.onnx", "cafe", 8, "single", {{"a \"quoted\" layer", {}}}};
  plan.layers[0].tiling.n = 2;
  plan.layers[0].tiling.places = {{0, 0, 0}, {0, 1, 2}};
  EXPECT_EQ(toJson(plan), R"({
  "version": 1,
  "model": "m.onnx",
  "hash": "cafe",
  "batch": 8,
  "strategy": "single",
  "layers": {
    "a \"quoted\" layer": {"n": 2, "c": 1, "h": 1, "w": 1, "k": 1, "places": ["0.0.0", "0.1.2"]}
  }
}
)");
}

TEST(Plan, readsWhatItWrites) {
  Plan plan{"m.onnx", "cafe", 8, "mine", {}};
  Tiling tiling{2, 1, 3, 1, 1, {}};
  for (int64_t i = 0; i < 6; ++i)
    tiling.places.push_back({i / 4, i % 4, i % 2});
  plan.layers = {{"conv1", tiling}, {"fc", Tiling{}}};
  llvm::Expected<Plan> read = fromJson(toJson(plan));
  ASSERT_TRUE(bool(read)) << llvm::toString(read.takeError());
  EXPECT_EQ(*read, plan);
}

TEST(Plan, degreesOfOneMayBeLeftOut) {
  llvm::Expected<Plan> read =
      fromJson(R"({"version": 1, "layers": {"fc": {"places": ["0.0.1"]}}})");
  ASSERT_TRUE(bool(read)) << llvm::toString(read.takeError());
  EXPECT_EQ(read->layers[0].tiling, (Tiling{1, 1, 1, 1, 1, {{0, 0, 1}}}));
}

TEST(Plan, mistakesInAFileNameLayerAndField) {
  auto layer = [](llvm::StringRef fields) {
    return (R"({"version": 1, "layers": {"fc": )" + fields + "}}").str();
  };
  EXPECT_NE(mistakeIn("{"), "");
  EXPECT_EQ(mistakeIn("[]"), "expected an object");
  EXPECT_EQ(mistakeIn("{}"), "expected a \"version\"");
  EXPECT_EQ(mistakeIn(R"({"version": 2, "layers": {}})"),
            "has version 2; this lwcc reads version 1");
  EXPECT_EQ(mistakeIn(R"({"version": 1})"), "expected an object \"layers\"");
  EXPECT_EQ(mistakeIn(layer("3")), "layer \"fc\": expected an object");
  EXPECT_EQ(mistakeIn(layer(R"({"z": 1, "places": ["0.0.0"]})")),
            "layer \"fc\": unknown field \"z\"");
  EXPECT_EQ(mistakeIn(layer(R"({"n": 0, "places": ["0.0.0"]})")),
            "layer \"fc\": expected a positive number for \"n\", found 0");
  EXPECT_EQ(mistakeIn(layer(R"({"places": 3})")),
            "layer \"fc\": expected a list of places");
  EXPECT_EQ(mistakeIn(layer(R"({"places": ["0.0"]})")),
            "layer \"fc\": expected a place \"node.gpu.lane\", found \"0.0\"");
  EXPECT_EQ(mistakeIn(layer(R"({"n": 2, "places": ["0.0.0"]})")),
            "layer \"fc\" has 2 tiles but 1 places");
}

TEST(Plan, whatIsLeftOutIsSpreadOverTheGpusAndTakenFromTheProducer) {
  auto read = fromJson(R"({"version": 1, "layers": {"conv1": {"n": 3}}})");
  ASSERT_TRUE(bool(read)) << llvm::toString(read.takeError());
  LayerGraph graph = twoLayers();
  graph.layers[1].producer = 0;
  complete(*read, graph, {1, 2});
  Tiling spread{3, 1, 1, 1, 1, {{0, 0, 0}, {0, 1, 0}, {0, 0, 0}}};
  ASSERT_EQ(read->layers.size(), 2u);
  EXPECT_EQ(read->layers[0], (LayerPlan{"conv1", spread}));
  EXPECT_EQ(read->layers[1], (LayerPlan{"fc", spread}));
}

TEST(Plan, aPlanThatFitsHasNoMistakes) {
  Plan plan = findSolver("single")->solve(twoLayers(), {});
  EXPECT_TRUE(check(plan, twoLayers(), {}).empty());
}

TEST(Plan, everyMismatchIsReported) {
  Plan plan{"other.onnx", "beef", 4, "", {{"fc", {}}, {"gone", {}}}};
  plan.layers[0].tiling.n = 16;
  plan.layers[0].tiling.places.assign(16, {0, 5, 0});
  std::vector<std::string> mistakes = check(plan, twoLayers(), {1, 4});
  ASSERT_EQ(mistakes.size(), 3u + 16u + 2u);
  EXPECT_EQ(mistakes[0], "it was made for another model (other.onnx)");
  EXPECT_EQ(mistakes[1], "it was made for batch 4, not 8");
  EXPECT_EQ(mistakes[2], "layer \"fc\" is cut into 16 along n, which has 8");
  EXPECT_EQ(mistakes[3],
            "layer \"fc\" is placed on 0.5.0, but there are 1 nodes of 4 GPUs");
  EXPECT_EQ(mistakes[19], "the model has no layer \"gone\"");
  EXPECT_EQ(mistakes[20], "it says nothing about layer \"conv1\"");
}

TEST(Solvers, dataSpreadsSamplesAsFarAsThereAreSome) {
  const Solver *data = findSolver("data");
  ASSERT_TRUE(data);
  LayerGraph graph = twoLayers();
  Plan plan = data->solve(graph, {1, 64});
  EXPECT_EQ(plan.layers[0].tiling.n, graph.layers[0].shape[0]);
  EXPECT_TRUE(check(plan, graph, {1, 64}).empty());
}

TEST(Solvers, oneWeirdTrickCutsImagesBySamplesAndFeaturesByChannels) {
  LayerGraph graph = twoLayers();
  Plan plan = findSolver("owt")->solve(graph, {1, 4});
  ASSERT_EQ(graph.layers[0].shape.size(), 4u);
  EXPECT_EQ(plan.layers[0].tiling.n, 4);
  ASSERT_EQ(graph.layers[1].shape.size(), 2u);
  EXPECT_EQ(plan.layers[1].tiling.c, 4);
  EXPECT_TRUE(check(plan, graph, {1, 4}).empty());
}

TEST(Solvers, singlePutsEverythingOnTheFirstGpuInTheModelsOrder) {
  const Solver *single = findSolver("single");
  ASSERT_TRUE(single);
  Plan plan = single->solve(twoLayers(), {2, 8});
  ASSERT_EQ(plan.layers.size(), 2u);
  EXPECT_EQ(plan.layers[0], (LayerPlan{"conv1", Tiling{}}));
  EXPECT_EQ(plan.layers[1], (LayerPlan{"fc", Tiling{}}));
  EXPECT_EQ(findSolver("magic"), nullptr);
}

} // namespace
