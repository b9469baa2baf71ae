//===- Assembler.cpp - How a region is put together -----------------------===//

#include "passes/shard/Assembler.h"

#include "llvm/ADT/STLExtras.h"

#include <map>

using namespace lwcc;
using namespace lwcc::shard;
using tiling::Box;

static bool anyOverlap(llvm::ArrayRef<Assembler::Part> parts) {
  for (auto [i, part] : llvm::enumerate(parts))
    for (size_t j = 0; j < i; ++j)
      if (overlap(part.region, parts[j].region))
        return true;
  return false;
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
    std::vector<int64_t> cuts;
    for (const Part &part : parts)
      cuts.push_back(part.region[d].begin);
    llvm::sort(cuts);
    cuts.erase(llvm::unique(cuts), cuts.end());
    llvm::erase_if(cuts, [&](int64_t at) {
      return llvm::any_of(parts, [&](const Part &part) {
        return part.region[d].begin < at && at < part.region[d].end;
      });
    });
    if (cuts.size() < 2)
      continue;
    llvm::SmallVector<int> slabs;
    for (auto [i, begin] : llvm::enumerate(cuts)) {
      Box slab = region;
      slab[d] = {begin, i + 1 < cuts.size() ? cuts[i + 1] : region[d].end};
      std::vector<Part> inside;
      for (const Part &part : parts)
        if (slab[d].contains(part.region[d]))
          inside.push_back(part);
      slabs.push_back(join(std::move(inside), slab, place));
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
