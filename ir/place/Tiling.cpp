//===- Tiling.cpp - How a layer is cut ------------------------------------===//

#include "ir/place/Tiling.h"

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
