//===- ImportEinsum.cpp - Sums of products by letters ---------------------===//
//
// Einsum becomes reductions, transposes and matrix products. Two operands at a
// time: letters that both have and the rest needs are the batch of a product,
// those that nobody needs any more are summed. An operand's own letter that
// nobody else needs is summed ahead. One that it has twice is a diagonal.
//
//===----------------------------------------------------------------------===//

#include "frontend/NodeImporter.h"
#include "frontend/Rewrites.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace lwcc;
using namespace mlir;
using namespace llvm;

namespace {
/// A tensor whose dimensions have letters. Those of an ellipsis are digits,
/// counted from the last one.
struct Term {
  Value value;
  std::string letters;

  int64_t extent(char letter) const {
    return shapeOf(value)[letters.find(letter)];
  }
  bool has(char letter) const {
    return letters.find(letter) != std::string::npos;
  }
};
} // namespace

/// The letters of an operand of `rank`, with digits for its ellipsis; empty
/// dimensions and all else that is wrong: none.
static std::optional<std::string> lettersOf(StringRef text, int64_t rank) {
  std::string before, behind;
  bool dots = false;
  while (!text.empty()) {
    if (text.consume_front("...")) {
      if (std::exchange(dots, true))
        return std::nullopt;
      continue;
    }
    if (!isAlpha(text.front()))
      return std::nullopt;
    (dots ? behind : before) += text.front();
    text = text.drop_front();
  }
  int64_t rest = rank - int64_t(before.size() + behind.size());
  if (rest < 0 || rest > int64_t(maxTensorRank) || (!dots && rest != 0))
    return std::nullopt;
  std::string ellipsis;
  for (int64_t i = rest; i > 0; --i)
    ellipsis += char('0' + i - 1);
  return before + ellipsis + behind;
}

/// A tensor whose dimensions a < b have one letter: the elements where both are
/// equal, along dimension a.
static Value diagonal(NodeImporter &node, Value x, int64_t a, int64_t b) {
  const Shape before(shapeOf(x));
  const int64_t extent = before[a];
  // Both to the end, where a step of extent + 1 leads along the diagonal.
  Shape perm, shape, back;
  for (int64_t d : seq<int64_t>(0, before.size()))
    if (d != a && d != b) {
      perm.push_back(d);
      shape.push_back(before[d]);
    }
  const int64_t last = shape.size();
  perm.append({a, b});
  shape.push_back(extent * extent);
  Value rows = node.reshape(rewrite::transpose(node, x, perm), shape);
  Value y = rewrite::slice(node, rows, last, 0, extent, extent + 1);
  for (int64_t d : seq<int64_t>(0, last + 1))
    back.push_back(d < a ? d : d == a ? last : d - 1);
  return rewrite::transpose(node, y, back);
}

/// The term with its dimensions in another order of the same letters.
static Value ordered(NodeImporter &node, const Term &term, StringRef order) {
  Shape perm;
  for (char letter : order)
    perm.push_back(term.letters.find(letter));
  return rewrite::transpose(node, term.value, perm);
}

/// The term without the letters that `needed` lacks.
static Term summed(NodeImporter &node, Term term, StringRef needed) {
  Shape axes, shape;
  std::string letters;
  for (auto [d, letter] : enumerate(term.letters)) {
    if (needed.contains(letter)) {
      letters += letter;
      shape.push_back(shapeOf(term.value)[d]);
    } else {
      axes.push_back(d);
    }
  }
  Value sum = rewrite::reduceKept(node, term.value, axes, false);
  return {node.reshape(sum, shape), letters};
}

