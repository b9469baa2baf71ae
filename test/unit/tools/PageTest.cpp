//===- PageTest.cpp - A page about a plan ---------------------------------===//
//
// That no name becomes markup, and what the page says of plans that those of
// test/e2e/report.test do not have. How it looks is asked there.
//
//===----------------------------------------------------------------------===//

#include "tools/report/Page.h"
#include "test/unit/passes/LayeredGraphs.h"
#include "tools/report/Html.h"

#include "gtest/gtest.h"

using namespace lwcc;
using namespace lwcc::plan;
using namespace lwcc::plan::test;
using namespace lwcc::report;

namespace {

const std::string hostile = "</script><script>alert(1)</script>\"'&\n\xff<img "
                            "src=x onerror=alert(2)>";

size_t count(llvm::StringRef text, llvm::StringRef part) {
  return text.count(part);
}

TEST(Html, escapesWhatIsMarkupAndShowsWhatCannotBeSeen) {
  EXPECT_EQ(escaped("a<b>&\"'"), "a&lt;b&gt;&amp;&quot;&apos;");
  EXPECT_EQ(escaped(llvm::StringRef("\n\0\x7f", 3)), "\\x0a\\x00\\x7f");
  EXPECT_EQ(escaped("\xff"), "\xef\xbf\xbd");
  EXPECT_EQ(escaped("层"), "层");
}

TEST(Html, closesElementsAndQuotesAttributes) {
  std::string text;
  llvm::raw_string_ostream os(text);
  Html html(os);
  html.element("p", {{"title", "\"><b>"}}, [&] {
    html.element("a", {}, "<");
    html.element("rect", {{"x", number(1.5)}});
  });
  EXPECT_EQ(text, "<p title=\"&quot;&gt;&lt;b&gt;\"><a>&lt;</a><rect "
                  "x=\"1.5\"/>\n</p>\n");
  EXPECT_EQ(number(2), "2");
  EXPECT_EQ(number(100), "100");
  EXPECT_EQ(number(1.0 / 3), "0.33");
}

/// A plan of a graph, and a program that has one call for each layer on each
/// device.
struct Reported {
  Reported(LayerGraph given, Machine on, llvm::StringRef strategy)
      : graph(std::move(given)), machine(std::move(on)), costs(machine, "fp32"),
        plan(planBy(strategy, graph, machine)) {
    for (int64_t i = 0; i < machine.devices(); ++i) {
      const std::string name = "gpu" + std::to_string(i);
      devices.push_back({name, i, 4 << 20, 1 << 20});
      time.program.lanes.push_back({name + ".compute", name});
      for (size_t layer = 0; layer < graph.layers.size(); ++layer) {
        time.calls.push_back({static_cast<int>(time.program.calls.size()),
                              static_cast<int>(i),
                              1e-3 * static_cast<double>(layer), 1e-3});
        time.program.calls.push_back(
            {"call", graph.layers[layer].name, "forward", {}});
      }
    }
    time.step = 1e-3 * static_cast<double>(graph.layers.size());
    if (graph.tiles)
      comparison = compareStrategies({graph, machine, costs}, plan, strategy,
                                     /*searched=*/0);
  }
  std::string page() const {
    return pageOf({graph, plan, machine, time, comparison, "lwcc",
                   std::vector<LayerBytes>(graph.layers.size()), devices,
                   flows});
  }
  LayerGraph graph;
  Machine machine;
  CostModel costs;
  Plan plan;
  ProgramTime time;
  std::optional<Comparison> comparison;
  std::vector<DeviceMemory> devices;
  std::vector<Flow> flows;
};

TEST(Page, makesNoMarkupOfNames) {
  LayerGraph graph = graphOf({{}, {0}, {1}}, perElement, /*weights=*/true);
  graph.model = graph.layers[1].name = hostile;
  Machine machine = machineOf(2);
  machine.name = hostile;
  Reported it(graph, machine, "data");
  it.time.source = it.time.program.plan = it.devices[1].name = hostile;
  it.time.program.lanes[1] = {hostile, hostile};
  it.comparison->costs = it.comparison->remark = hostile;
  const std::string page = it.page();
  EXPECT_EQ(count(page, "<script>"), 1u);
  EXPECT_EQ(count(page, "</script>"), 1u);
  EXPECT_EQ(count(page, "<img"), 0u);
  EXPECT_EQ(count(page, "\xff"), 0u);
  EXPECT_GE(count(page, escaped(hostile)), 8u);
}

TEST(Page, hasANodeAndARowForEachLayer) {
  Reported it(graphOf({{}, {0}, {0}, {1, 2}}, perElement, true), machineOf(4),
              "data");
  const std::string page = it.page();
  EXPECT_EQ(count(page, "class=\"node\""), 4u);
  EXPECT_EQ(count(page, "<tr id=\"layer-"), 4u);
  EXPECT_EQ(count(page, "class=\"edge\""), 4u);
  EXPECT_NE(page.find("No device reads anything"), std::string::npos);
}

TEST(Page, saysWhatNothingCanBeSaidOf) {
  Reported one(smallNet(), machineOf(1), "single");
  EXPECT_NE(one.page().find("there is nothing to compare"), std::string::npos);
  Reported it(graphOf({{}, {0}}, perElement, true), machineOf(2), "data");
  it.comparison->bound.reset();
  it.comparison->simulated.reset();
  EXPECT_NE(it.page().find("there is no lower bound"), std::string::npos);
  EXPECT_NE(it.page().find("orders micro-batches"), std::string::npos);
}

TEST(Page, saysWhatWasLeftOutAndWhatDoesNotFit) {
  Reported it(graphOf({{}, {0}}, perElement, true), machineOf(2), "data");
  it.comparison->savings.leftOut = 7;
  it.comparison->leftOut = "pipeline";
  it.devices[0].arena = it.machine.device.memory + 1;
  const std::string page = it.page();
  EXPECT_NE(page.find("7 groups of layers"), std::string::npos);
  EXPECT_NE(page.find("to be made here: pipeline."), std::string::npos);
  EXPECT_NE(page.find("does not fit"), std::string::npos);
}

TEST(Page, countsWhatNodesSendOverTheNetwork) {
  Reported it(graphOf({{}, {0}}, perElement, true), machineOf(2, 2), "data");
  it.flows = {{0, 1, 1 << 10}, {0, 2, 2 << 10}, {1, 3, 4 << 10}};
  const std::string page = it.page();
  EXPECT_NE(page.find("devices read 7.0 KiB"), std::string::npos);
  EXPECT_NE(page.find("network of node 0</th>\n<td class=\"number\">6.0 KiB"),
            std::string::npos);
}

/// Programs of many calls and devices make no page that no browser opens.
TEST(Page, staysSmallWhateverTheProgram) {
  LayerGraph graph = graphOf({{}, {0}}, perElement, false, 1 << 12);
  graph.tiles = nullptr;
  Reported it(graph, machineOf(1024), "data");
  for (int i = 0; i < 300000; ++i)
    it.time.calls.push_back({i % 2048, i % 1024, 2e-3 + 1e-6 * i, 0.9e-6});
  it.time.step = 0.4;
  EXPECT_LT(it.page().size(), size_t(12) << 20);
}

} // namespace
