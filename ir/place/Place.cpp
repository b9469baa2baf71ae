//===- Place.cpp - Where work runs ----------------------------------------===//

#include "ir/place/Place.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/ErrorHandling.h"

using namespace lwcc;

llvm::StringRef lwcc::laneKindName(LaneKind kind) {
  switch (kind) {
  case LaneKind::compute:
    return "compute";
  case LaneKind::in:
    return "in";
  case LaneKind::back:
    return "back";
  case LaneKind::sync:
    return "sync";
  case LaneKind::small:
    return "small";
  }
  llvm_unreachable("all kinds are listed");
}

std::string Lane::text() const {
  return isCopy() ? laneKindName(kind).str() : std::to_string(number);
}

std::string DeviceId::name() const {
  return (node > 0 ? "node" + std::to_string(node) + "." : "") + "gpu" +
         std::to_string(gpu);
}

std::string Place::text() const {
  return std::to_string(node) + "." + std::to_string(gpu) + "." + lane.text();
}

std::optional<Place> lwcc::parsePlace(llvm::StringRef text) {
  auto readNumber = [](llvm::StringRef digits, int64_t &number) {
    return !digits.getAsInteger(10, number) && number >= 0;
  };
  llvm::SmallVector<llvm::StringRef, 3> parts;
  text.split(parts, '.');
  Place place;
  if (parts.size() != 3 || !readNumber(parts[0], place.node) ||
      !readNumber(parts[1], place.gpu))
    return std::nullopt;
  if (readNumber(parts[2], place.lane.number))
    return place;
  for (LaneKind kind : laneKinds)
    if (kind != LaneKind::compute && parts[2] == laneKindName(kind)) {
      place.lane = Lane::of(kind);
      return place;
    }
  return std::nullopt;
}