/// The sum of products of two terms over the letters that `needed` lacks.
static Term product(NodeImporter &node, Term a, Term b, StringRef needed) {
  a = summed(node, a, (needed + b.letters).str());
  b = summed(node, b, (needed + a.letters).str());
  std::string batch, rows, columns, inner;
  for (char letter : a.letters)
    (!b.has(letter) ? rows : needed.contains(letter) ? batch : inner) += letter;
  for (char letter : b.letters)
    if (!a.has(letter))
      columns += letter;
  // Broadcast dimensions of an ellipsis, where one operand has extent 1.
  auto widen = [&](Term &term, const Term &other) {
    Shape shape(shapeOf(term.value));
    for (auto [d, letter] : enumerate(term.letters))
      if (other.has(letter))
        shape[d] = std::max(shape[d], other.extent(letter));
    term.value = rewrite::expand(node, term.value, shape);
  };
  widen(a, b);
  widen(b, a);
  auto extents = [](const Term &term, StringRef letters) {
    Shape shape;
    for (char letter : letters)
      shape.push_back(term.extent(letter));
    return shape;
  };
  auto count = [&](const Term &term, StringRef letters) {
    return *elementCount(extents(term, letters));
  };
  Value left = ordered(node, a, batch + rows + inner);
  Value right = ordered(node, b, batch + inner + columns);
  int64_t m = count(a, rows), k = count(a, inner), n = count(b, columns);
  Shape leading;
  if (!batch.empty())
    leading.push_back(count(a, batch));
  auto matrices = [&](int64_t first, int64_t second) {
    Shape shape = leading;
    shape.append({first, second});
    return shape;
  };
  Value y = node.create<train::MatMulOp>(
      node.tensorOf(matrices(m, n)), node.reshape(left, matrices(m, k)),
      node.reshape(right, matrices(k, n)), Value(), false, false, false);
  Shape shape = extents(a, batch + rows);
  append_range(shape, extents(b, columns));
  return {node.reshape(y, shape), batch + rows + columns};
}

LogicalResult lwcc::importEinsum(NodeImporter &node) {
  std::string text = node.text("equation", "").str();
  llvm::erase(text, ' ');
  auto [left, right] = StringRef(text).split("->");
  bool implicit = !StringRef(text).contains("->");
  SmallVector<StringRef> parts;
  left.split(parts, ',');
  auto wrong = [&](const Twine &what) {
    return node.fail("has the equation '" + text + "', " + what);
  };
  if (parts.size() != node.numInputs())
    return wrong("which is not for " + Twine(node.numInputs()) + " inputs");
  SmallVector<Term> terms;
  std::string all; // each letter once
  int64_t dots = 0;
  for (auto [i, part] : enumerate(parts)) {
    ArrayRef<int64_t> shape = node.shape(i);
    std::optional<std::string> letters = lettersOf(part, shape.size());
    if (!letters)
      return wrong("whose letters do not fit an input of shape " +
                   printShape(shape));
    for (auto [d, letter] : enumerate(*letters)) {
      const int64_t first = letters->find(letter);
      if (shape[first] != shape[d])
        return wrong("whose letter '" + Twine(letter) +
                     "' has different extents");
      for (const Term &other : terms)
        if (other.has(letter) && other.extent(letter) != shape[d] &&
            (isAlpha(letter) || (other.extent(letter) != 1 && shape[d] != 1)))
          return wrong("whose letter '" + Twine(letter) +
                       "' has different extents");
      if (!StringRef(all).contains(letter))
        all += letter;
      if (isDigit(letter))
        dots = std::max<int64_t>(dots, letter - '0' + 1);
    }
    Value value = node.live(i);
    if (!value)
      return failure();
    for (size_t d = 0; d < letters->size();) {
      const size_t first = letters->find((*letters)[d]);
      if (first == d) {
        ++d;
        continue;
      }
      value = diagonal(node, value, int64_t(first), int64_t(d));
      letters->erase(d, 1);
    }
    terms.push_back({value, *letters});
  }
  std::string ellipsis, output;
  for (int64_t i = dots; i > 0; --i)
    ellipsis += char('0' + i - 1);
  if (implicit) {
    output = ellipsis;
    std::string sorted = all;
    llvm::sort(sorted);
    for (char letter : sorted)
      if (isAlpha(letter) && left.count(letter) == 1)
        output += letter;
  } else {
    auto [head, tail] = right.split("...");
    output = (head + (right.contains("...") ? ellipsis : "") + tail).str();
  }
  for (char letter : output)
    if (!StringRef(all).contains(letter) || StringRef(output).count(letter) > 1)
      return wrong("whose result has letters that no input has, or one twice");
  Term result = terms[0];
  for (size_t i = 1; i < terms.size(); ++i) {
    std::string needed = output;
    for (const Term &later : ArrayRef(terms).drop_front(i + 1))
      needed += later.letters;
    result = product(node, result, terms[i], needed);
    if (!elementCount(shapeOf(result.value)))
      return wrong("which makes a tensor of shape " +
                   printShape(shapeOf(result.value)) + ", too large");
  }
  result = summed(node, result, output);
  return node.result(0, ordered(node, result, output));
}
