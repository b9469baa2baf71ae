//===- Counterparts.cpp - What devices that do alike share ----------------===//

#include "ir/exec/Counterparts.h"

#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"

#include <map>

using namespace mlir;
using namespace lwcc;
using namespace lwcc::exec;

/// What counterparts have in common. Of several on one device, the first
/// corresponds to the first of another, and so on.
static std::string kindOf(BufferOp buffer) {
  std::string kind = buffer.getTensorName().str();
  if (train::TileAttr tile = buffer.getTileAttr())
    kind += "." + tile.letters();
  return kind;
}

Counterparts::Counterparts(ProgramOp program) {
  struct Entry {
    Operation *op;
    std::string kind;
    int ordinal; ///< among those of its kind on its device
  };
  std::vector<Entry> entries;
  std::map<std::pair<StringRef, std::string>, int> counts; // device and kind
  llvm::StringMap<int> most;                               // on a device
  auto add = [&](Operation *op, StringRef device, std::string kind) {
    int ordinal = counts[{device, kind}]++;
    most[kind] = std::max(most[kind], ordinal + 1);
    entries.push_back({op, std::move(kind), ordinal});
  };
  llvm::StringMap<int> lanes; // compute lanes of a device
  for (Operation &op : program.getBody().front()) {
    if (auto buffer = dyn_cast<BufferOp>(op)) {
      add(&op, buffer.getDevice(), kindOf(buffer));
    } else if (auto lane = dyn_cast<LaneOp>(op)) {
      int number = lane.isTransfer() ? 0 : lanes[lane.getDevice()]++;
      names[&op] = lane.isTransfer() ? "transfer"
                   : number == 0     ? "compute"
                                     : "lane" + std::to_string(number);
    }
  }
  // Names that more than one kind leads to are told apart.
  std::map<std::pair<std::string, int>, std::string> given;
  llvm::StringSet<> taken;
  for (Entry &entry : entries) {
    std::string &name = given[{entry.kind, entry.ordinal}];
    if (name.empty()) {
      auto buffer = cast<BufferOp>(entry.op);
      bool isTile = buffer.getTileAttr() != nullptr;
      std::string base = entry.kind;
      if (isTile && most[entry.kind] > 1)
        base += std::to_string(entry.ordinal);
      name = base;
      for (int number = 2; !taken.insert(name).second; ++number)
        name = base + "_" + std::to_string(number);
    }
    names[entry.op] = name;
  }
}
