//===- Suggestion.cpp - What a misspelled name may mean -------------------===//

#include "ir/json/Suggestion.h"

#include "llvm/ADT/Twine.h"

llvm::StringRef lwcc::nearest(llvm::StringRef name,
                              llvm::ArrayRef<llvm::StringRef> known) {
  llvm::StringRef best;
  // A third of it may be wrong, or two letters have changed places.
  unsigned least =
      std::max<unsigned>(name.size() / 3, name.size() > 3 ? 2 : 0) + 1;
  for (llvm::StringRef candidate : known)
    if (unsigned distance = name.edit_distance(candidate, true, least);
        distance < least) {
      best = candidate;
      least = distance;
    }
  return best;
}

std::string lwcc::suggestion(llvm::StringRef name,
                             llvm::ArrayRef<llvm::StringRef> known) {
  llvm::StringRef best = nearest(name, known);
  return best.empty() ? "" : (", did you mean \"" + best + "\"?").str();
}
