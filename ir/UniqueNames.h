//===- UniqueNames.h - Names of which each is given once --------*- C++ -*-===//
//
// Names that files and programs give are not always different. Who needs them
// to be asks here, and gets the name with a number behind it where it is taken.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_IR_UNIQUENAMES_H
#define LWCC_IR_UNIQUENAMES_H

#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"

#include <string>

namespace lwcc {

class UniqueNames {
public:
  /// `separator` stands between a name and its number.
  explicit UniqueNames(llvm::StringRef separator = ".")
      : separator(separator) {}

  /// Takes a name; one that is taken already stays so.
  void insert(llvm::StringRef name) { taken.insert(name); }
  template <typename Iterator>
  void insert(Iterator begin, Iterator end) {
    taken.insert(begin, end);
  }

  /// `wish`, with a number from 2 on behind it if that is taken; takes it. Many
  /// of one wish are not many tries.
  std::string take(llvm::StringRef wish) {
    std::string name = wish.str();
    if (taken.insert(name).second)
      return name;
    int &number = numbers.try_emplace(wish, 1).first->second;
    do
      name = (wish + separator + llvm::Twine(++number)).str();
    while (!taken.insert(name).second);
    return name;
  }

private:
  std::string separator;
  llvm::StringSet<> taken;
  llvm::StringMap<int> numbers; ///< the last one behind a wish
};

} // namespace lwcc

#endif // LWCC_IR_UNIQUENAMES_H
