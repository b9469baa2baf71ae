//===- Meaning.cpp - What an operation means ------------------------------===//
//
// The semantics of operations. A movement rearranges the pieces of its operand,
// by index arithmetic of this file: ir/exec/Views.cpp has the compiler's, which
// is on trial here. Any other operation makes new values, numbered by their
// hash (xxh3, 64 bits).
//
//===----------------------------------------------------------------------===//

#include "passes/verify/Meaning.h"
#include "ir/train/Train.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Sequence.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Support/xxhash.h"

#include <numeric>

using namespace mlir;
using namespace lwcc;
using namespace lwcc::meaning;

//===----------------------------------------------------------------------===//
// Contents
//===----------------------------------------------------------------------===//

void meaning::append(Content &content, Piece piece) {
  if (piece.bytes == 0)
    return;
  if (!content.empty() && content.back().value == piece.value &&
      content.back().first + content.back().bytes == piece.first)
    content.back().bytes += piece.bytes;
  else
    content.push_back(piece);
}

void meaning::append(Content &content, ArrayRef<Piece> pieces) {
  for (const Piece &piece : pieces)
    append(content, piece);
}

Content meaning::rangeOf(ArrayRef<Piece> content, int64_t first,
                         int64_t bytes) {
  Content range;
  int64_t at = 0, end = first + bytes;
  for (const Piece &piece : content) {
    int64_t from = std::max(first, at), to = std::min(end, at + piece.bytes);
    if (from < to)
      append(range, {piece.value, piece.first + from - at, to - from});
    at += piece.bytes;
  }
  return range;
}

/// Dimensions in the order of storage, outermost first.
static SmallVector<int64_t> storageOrder(RankedTensorType type) {
  if (exec::isChannelsLast(type))
    return {0, 2, 3, 1};
  return llvm::to_vector(llvm::seq<int64_t>(0, type.getRank()));
}

std::optional<int64_t> meaning::denseRange(RankedTensorType whole,
                                           ArrayRef<int64_t> start,
                                           ArrayRef<int64_t> step,
                                           RankedTensorType part) {
  auto rank = static_cast<size_t>(whole.getRank());
  if (whole.getElementType() != part.getElementType() ||
      part.getRank() != whole.getRank() || start.size() != rank ||
      step.size() != rank)
    return std::nullopt;
  // From the outermost dimension in: extents of 1, then one range, then whole
  // extents.
  int64_t first = 0;
  bool one = true;
  for (int64_t d : storageOrder(whole)) {
    int64_t extent = part.getDimSize(d), all = whole.getDimSize(d);
    if (start[d] < 0 || start[d] > all - extent ||
        (extent != 1 && step[d] != 1) || (!one && extent != all))
      return std::nullopt;
    one &= extent == 1;
    first = first * all + start[d];
  }
  return first * train::elementBytes(whole);
}

/// Whether a reshape moves no bytes. Channels-last equals row-major if there is
/// one channel or one pixel.
static bool samePlaces(RankedTensorType from, RankedTensorType to) {
  auto layout = [](RankedTensorType type) -> std::array<int64_t, 3> {
    if (exec::isChannelsLast(type)) {
      int64_t channels = type.getDimSize(1);
      int64_t pixels = type.getDimSize(2) * type.getDimSize(3);
      if (channels != 1 && pixels != 1)
        return {type.getDimSize(0), channels, pixels};
    }
    return {type.getNumElements(), 1, 1};
  };
  return from.getElementType() == to.getElementType() &&
         layout(from) == layout(to);
}

/// Whether a transpose by `perm`, a permutation of `from`'s dimensions, moves
/// no bytes.
static bool samePlaces(RankedTensorType from, RankedTensorType to,
                       ArrayRef<int64_t> perm) {
  if (from.getRank() != to.getRank() ||
      from.getElementType() != to.getElementType())
    return false;
  SmallVector<int64_t> before, after; // dimensions of `from`
  for (int64_t d : storageOrder(from))
    if (from.getDimSize(d) != 1)
      before.push_back(d);
  for (int64_t d : storageOrder(to)) {
    if (to.getDimSize(d) != from.getDimSize(perm[d]))
      return false;
    if (to.getDimSize(d) != 1)
      after.push_back(perm[d]);
  }
  return before == after;
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

template <typename T>
static uint64_t hashOfText(T printable) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  printable.print(stream);
  return llvm::xxh3_64bits(text);
}

uint64_t Evaluator::textHash(Attribute attribute) {
  uint64_t &hash = texts[attribute.getAsOpaquePointer()];
  return hash ? hash : hash = attribute ? hashOfText(attribute) : 0;
}

uint64_t Evaluator::textHash(Type type) {
  uint64_t &hash = texts[type.getAsOpaquePointer()];
  return hash ? hash : hash = hashOfText(type);
}

namespace lwcc::meaning {
/// Collects the words that a value's number is the hash of.
class Hash {
public:
  Hash(Evaluator &evaluator, StringRef kind) : evaluator(evaluator) {
    add(kind);
  }
  void add(uint64_t word) { words.push_back(word); }
  void add(StringRef text) { add(llvm::xxh3_64bits(text)); }
  void add(Attribute attribute) { add(evaluator.textHash(attribute)); }
  void add(RankedTensorType type) { add(evaluator.textHash(Type(type))); }
  void add(const Tensor &tensor) {
    if (!tensor.type)
      return add(uint64_t(0));
    add(tensor.type);
    add(uint64_t(Evaluator::numberOf(tensor.content)));
  }
  uint64_t finish() const {
    return llvm::xxh3_64bits(
        ArrayRef(reinterpret_cast<const uint8_t *>(words.data()),
                 words.size() * sizeof(uint64_t)));
  }

private:
  Evaluator &evaluator;
  llvm::SmallVector<uint64_t, 24> words;
};
} // namespace lwcc::meaning

