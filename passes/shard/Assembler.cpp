//===- Assembler.cpp - How a region is put together -----------------------===//

#include "passes/shard/Assembler.h"

#include "llvm/ADT/STLExtras.h"

#include <map>

using namespace lwcc;
using namespace lwcc::shard;
using tiling::Box;

/// Whether any two of the parts overlap. Along the axis on which most of them
/// begin at places of their own, only neighbours need be compared.
static bool anyOverlap(llvm::ArrayRef<Assembler::Part> parts) {
  if (parts.size() < 2)
    return false;
  size_t axis = 0, most = 0;
  llvm::SmallVector<int64_t, 64> begins;
  for (size_t d = 0; d < parts[0].region.size(); ++d) {
    begins.clear();
    for (const Assembler::Part &part : parts)
      begins.push_back(part.region[d].begin);
    llvm::sort(begins);
    size_t places = llvm::unique(begins) - begins.begin();
    if (places > most) {
      axis = d;
      most = places;
    }
  }
  if (most == 0) // scalars
    return true;
  llvm::SmallVector<const Assembler::Part *, 64> sorted;
  for (const Assembler::Part &part : parts)
    sorted.push_back(&part);
  llvm::sort(sorted, [&](const auto *a, const auto *b) {
    return a->region[axis].begin < b->region[axis].begin;
  });
  for (size_t i = 0; i < sorted.size(); ++i)
    for (size_t j = i + 1; j < sorted.size() && sorted[j]->region[axis].begin <
                                                    sorted[i]->region[axis].end;
         ++j)
      if (overlap(sorted[i]->region, sorted[j]->region))
        return true;
  return false;
}

/// The positions along an axis at which parts begin and that pass through none,
/// in order.
static llvm::SmallVector<int64_t, 64>
cutsAlong(llvm::ArrayRef<Assembler::Part> parts, size_t axis) {
  llvm::SmallVector<int64_t, 64> cuts;
  for (const Assembler::Part &part : parts)
    cuts.push_back(part.region[axis].begin);
  llvm::sort(cuts);
  cuts.erase(llvm::unique(cuts), cuts.end());
  llvm::SmallVector<bool, 64> passes(cuts.size(), false);
  for (const Assembler::Part &part : parts)
    for (auto cut = llvm::upper_bound(cuts, part.region[axis].begin);
         cut != cuts.end() && *cut < part.region[axis].end; ++cut)
      passes[cut - cuts.begin()] = true;
  size_t kept = 0;
  for (auto [i, cut] : llvm::enumerate(cuts))
    if (!passes[i])
      cuts[kept++] = cut;
  cuts.truncate(kept);
  return cuts;
}

Assembler::Part Assembler::cut(const Part &piece, const Box &region) {
  if (piece.region == region)
    return piece;
  return {region, slice(piece, region)};
}

int Assembler::move(int value, Place place) {
  return placeOf(value).device() == place.device() ? value
                                                   : transfer(value, place);
}

std::vector<Assembler::Part> Assembler::partsOf(llvm::ArrayRef<Part> pieces,
                                                const Box &region,
                                                Place place) {
  // Grouped by device, so that pieces of one device are joined or summed before
  // any of them is transferred.
  std::map<DeviceId, size_t> known;
  std::vector<std::vector<Part>> devices;
  for (const Part &piece : pieces)
    if (overlap(piece.region, region)) {
      auto [device, isNew] =
          known.try_emplace(placeOf(piece.value).device(), devices.size());
      if (isNew)
        devices.emplace_back();
      devices[device->second].push_back(
          cut(piece, intersect(piece.region, region)));
    }
  std::vector<Part> parts;
  for (std::vector<Part> &local : devices) {
    Place at = placeOf(local.front().value);
    // Only contributions are combined before they move: a sum is fewer bytes
    // than its terms, a join has the same.
    if (at.device() != place.device() && anyOverlap(local)) {
      Box hull = local.front().region;
      for (const Part &part : local)
        hull = hullOf(hull, part.region);
      local = {{hull, combine(local, hull, at)}};
    }
    llvm::append_range(parts, local);
  }
  return parts;
}

int Assembler::combine(std::vector<Part> parts, const Box &region,
                       Place place) {
  for (Part &part : parts)
    part.value = move(part.value, place);
  return anyOverlap(parts) ? addUp(parts, region, place)
                           : join(std::move(parts), region, place);
}

/// Assembles disjoint parts by `concat`, and fills elements that no part covers
/// with zeros. With no part at all it is zeros: the gradient of elements that
/// no window and no slice reads.
int Assembler::join(std::vector<Part> parts, const Box &region, Place place) {
  if (parts.size() == 1 && parts[0].region == region)
    return parts[0].value;
  std::vector<Box> missing = {region};
  for (const Part &part : parts)
    missing = subtract(missing, part.region);
  for (const Box &hole : missing)
    parts.push_back({hole, zeros(hole, place)});
  if (parts.size() == 1)
    return parts[0].value;

  // Guillotine cuts: positions along one axis that pass through no part; the
  // first axis that has any is taken.
  for (size_t d = 0; d < region.size(); ++d) {
    llvm::SmallVector<int64_t, 64> cuts = cutsAlong(parts, d);
    if (cuts.size() < 2)
      continue;
    std::vector<std::vector<Part>> inside(cuts.size());
    for (Part &part : parts)
      inside[llvm::upper_bound(cuts, part.region[d].begin) - cuts.begin() - 1]
          .push_back(std::move(part));
    llvm::SmallVector<int> slabs;
    for (auto [i, begin] : llvm::enumerate(cuts)) {
      Box slab = region;
      slab[d] = {begin, i + 1 < cuts.size() ? cuts[i + 1] : region[d].end};
      slabs.push_back(join(std::move(inside[i]), slab, place));
    }
    return concat(slabs, region, d, place);
  }
  // The parts interlock (a pinwheel), so that no such cut exists: each is
  // padded with zeros, and the results are added.
  return addUp(parts, region, place);
}

/// Pads each part to the region with zeros and adds the results in the order of
/// the parts.
int Assembler::addUp(llvm::ArrayRef<Part> parts, const Box &region,
                     Place place) {
  llvm::SmallVector<int> terms;
  for (const Part &part : parts)
    terms.push_back(part.region == region ? part.value
                                          : pad(part, region, place));
  return terms.size() == 1 ? terms[0] : sum(terms, region, place);
}
