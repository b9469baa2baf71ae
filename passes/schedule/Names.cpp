//===- Names.cpp - Names of buffers and kernels ---------------------------===//
//
// Finds the name of a fused kernel by tree pattern matching: rows of the
// elementwise table are patterns, the largest is tried first at each
// subexpression. The matched row gives the last word, and the subexpressions
// bound to its inputs give the words before it.
//
//===----------------------------------------------------------------------===//

#include "passes/schedule/Names.h"
#include "ir/train/Elementwise.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace lwcc;
using namespace lwcc::train;

std::string Namer::unique(StringRef name) {
  if (taken.insert(name).second)
    return name.str();
  unsigned &number = next.try_emplace(name, 2).first->second;
  while (true) {
    std::string candidate = (name + "_" + Twine(number++)).str();
    if (taken.insert(candidate).second)
      return candidate;
  }
}

std::string lwcc::tensorName(Value value) {
  if (StringRef name = nameOf(value); !name.empty())
    return name.str();
  Operation *op = value.getDefiningOp();
  if (!op)
    return "arg" + std::to_string(cast<BlockArgument>(value).getArgNumber());
  StringRef layer = layerOf(op);
  std::string name =
      layer.empty() ? op->getName().stripDialect().str() : layer.str();
  if (phaseOf(op) != Phase::forward)
    name = "d_" + name;
  if (op->getNumResults() > 1)
    name += "." + std::to_string(cast<OpResult>(value).getResultNumber());
  return name;
}

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

namespace {

/// The value or gradient of a row, as a pattern. An input is a wildcard for any
/// subexpression but a literal; from firstParam on it is a wildcard for a
/// literal.
struct RowPattern {
  std::string name;
  Expression expression;
};
constexpr unsigned firstParam = 100, gradientInput = 90, valueInput = 91;

std::vector<RowPattern> makePatterns() {
  std::vector<RowPattern> patterns;
  auto add = [&](const ElementwiseFunction &row, StringRef text,
                 std::string name) {
    auto resolve = [&](StringRef word) -> std::optional<Expression> {
      if (word == "dy")
        return Expression::inputOf(gradientInput);
      if (word == "y")
        return Expression::inputOf(valueInput);
      auto param = llvm::find(row.params, word);
      if (param == row.params.end())
        return std::nullopt;
      return Expression::inputOf(firstParam + (param - row.params.begin()));
    };
    llvm::Expected<Expression> expression = Expression::parse(text, resolve);
    assert(expression && "the table's rows parse");
    if (expression->operations() > 0)
      patterns.push_back({std::move(name), std::move(*expression)});
  };
  for (const ElementwiseFunction &row : elementwiseFunctions()) {
    add(row, row.value, row.name.str());
    for (StringRef gradient : row.gradients)
      // Gradients of binary rows, such as "-dy" and "dy * x1", look like other
      // rows.
      if (row.inputs == 1 && gradient != "-")
        add(row, gradient, (row.name + "_grad").str());
  }
  llvm::stable_sort(patterns, [](const RowPattern &a, const RowPattern &b) {
    return a.expression.operations() > b.expression.operations();
  });
  return patterns;
}

using Bindings = llvm::SmallVector<std::pair<unsigned, const Expression *>, 8>;

bool matches(const Expression &pattern, const Expression &e,
             Bindings &bindings) {
  if (pattern.kind == Expression::Kind::input) {
    bool literal = e.kind == Expression::Kind::literal;
    if (literal != (pattern.input >= firstParam))
      return false;
    for (auto &[input, bound] : bindings)
      if (input == pattern.input)
        return *bound == e;
    bindings.push_back({pattern.input, &e});
    return true;
  }
  if (pattern.kind != e.kind || pattern.op != e.op ||
      pattern.args.size() != e.args.size())
    return false;
  if (pattern.kind == Expression::Kind::literal)
    return pattern.value == e.value;
  return llvm::all_of_zip(pattern.args, e.args,
                          [&](const Expression &p, const Expression &arg) {
                            return matches(p, arg, bindings);
                          });
}

void appendWords(const Expression &e, llvm::ArrayRef<RowPattern> patterns,
                 llvm::SmallVectorImpl<std::string> &words) {
  auto say = [&](std::string word) {
    if (words.empty() || words.back() != word)
      words.push_back(std::move(word));
  };
  if (e.isRandomCall())
    return say(e.op == "dropout_mask" ? "dropout" : e.op);
  // A product with a mask is dropout: it must not be matched as "mul".
  auto isMask = [](const Expression &arg) {
    return arg.kind == Expression::Kind::call && arg.op == "dropout_mask";
  };
  if (!llvm::any_of(e.args, isMask))
    for (const RowPattern &pattern : patterns) {
      Bindings bindings;
      if (!matches(pattern.expression, e, bindings))
        continue;
      for (auto &[input, bound] : bindings)
        appendWords(*bound, patterns, words);
      return say(pattern.name);
    }
  for (const Expression &arg : e.args)
    appendWords(arg, patterns, words);
}

} // namespace

std::string lwcc::kernelName(const Expression &expression) {
  static const std::vector<RowPattern> patterns = makePatterns();
  llvm::SmallVector<std::string> words;
  appendWords(expression, patterns, words);
  if (words.empty())
    return "map";
  // A long chain keeps its last words.
  constexpr size_t maxWords = 4;
  if (words.size() > maxWords)
    words.erase(words.begin(), words.end() - maxWords);
  return llvm::join(words, "_");
}
