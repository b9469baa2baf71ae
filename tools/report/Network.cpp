//===- Network.cpp - The network as a picture -----------------------------===//
//
// Draws a node for each layer, with its tiling in the colours of its devices,
// and an edge for each tensor that goes from one layer to another. A layer that
// has no forward pass of its own (a ReLU within a convolution) stands between
// the layers whose gradient it passes on.
//
// Where nodes stand is decided by LayeredDrawing.h.
//
//===----------------------------------------------------------------------===//

#include "tools/report/LayeredDrawing.h"
#include "tools/report/Parts.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"

#include <set>

using namespace lwcc;
using namespace lwcc::report;
using plan::LayerGraph;
using plan::Tensor;

namespace {
constexpr double nodeWidth = 204, nodeHeight = 38, rankHeight = 58, margin = 12;
/// Of an edge that only the backward pass goes along: it makes way.
constexpr double backWeight = 0.005;
constexpr size_t mostLetters = 20; ///< of a name in a node

} // namespace

/// Which layers make or read something in the forward pass.
static std::vector<bool> layersForward(const LayerGraph &graph) {
  std::vector<bool> goes(graph.layers.size(), graph.tensors.empty());
  for (const Tensor &tensor : graph.tensors) {
    if (tensor.made != Phase::forward)
      continue;
    goes[tensor.producer] = true;
    for (auto [consumer, phase] :
         llvm::zip_equal(tensor.consumers, tensor.needed))
      if (phase == Phase::forward)
        goes[consumer] = true;
  }
  return goes;
}

/// From one layer to another, as the forward pass goes; those last along which
/// only the backward pass goes, against them.
static std::vector<WeightedEdge> edgesOf(const LayerGraph &graph) {
  std::set<std::pair<int, int>> forward, back;
  const std::vector<bool> goes = layersForward(graph);
  for (const Tensor &tensor : graph.tensors)
    for (auto [consumer, phase] :
         llvm::zip_equal(tensor.consumers, tensor.needed)) {
      if (consumer == tensor.producer)
        continue;
      if (tensor.made == Phase::forward && phase == Phase::forward)
        forward.insert({tensor.producer, consumer});
      else if (tensor.made != Phase::forward &&
               (!goes[consumer] || !goes[tensor.producer]))
        back.insert({consumer, tensor.producer});
    }
  std::vector<WeightedEdge> edges;
  for (auto [from, to] : forward)
    edges.push_back({from, to});
  for (auto [from, to] : back)
    if (!forward.count({from, to}))
      edges.push_back({from, to, backWeight});
  return edges;
}

static void writeEdge(Html &html, const LayeredDrawing &drawing,
                      const DrawnEdge &edge, bool onlyBack) {
  const double half = nodeHeight / 2;
  auto middle = [&](double rank) { return margin + half + rank * rankHeight; };
  double x = drawing.x[edge.from] + margin,
         y = middle(drawing.rank[edge.from]) + half;
  std::string path = "M" + number(x) + " " + number(y);
  auto curveTo = [&](double toX, double toY) {
    const std::string between = number((y + toY) / 2);
    path += "C" + number(x) + " " + between + " " + number(toX) + " " +
            between + " " + number(toX) + " " + number(toY);
    x = toX;
    y = toY;
  };
  int rank = drawing.rank[edge.from];
  for (double bend : edge.bends) {
    ++rank;
    curveTo(bend + margin, middle(rank) - half);
    y = middle(rank) + half;
    path += "V" + number(y);
  }
  curveTo(drawing.x[edge.to] + margin, middle(drawing.rank[edge.to]) - half);
  html.element("path", {{"class", onlyBack ? "edge back" : "edge"},
                        {"d", path},
                        {"data-from", std::to_string(edge.from)},
                        {"data-to", std::to_string(edge.to)}});
}

/// What a node says when it is pointed at, or read out.
static std::string describe(const PlanReport &report, size_t layer) {
  const Tiling &tiling = report.tiling(layer);
  const LayerBytes &bytes = report.layers[layer];
  return llvm::formatv("{0}: {1}, on devices {2}; parameters {3}, read on "
                       "other devices {4} a step",
                       shortened(report.graph.layers[layer].name),
                       tiling.cutsText(), tiling.placesText(),
                       bytesText(bytes.parameters), bytesText(bytes.moved()));
}

static void writeNode(Html &html, const PlanReport &report, size_t layer,
                      bool forward, double x, double y) {
  const Tiling &tiling = report.tiling(layer);
  auto content = [&] {
    html.element("title", {}, describe(report, layer));
    html.element("rect", {{"class", "box"},
                          {"width", number(nodeWidth)},
                          {"height", number(nodeHeight)},
                          {"rx", "5"}});
    drawTiling(html, report, tiling, 6, 6, nodeHeight - 12);
    // An inner picture, so that no name leaves its node.
    html.element(
        "svg",
        {{"x", number(nodeHeight)},
         {"width", number(nodeWidth - nodeHeight - 4)},
         {"height", number(nodeHeight)}},
        [&] {
          html.element("text", {{"class", "name"}, {"y", "16"}},
                       shortened(report.graph.layers[layer].name, mostLetters));
          const int64_t moved = report.layers[layer].moved();
          html.element("text", {{"class", "cuts"}, {"y", "31"}},
                       tiling.cutsText() +
                           (moved ? " \u21c4 " + bytesText(moved) : ""));
        });
  };
  html.element(
      "a",
      {{"class", forward ? "node" : "node back"},
       {"href", "#" + rowOf(layer)},
       {"data-layer", std::to_string(layer)},
       {"transform", "translate(" + number(x) + " " + number(y) + ")"}},
      content);
}

void report::writeNetwork(Html &html, const PlanReport &report) {
  const LayerGraph &graph = report.graph;
  const std::vector<WeightedEdge> edges = edgesOf(graph);
  const std::vector<bool> goes = layersForward(graph);
  const LayeredDrawing drawing =
      drawLayered(static_cast<int>(graph.layers.size()), edges,
                  {/*node=*/nodeWidth + 16, /*edge=*/14});
  const double width = drawing.width + 2 * margin,
               height =
                   (drawing.ranks - 1) * rankHeight + nodeHeight + 2 * margin;
  html.element("p", {},
               "A box is a layer; the arrows of the forward pass go down. The "
               "square in a box is the layer\u2019s work: cut from top to "
               "bottom along samples and height, from left to right along "
               "channels, width and reduction, each part in the colour of its "
               "device. \u21c4 is what devices read of each other for the "
               "layer in a step. Dashed boxes work in the backward pass only.");
  writeDeviceLegend(html, report);
  scrollable(html, "network", "The network as a graph", [&] {
    html.element(
        "svg",
        {{"id", "network"},
         {"role", "group"},
         {"aria-label",
          llvm::formatv("{0} layers and the {1} connections between them; the "
                        "table of layers says the same",
                        graph.layers.size(), edges.size())},
         {"viewBox", "0 0 " + number(width) + " " + number(height)},
         {"width", number(width)},
         {"height", number(height)}},
        [&] {
          for (auto [drawn, edge] : llvm::zip_equal(drawing.edges, edges))
            writeEdge(html, drawing, drawn, edge.weight < 1);
          for (size_t i = 0; i < graph.layers.size(); ++i)
            writeNode(html, report, i, goes[i],
                      margin + drawing.x[i] - nodeWidth / 2,
                      margin + drawing.rank[i] * rankHeight);
        });
  });
}
