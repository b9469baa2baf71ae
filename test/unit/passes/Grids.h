//===- Grids.h - Grids of regions for tests ---------------------*- C++ -*-===//
#ifndef LWCC_TEST_UNIT_PASSES_GRIDS_H
#define LWCC_TEST_UNIT_PASSES_GRIDS_H

#include "passes/plan/model/LayerGraph.h"

namespace lwcc::plan {

/// Regions of a tensor that is cut like this, perhaps with halos; `copies` of
/// each.
inline LayerTiles::Regions grid(const tiling::Shape &shape,
                                const std::vector<int64_t> &degrees,
                                int64_t halo, int64_t copies) {
  LayerTiles::Regions regions;
  int64_t tiles = 1;
  for (int64_t degree : degrees)
    tiles *= degree;
  for (int64_t t = 0; t < tiles; ++t)
    for (int64_t copy = 0; copy < copies; ++copy) {
      tiling::Box box;
      int64_t rest = t;
      for (size_t d = 0; d < shape.size(); ++d) {
        tiling::Interval part =
            tiling::partOf(shape[d], degrees[d], rest % degrees[d]);
        rest /= degrees[d];
        box.push_back(tiling::intersect({0, shape[d]},
                                        {part.begin - halo, part.end + halo}));
      }
      regions.push_back(box);
    }
  return regions;
}

} // namespace lwcc::plan

#endif // LWCC_TEST_UNIT_PASSES_GRIDS_H
