//===- Place.cpp - Where work runs ----------------------------------------===//

#include "ir/place/Place.h"

#include "llvm/ADT/SmallVector.h"

using namespace lwcc;

static constexpr llvm::StringLiteral transferName = "transfer";

std::string Lane::text() const {
  return kind == LaneKind::transfer ? transferName.str()
                                    : std::to_string(number);
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
  if (parts[2] == transferName)
    place.lane = Lane::transfer();
  else if (!readNumber(parts[2], place.lane.number))
    return std::nullopt;
  return place;
}
