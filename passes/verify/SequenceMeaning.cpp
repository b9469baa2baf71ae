//===- SequenceMeaning.cpp - What calls leave in memory -------------------===//
//
// The meaning of a sequence, by bytes: interprets the calls in the order of
// appending. Every root buffer has a memory of its own, whatever its offset.
// Nothing is known of the function from which the calls were made.
//
//===----------------------------------------------------------------------===//

#include "passes/verify/Meaning.h"

#include "llvm/ADT/STLExtras.h"

#include <map>

using namespace mlir;
using namespace lwcc;
using namespace lwcc::exec;
using namespace lwcc::meaning;

namespace {

/// What the bytes of one root buffer hold: pieces by first byte.
class Memory {
public:
  Content read(int64_t begin, int64_t bytes) {
    splitAt(begin);
    splitAt(begin + bytes);
    Content content;
    int64_t at = begin;
    for (auto it = pieces.lower_bound(begin);
         it != pieces.end() && it->first < begin + bytes; ++it) {
      append(content, nothing(it->first - at));
      append(content, it->second);
      at = it->first + it->second.bytes;
    }
    append(content, nothing(begin + bytes - at));
    return content;
  }
  void write(int64_t begin, int64_t bytes, ArrayRef<Piece> content) {
    splitAt(begin);
    splitAt(begin + bytes);
    pieces.erase(pieces.lower_bound(begin), pieces.lower_bound(begin + bytes));
    for (const Piece &piece : content) {
      pieces[begin] = piece;
      begin += piece.bytes;
    }
  }

private:
  /// Bytes that no call has written hold the value 0, which no operation makes.
  static Piece nothing(int64_t bytes) { return {0, 0, bytes}; }
  void splitAt(int64_t at) {
    auto after = pieces.upper_bound(at);
    if (after == pieces.begin())
      return;
    auto [begin, piece] = *std::prev(after);
    int64_t head = at - begin;
    if (head == 0 || head >= piece.bytes)
      return;
    std::prev(after)->second.bytes = head;
    pieces[at] = {piece.value, piece.first + head, piece.bytes - head};
  }

  std::map<int64_t, Piece> pieces;
};

/// Executes calls on contents.
class Interpreter {
public:
  explicit Interpreter(SequenceOp sequence)
      : sequence(sequence), symbols(sequence->getParentOp()) {
    auto program = sequence->getParentOfType<ProgramOp>();
    for (auto buffer : program.getBody().getOps<BufferOp>()) {
      if (buffer.getViewOf() || !buffer.isPersistent())
        continue;
      SmallVector<Attribute> properties = {buffer.getRoleAttr()};
      if (!isResult(buffer.getRole())) {
        properties.push_back(buffer.getTensorName());
        for (StringRef key : {"exec.dims", "exec.begin"})
          properties.push_back(buffer->getAttr(key));
      }
      if (isState(buffer.getRole()))
        for (StringRef key : {"exec.init", "exec.fresh"})
          properties.push_back(buffer->getAttr(key));
      Content content = evaluator.initial(persistent.size(),
                                          buffer.getTensorType(), properties);
      memories[buffer].write(0, buffer.getBytes(), content);
      persistent.push_back({buffer, content});
    }
  }

  void run(CallOp call);
  SmallVector<int64_t> result() {
    return llvm::map_to_vector(persistent, [&](auto &entry) {
      auto &[buffer, first] = entry;
      return Evaluator::numberOf(sequence.getSymName(), first,
                                 memories[buffer].read(0, buffer.getBytes()));
    });
  }

private:
  Tensor read(Attribute operand);
  void write(Attribute result, const Content &content);

  SequenceOp sequence;
  SymbolTable symbols;
  Evaluator evaluator;
  SmallVector<std::pair<BufferOp, Content>> persistent;
  llvm::DenseMap<mlir::Operation *, Memory> memories; ///< of root buffers
};

} // namespace

Tensor Interpreter::read(Attribute operand) {
  auto name = dyn_cast<FlatSymbolRefAttr>(operand);
  if (!name)
    return {};
  auto buffer = symbols.lookup<BufferOp>(name.getAttr());
  RankedTensorType type = buffer.getTensorType();
  if (auto start = buffer.getWindow())
    return {type, evaluator.part(read(buffer.getViewOfAttr()), *start,
                                 SmallVector<int64_t>(start->size(), 1), type)};
  auto [root, begin] = rootOf(buffer, symbols);
  return {type, memories[root].read(begin, buffer.getBytes())};
}

void Interpreter::write(Attribute result, const Content &content) {
  auto name = dyn_cast<FlatSymbolRefAttr>(result);
  if (!name)
    return;
  auto buffer = symbols.lookup<BufferOp>(name.getAttr());
  auto [root, begin] = rootOf(buffer, symbols);
  int64_t bytes = spanOf(buffer, symbols);
  // Between the rows of a window lie other bytes. No pass makes a call that
  // writes to a window; if one does, the bytes hold no value.
  if (bytes != buffer.getBytes())
    return memories[root].write(begin, bytes, Piece{0, 0, bytes});
  memories[root].write(begin, bytes, content);
}

void Interpreter::run(CallOp call) {
  meaning::Application operation;
  operation.callee = call.getCallee();
  if (auto name = call.getKernelAttr()) {
    auto kernel = symbols.lookup<KernelOp>(name.getAttr());
    operation.expression = kernel.getExpr();
    operation.inputs = kernel.getInputs();
  }
  operation.fields = call.getParamsAttr();
  for (Attribute operand : call.getIns())
    operation.operands.push_back(read(operand));
  for (Attribute result : call.getOuts()) {
    auto name = dyn_cast<FlatSymbolRefAttr>(result);
    operation.results.push_back(
        name ? symbols.lookup<BufferOp>(name.getAttr()).getTensorType()
             : RankedTensorType());
  }
  for (auto [result, content] :
       llvm::zip_equal(call.getOuts(), evaluator.evaluate(operation)))
    write(result, content);
}

SmallVector<int64_t> lwcc::meaningOf(SequenceOp sequence) {
  Interpreter interpreter(sequence);
  for (auto call : sequence.getBody().getOps<CallOp>())
    interpreter.run(call);
  return interpreter.result();
}

LogicalResult lwcc::verifyMeaning(SequenceOp sequence) {
  std::optional<ArrayRef<int64_t>> expected = sequence.getMeaning();
  if (!expected)
    return success();
  Interpreter interpreter(sequence);
  SmallVector<int64_t> before = interpreter.result();
  for (auto call : sequence.getBody().getOps<CallOp>())
    interpreter.run(call);
  SmallVector<int64_t> found = interpreter.result();
  if (expected->size() != found.size())
    return sequence.emitOpError("says the meaning of ")
           << expected->size() << " buffers; the program keeps "
           << found.size();
  bool good = true;
  size_t number = 0;
  auto program = sequence->getParentOfType<ProgramOp>();
  for (auto buffer : program.getBody().getOps<BufferOp>()) {
    if (buffer.getViewOf() || !buffer.isPersistent())
      continue;
    int64_t wanted = (*expected)[number], is = found[number];
    int64_t was = before[number++];
    if (wanted == is)
      continue;
    good = false;
    InFlightDiagnostic diagnostic = sequence.emitOpError();
    if (is == was)
      diagnostic << "leaves @" << buffer.getSymName()
                 << " as it was, which is not what was to be there";
    else if (wanted == was)
      diagnostic << "writes @" << buffer.getSymName()
                 << ", which was to be left as it was";
    else
      diagnostic << "leaves another value in @" << buffer.getSymName()
                 << " than it was made to compute";
  }
  return success(good);
}