int64_t Evaluator::numberOf(ArrayRef<Piece> content) {
  return static_cast<int64_t>(llvm::xxh3_64bits(
      ArrayRef(reinterpret_cast<const uint8_t *>(content.data()),
               content.size() * sizeof(Piece))));
}

int64_t Evaluator::numberOf(StringRef sequence, ArrayRef<Piece> before,
                            ArrayRef<Piece> after) {
  uint64_t all[] = {llvm::xxh3_64bits(sequence),
                    static_cast<uint64_t>(numberOf(before)),
                    static_cast<uint64_t>(numberOf(after))};
  return static_cast<int64_t>(llvm::xxh3_64bits(
      ArrayRef(reinterpret_cast<const uint8_t *>(all), sizeof(all))));
}

static Content wholeValue(uint64_t value, RankedTensorType type) {
  return {{value, 0, exec::bytesOf(type)}};
}

Content Evaluator::initial(size_t number, RankedTensorType type,
                           ArrayRef<Attribute> properties) {
  Hash hash(*this, "initial");
  hash.add(number);
  hash.add(type);
  for (Attribute property : properties)
    hash.add(property);
  return wholeValue(hash.finish(), type);
}

Content Evaluator::part(const Tensor &whole, ArrayRef<int64_t> start,
                        ArrayRef<int64_t> step, RankedTensorType type) {
  if (auto first = denseRange(whole.type, start, step, type))
    return rangeOf(whole.content, *first, exec::bytesOf(type));
  Hash hash(*this, "slice");
  hash.add(whole);
  hash.add(type);
  for (auto [d, begin] : llvm::enumerate(start))
    hash.add(uint64_t(begin));
  // With one element no step is taken, so the step means nothing.
  for (auto [d, distance] : llvm::enumerate(step)) {
    bool moot = d < size_t(type.getRank()) && type.getDimSize(d) == 1;
    hash.add(uint64_t(moot ? 1 : distance));
  }
  return wholeValue(hash.finish(), type);
}

/// The parts behind each other, if each is stored densely in the result.
static std::optional<Content> join(const meaning::Application &operation,
                                   const train::Movement &movement) {
  RankedTensorType whole = operation.results[0];
  Content content;
  int64_t end = 0;
  for (auto [operand, begin] :
       llvm::zip_equal(operation.operands, movement.begins)) {
    if (denseRange(whole, begin, movement.step, operand.type) !=
        std::optional(end))
      return std::nullopt;
    append(content, operand.content);
    end += exec::bytesOf(operand.type);
  }
  return end == exec::bytesOf(whole) ? std::optional(content) : std::nullopt;
}

/// What an operation leaves that moves bytes and changes none, if it is known.
std::optional<SmallVector<Content>>
Evaluator::move(const meaning::Application &operation) {
  SmallVector<RankedTensorType> operands = llvm::map_to_vector(
      operation.operands, [](const Tensor &operand) { return operand.type; });
  ArrayRef<RankedTensorType> results = operation.results;
  if (operands.empty() || !operands[0] || results.empty())
    return std::nullopt;
  const train::Kernel *kernel =
      train::findKernel(operands[0].getContext(), operation.callee);
  if (!kernel)
    return std::nullopt;
  auto field = [&](StringRef name) {
    return operation.fields ? operation.fields.get(name) : Attribute();
  };
  train::Movement movement = kernel->movement({results, operands, field});
  const Tensor &first = operation.operands[0];
  SmallVector<Content> contents(results.size());
  bool isSingle = operands.size() == 1 && results.size() == 1 && results[0];
  switch (movement.kind) {
  case train::Movement::none:
    return std::nullopt;
  case train::Movement::copy:
    if (ArrayRef(operands) != results)
      return std::nullopt;
    for (auto [content, operand] :
         llvm::zip_equal(contents, operation.operands))
      content = operand.content;
    return contents;
  case train::Movement::reshape:
    if (!isSingle || !samePlaces(first.type, results[0]))
      return std::nullopt;
    return SmallVector<Content>{first.content};
  case train::Movement::permute:
    if (!isSingle || !samePlaces(first.type, results[0], movement.perm))
      return std::nullopt;
    return SmallVector<Content>{first.content};
  case train::Movement::parts:
    for (auto [content, type, begin] :
         llvm::zip_equal(contents, results, movement.begins))
      if (type)
        content = part(first, begin, movement.step, type);
    return contents;
  case train::Movement::join:
    if (std::optional<Content> joined = join(operation, movement))
      return SmallVector<Content>{*joined};
    return std::nullopt;
  }
  llvm_unreachable("all kinds of movement covered");
}

SmallVector<Content>
Evaluator::evaluate(const meaning::Application &operation) {
  StringRef callee = operation.callee;
  ArrayRef<Tensor> operands = operation.operands;
  if (std::optional<SmallVector<Content>> moved = move(operation))
    return *moved;

  SmallVector<Content> contents(operation.results.size());
  Hash hash(*this, callee);
  hash.add(operation.expression);
  hash.add(uint64_t(operation.inputs));
  hash.add(operation.fields);
  // Optional tensors stand last. Absent ones at the end may be listed or not.
  size_t present = operands.size();
  while (present && !operands[present - 1].type)
    --present;
  for (const Tensor &operand : operands.take_front(present))
    hash.add(operand);
  for (auto [number, type] : llvm::enumerate(operation.results)) {
    if (!type)
      continue;
    Hash result = hash;
    result.add(number);
    result.add(type);
    contents[number] = wholeValue(result.finish(), type);
  }
  return contents;
}
