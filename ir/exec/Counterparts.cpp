//===- Counterparts.cpp - What devices that do alike share ----------------===//

#include "ir/exec/Counterparts.h"
#include "ir/UniqueNames.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringMap.h"

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
  struct Kind {
    std::string name;
    size_t mostTiles = 0; ///< the most on one device
    bool unlike = false;  ///< has unlike buffers on a device
  };
  /// A device's buffers of one kind, in the order of declaration. Tile number t
  /// of a device corresponds to tile number t of another; so do the times that
  /// a tile is made again.
  struct OfDevice {
    BufferOp first;
    llvm::SmallMapVector<Attribute, int, 1> tiles; ///< how many hold each tile
  };
  struct Entry {
    BufferOp buffer;
    int kind;
    size_t tile; ///< number of the tile on its device
    int time;    ///< how many buffers held the tile before
  };
  std::vector<Kind> kinds;
  llvm::StringMap<int> numberOf; // of a kind, by its name
  llvm::DenseMap<std::pair<Attribute, int>, OfDevice> devices;
  std::vector<Entry> entries;
  llvm::StringMap<int> lanes; // number of compute lanes by device
  for (Operation &op : program.getBody().front()) {
    if (auto lane = dyn_cast<LaneOp>(op)) {
      int number = lane.isCopy() ? 0 : lanes[lane.getDevice()]++;
      names[&op] = number == 0 ? laneKindName(lane.getKind().getValue()).str()
                               : "lane" + std::to_string(number);
    } else if (auto buffer = dyn_cast<BufferOp>(op)) {
      auto [known, isNew] = numberOf.try_emplace(kindOf(buffer), kinds.size());
      if (isNew)
        kinds.push_back({known->getKey().str()});
      Kind &kind = kinds[known->second];
      OfDevice &device =
          devices[{buffer.getDeviceAttr().getAttr(), known->second}];
      if (!device.first)
        device.first = buffer;
      auto tile = device.tiles.try_emplace(buffer.getTileAttr(), 0).first;
      kind.mostTiles = std::max<size_t>(kind.mostTiles, device.tiles.size());
      kind.unlike |= device.first.getType() != buffer.getType() ||
                     device.first.getRole() != buffer.getRole();
      entries.push_back({buffer, known->second,
                         size_t(tile - device.tiles.begin()), tile->second++});
    }
  }
  // Names that several kinds would share get a number.
  UniqueNames taken("_");
  std::map<std::tuple<int, size_t, int>, std::string> given;
  for (Entry &entry : entries) {
    std::string &name = given[{entry.kind, entry.tile, entry.time}];
    if (name.empty()) {
      std::string base = kinds[entry.kind].name;
      if (entry.buffer.getTileAttr() && kinds[entry.kind].mostTiles > 1)
        base += std::to_string(entry.tile);
      name = taken.take(base);
    }
    names[entry.buffer] = name;
  }
  // Series: the tiles of a kind, each time that they are made; without tiles,
  // all times, if these are alike. Without micro-batches nothing is done many
  // times, and a name each says more.
  bool hasMicroBatches =
      llvm::any_of(kinds, [](const Kind &kind) { return kind.mostTiles > 1; });
  auto isTiled = [&](Entry &entry) { return kinds[entry.kind].mostTiles > 1; };
  auto isTimed = [&](Entry &entry) {
    return hasMicroBatches && !entry.buffer.getTileAttr() &&
           !kinds[entry.kind].unlike;
  };
  taken = UniqueNames("_");
  for (Entry &entry : entries)
    if (!isTiled(entry) && !isTimed(entry)) {
      const std::string &name = names[entry.buffer];
      series[entry.buffer] = {name, 0};
      taken.insert(name);
    }
  std::map<std::pair<int, int>, std::string> seriesNames;
  for (Entry &entry : entries) {
    if (!isTiled(entry) && !isTimed(entry))
      continue;
    // Each time that tiles are made is a series, or all times are one.
    std::string &name =
        seriesNames[{entry.kind, isTiled(entry) ? entry.time : 0}];
    if (name.empty())
      name = taken.take(kinds[entry.kind].name);
    series[entry.buffer] = {name,
                            int64_t(isTiled(entry) ? entry.tile : entry.time)};
  }
}
