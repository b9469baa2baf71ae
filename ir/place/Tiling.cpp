//===- Tiling.cpp - How a layer is cut ------------------------------------===//

#include "ir/place/Tiling.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MathExtras.h"

#include <limits>

using namespace lwcc;

int64_t Tiling::tiles() const {
  int64_t tiles = 1;
  for (int64_t degree : degrees)
    if (llvm::MulOverflow(tiles, degree, tiles))
      return std::numeric_limits<int64_t>::max();
  return tiles;
}

std::string Tiling::cutsText() const {
  std::string text;
  for (auto [d, name] : llvm::enumerate(dimensions)) {
    if (degrees[d] == 1)
      continue;
    text += (text.empty() ? "" : " ") + std::string(1, name) + "=";
    if (sizes[d].empty())
      text += std::to_string(degrees[d]);
    else
      text += llvm::join(
          llvm::map_range(sizes[d],
                          [](int64_t size) { return std::to_string(size); }),
          "+");
  }
  return text.empty() ? "whole" : text;
}

std::string Tiling::placesText() const {
  std::string text;
  for (size_t i = 0; i < places.size();) {
    size_t end = i + 1; // of a run of neighbours
    while (end < places.size() && places[end].node == places[i].node &&
           places[end].lane == places[i].lane &&
           places[end].gpu == places[end - 1].gpu + 1)
      ++end;
    const Place &first = places[i];
    text += text.empty() ? "" : ",";
    text += first.node ? std::to_string(first.node) + ":" : "";
    text += std::to_string(first.gpu);
    text += end > i + 1 ? "-" + std::to_string(places[end - 1].gpu) : "";
    text += first.lane == Lane() ? "" : "." + first.lane.text();
    i = end;
  }
  return text;
}
