//===- LayeredDrawing.h - Where a graph's nodes are drawn -------*- C++ -*-===//
//
// Decides where the nodes of a directed graph are drawn, and through which
// points its edges go. Nodes stand in ranks, each below all that it reads. In a
// rank they are ordered such that few edges cross, and lie near to what they
// are connected with (Sugiyama, Tagawa and Toda, "Methods for visual
// understanding of hierarchical system structures", 1981). An edge over several
// ranks has a bend in each of those between.
//
// Knows nothing of layers, plans or SVG.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_TOOLS_REPORT_LAYEREDDRAWING_H
#define LWCC_TOOLS_REPORT_LAYEREDDRAWING_H

#include "llvm/ADT/ArrayRef.h"

#include <vector>

namespace lwcc::report {

struct WeightedEdge {
  int from, to;
  double weight = 1; ///< how much it wants to be straight
};

struct DrawnEdge {
  int from, to;
  /// The middles of the ranks that it passes between its ends.
  std::vector<double> bends;
};

struct LayeredDrawing {
  std::vector<int> rank;        ///< of each node, 0 is the topmost
  std::vector<double> x;        ///< the middle of each node
  std::vector<DrawnEdge> edges; ///< in the given order
  int ranks = 0;
  double width = 0; ///< all x and bends are within
};

struct Spacing {
  double node = 0; ///< what a node takes, with the space to its neighbour
  double edge = 0; ///< what an edge takes that passes
};

/// Edges that close a cycle go upwards; every node is drawn.
LayeredDrawing drawLayered(int nodes, llvm::ArrayRef<WeightedEdge> edges,
                           Spacing spacing);

} // namespace lwcc::report

#endif // LWCC_TOOLS_REPORT_LAYEREDDRAWING_H
