//===- Counterparts.cpp - What devices that do alike share ----------------===//

#include "ir/exec/Counterparts.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"

#include <map>
#include <tuple>

using namespace mlir;
using namespace lwcc;
using namespace lwcc::exec;

/// The tensor of which a buffer holds a tile, and the dimensions along which it
/// is cut.
static std::string kindOf(BufferOp buffer) {
  std::string kind = buffer.getTensorName().str();
  if (train::TileAttr tile = buffer.getTileAttr())
    kind += "." + tile.letters();
  return kind;
}

Counterparts::Counterparts(ProgramOp program) {
  /// A device's buffers of one kind, in the order of declaration. Tile number t
  /// of a device corresponds to tile number t of another; so do the times that
  /// a tile is made again.
  struct OfDevice {
    llvm::MapVector<Attribute, int> tiles; ///< how many buffers hold each tile
  };
  /// What the buffers of one kind on one device have in common.
  std::map<std::pair<StringRef, std::string>, BufferOp> firstOf;
  llvm::StringSet<> unlike; ///< kinds with unlike buffers on a device
  std::map<std::pair<StringRef, std::string>, OfDevice> devices;
  llvm::StringMap<size_t> mostTiles; ///< by kind: the most on one device
  struct Entry {
    BufferOp buffer;
    std::string kind;
    size_t tile; ///< number of the tile on its device
    int time;    ///< how many buffers held the tile before
  };
  std::vector<Entry> entries;
  llvm::StringMap<int> lanes; // number of compute lanes by device
  for (Operation &op : program.getBody().front()) {
    if (auto lane = dyn_cast<LaneOp>(op)) {
      int number = lane.isCopy() ? 0 : lanes[lane.getDevice()]++;
      names[&op] = number == 0 ? laneKindName(lane.getKind().getValue()).str()
                               : "lane" + std::to_string(number);
    } else if (auto buffer = dyn_cast<BufferOp>(op)) {
      std::string kind = kindOf(buffer);
      auto &tiles = devices[{buffer.getDevice(), kind}].tiles;
      auto tile = tiles.try_emplace(buffer.getTileAttr(), 0).first;
      mostTiles[kind] = std::max(mostTiles[kind], tiles.size());
      BufferOp first =
          firstOf.try_emplace({buffer.getDevice(), kind}, buffer).first->second;
      if (first.getType() != buffer.getType() ||
          first.getRole() != buffer.getRole())
        unlike.insert(kind);
      entries.push_back(
          {buffer, kind, size_t(tile - tiles.begin()), tile->second++});
    }
  }
  // Names that several kinds would share get a number.
  llvm::StringSet<> taken;
  auto fresh = [&](const std::string &base) {
    std::string name = base;
    for (int number = 2; !taken.insert(name).second; ++number)
      name = base + "_" + std::to_string(number);
    return name;
  };
  std::map<std::tuple<std::string, size_t, int>, std::string> given;
  for (Entry &entry : entries) {
    std::string &name = given[{entry.kind, entry.tile, entry.time}];
    if (name.empty()) {
      std::string base = entry.kind;
      if (entry.buffer.getTileAttr() && mostTiles[entry.kind] > 1)
        base += std::to_string(entry.tile);
      name = fresh(base);
    }
    names[entry.buffer] = name;
  }
  // Series: the tiles of a kind, each time that they are made; without tiles,
  // all times, if these are alike. Without micro-batches nothing is done many
  // times, and a name each says more.
  bool hasMicroBatches =
      llvm::any_of(mostTiles, [](const auto &of) { return of.second > 1; });
  auto isTiled = [&](Entry &entry) { return mostTiles[entry.kind] > 1; };
  auto isTimed = [&](Entry &entry) {
    return hasMicroBatches && !entry.buffer.getTileAttr() &&
           !unlike.contains(entry.kind);
  };
  taken.clear();
  for (Entry &entry : entries)
    if (!isTiled(entry) && !isTimed(entry)) {
      series[entry.buffer] = {names[entry.buffer], 0};
      taken.insert(names[entry.buffer]);
    }
  std::map<std::pair<std::string, int>, std::string> seriesNames;
  for (Entry &entry : entries) {
    if (!isTiled(entry) && !isTimed(entry))
      continue;
    // Each time that tiles are made is a series, or all times are one.
    std::string &name =
        seriesNames[{entry.kind, isTiled(entry) ? entry.time : 0}];
    if (name.empty())
      name = fresh(entry.kind);
    series[entry.buffer] = {name,
                            int64_t(isTiled(entry) ? entry.tile : entry.time)};
  }
}
