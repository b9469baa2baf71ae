//===- Phrase.cpp - Text whose numbers are kept apart ---------------------===//

#include "codegen/Phrase.h"

#include <cassert>

using namespace lwcc;
using llvm::ArrayRef;
using llvm::StringRef;

Phrase &Phrase::operator<<(StringRef more) {
  text += more;
  return *this;
}

Phrase &Phrase::operator<<(int64_t number) {
  text += mark;
  values.push_back(number);
  return *this;
}

Phrase &Phrase::operator<<(const Phrase &other) {
  text += other.text;
  values.insert(values.end(), other.values.begin(), other.values.end());
  return *this;
}

std::string Phrase::with(ArrayRef<std::string> expressions) const {
  std::string result;
  size_t next = 0;
  for (char c : text)
    if (c == mark)
      result += expressions[next++];
    else
      result += c;
  assert(next == expressions.size() && "one expression a number");
  return result;
}
