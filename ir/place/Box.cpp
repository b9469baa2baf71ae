//===- Box.cpp - Boxes of tensors, and what a window needs -------------===//

#include "ir/place/Box.h"

#include <cassert>
#include <numeric>

using namespace lwcc;
using namespace lwcc::tiling;

Interval tiling::intersect(Interval a, Interval b) {
  return {std::max(a.begin, b.begin), std::min(a.end, b.end)};
}

Box tiling::wholeOf(const Shape &shape) {
  Box region;
  for (int64_t extent : shape)
    region.push_back({0, extent});
  return region;
}

Shape tiling::shapeOf(const Box &region) {
  Shape shape;
  for (Interval axis : region)
    shape.push_back(axis.size());
  return shape;
}

bool tiling::empty(const Box &region) {
  return std::any_of(region.begin(), region.end(),
                     [](Interval axis) { return axis.empty(); });
}

double tiling::volume(const Box &region) {
  double product = 1;
  for (Interval axis : region)
    product *= static_cast<double>(axis.size());
  return product;
}

bool tiling::contains(const Box &outer, const Box &inner) {
  assert(outer.size() == inner.size() && "regions of one tensor");
  for (size_t d = 0; d < outer.size(); ++d)
    if (!outer[d].contains(inner[d]))
      return false;
  return true;
}

Box tiling::intersect(const Box &a, const Box &b) {
  assert(a.size() == b.size() && "regions of one tensor");
  Box both;
  for (size_t d = 0; d < a.size(); ++d)
    both.push_back(intersect(a[d], b[d]));
  return both;
}

bool tiling::overlap(const Box &a, const Box &b) {
  assert(a.size() == b.size() && "regions of one tensor");
  for (size_t d = 0; d < a.size(); ++d)
    if (intersect(a[d], b[d]).empty())
      return false;
  return true;
}

Box tiling::hullOf(const Box &a, const Box &b) {
  assert(a.size() == b.size() && "regions of one tensor");
  Box hull;
  for (size_t d = 0; d < a.size(); ++d)
    hull.push_back(
        {std::min(a[d].begin, b[d].begin), std::max(a[d].end, b[d].end)});
  return hull;
}

std::vector<Box> tiling::subtract(const Box &from, const Box &hole) {
  if (!overlap(from, hole))
    return {from};
  Box both = intersect(from, hole);
  // Peel off what lies before and behind the hole, one dimension at a time.
  std::vector<Box> rest;
  Box core = from;
  for (size_t d = 0; d < from.size(); ++d) {
    for (Interval side : {Interval{core[d].begin, both[d].begin},
                          Interval{both[d].end, core[d].end}}) {
      if (side.empty())
        continue;
      Box slab = core;
      slab[d] = side;
      rest.push_back(slab);
    }
    core[d] = both[d];
  }
  return rest;
}

std::vector<Box> tiling::subtract(const std::vector<Box> &from,
                                  const Box &hole) {
  std::vector<Box> rest;
  for (const Box &box : from)
    for (const Box &part : subtract(box, hole))
      rest.push_back(part);
  return rest;
}

Interval tiling::partOf(int64_t extent, int64_t parts, int64_t index) {
  assert(index >= 0 && index < parts && "no such part");
  int64_t size = extent / parts, larger = extent % parts;
  int64_t begin = index * size + std::min(index, larger);
  return {begin, begin + size + (index < larger)};
}

Interval tiling::partOf(int64_t extent, const std::vector<int64_t> &sizes,
                        int64_t index) {
  auto sum = [&](int64_t count) {
    return std::accumulate(sizes.begin(), sizes.begin() + count, int64_t(0));
  };
  int64_t total = sum(sizes.size());
  auto cut = [&](int64_t before) { // rounded; a product of two extents
    return int64_t((__int128(before) * extent + total / 2) / total);
  };
  return {cut(sum(index)), cut(sum(index + 1))};
}

WindowPart tiling::inputOf(const Window &w, Interval out) {
  assert(!out.empty() && "no outputs");
  int64_t first = out.begin * w.stride - w.padLow;
  int64_t last =
      (out.end - 1) * w.stride - w.padLow + (w.kernel - 1) * w.dilation + 1;
  WindowPart part;
  part.in = intersect({first, last}, {0, w.extent});
  if (part.in.empty()) {
    int64_t nearest = last <= 0 ? 0 : w.extent - 1;
    part.in = {nearest, nearest + 1};
  }
  part.padLow = part.in.begin - first;
  // Windows may overhang the padded input (ceil_mode); padding stays what it
  // was, so that averages count the same elements.
  part.padHigh = std::clamp<int64_t>(last - w.extent, 0, w.padHigh);
  return part;
}
