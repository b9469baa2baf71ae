//===- EmitTables.cpp - What the emitted program says of itself -----------===//
//
// Prints the constant tables that tell the trainer (runtime/train) about the
// program: state tensors and where their parts lie, the recipe of the exported
// ONNX file, inputs and results. Then describe(), which hands the tables over,
// and main(). Devices and lanes are EmitMachine.cpp's.
//
//===----------------------------------------------------------------------===//

#include "codegen/Expressions.h"
#include "codegen/ProgramNames.h"
#include "codegen/ProgramTables.h"
#include "ir/train/Expression.h"
#include "ir/train/Train.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace lwcc;
using namespace lwcc::exec;

static std::string initText(train::InitAttr init) {
  auto literal = [](const APFloat &value) {
    return floatLiteral(static_cast<float>(value.convertToDouble()));
  };
  if (init.getKind() == "blob")
    return llvm::formatv("blobAt({0})", init.getOffset());
  if (init.getKind() == "constant")
    return llvm::formatv("constantOf({0})", literal(init.getA()));
  return llvm::formatv("{0}({1}, {2})",
                       init.getKind() == "normal" ? "normalOf" : "uniformIn",
                       literal(init.getA()), literal(init.getB()));
}

static ArrayRef<int64_t> arrayOf(Operation *op, StringRef name,
                                 ArrayRef<int64_t> otherwise) {
  auto list = op->getAttrOfType<DenseI64ArrayAttr>(name);
  return list ? list.asArrayRef() : otherwise;
}

namespace {

/// A global tensor, and the buffers that hold its parts.
struct Global {
  std::vector<BufferOp> tiles;
};

class TableEmitter {
public:
  TableEmitter(ProgramNames &names, NumberTables &lookUps, CppWriter &out)
      : names(names), lookUps(lookUps), out(out) {
    for (BufferOp buffer : names.buffers)
      if (buffer.isPersistent())
        (isState(buffer.getRole()) ? state : io)[buffer.getTensorName()]
            .tiles.push_back(buffer);
  }
  void tables();
  void describe();

private:
  std::vector<int64_t> beginOf(BufferOp buffer) {
    std::vector<int64_t> zeros(buffer.getTensorType().getRank(), 0);
    return arrayOf(buffer, "exec.begin", zeros).vec();
  }
  int64_t deviceOf(BufferOp buffer) {
    return names.deviceOf(buffer.getDevice());
  }
  /// The tensor of a buffer, where the texts say.
  std::string refOf(BufferOp buffer, const std::string &device,
                    const std::string &offset) {
    return llvm::formatv("refOf({0}, {1}, DType::{2}, {3})", device, offset,
                         elementName(buffer),
                         braced(buffer.getTensorType().getShape()));
  }
  std::string refOf(BufferOp buffer) {
    return refOf(buffer, std::to_string(deviceOf(buffer)),
                 std::to_string(names.offsetOf(buffer)));
  }
  void shardTable();
  void exportTable();
  void globalTensor(StringRef field, const Global &global);
  void inputsAndLabels();
  using PrintTile =
      llvm::function_ref<void(std::string ref, std::vector<std::string> begin)>;
  void tilesInRow(ArrayRef<BufferOp> tiles, PrintTile print);

  ProgramNames &names;
  NumberTables &lookUps;
  CppWriter &out;
  llvm::MapVector<StringRef, Global> state, io;
};

} // namespace

void TableEmitter::tables() {
  out.comment("Tables for the trainer, a row a line.");
  out.comment("clang-format off");
  out.line();
  out.comment("Name, role, element type, shape, initial value, value for "
              "--init=fresh.");
  out.line("constexpr StateRow stateRows[] = {");
  out.indent();
  for (auto &[name, global] : state) {
    BufferOp first = global.tiles.front();
    auto init = first->getAttrOfType<train::InitAttr>("exec.init");
    auto fresh = first->getAttrOfType<train::InitAttr>("exec.fresh");
    assert(init && "a state tensor has an initial value");
    ArrayRef<int64_t> dims = globalDims(first);
    out.row({quoted(name), ("Role::" + train::roleName(first.getRole())).str(),
             ("DType::" + elementName(first)).str(), braced(dims),
             initText(init), initText(fresh ? fresh : init)});
  }
  out.dedent();
  out.line("};");
  out.line();

  shardTable();
  exportTable();
  out.comment("clang-format on");
  out.line();
}

/// Tiles that lie alike on consecutive devices are one row.
void TableEmitter::shardTable() {
  out.comment("Row of stateRows, first device, on how many, offset, first "
              "element, shape.");
  out.line("constexpr ShardRow shardRows[] = {");
  out.indent();
  for (auto [i, entry] : llvm::enumerate(state)) {
    ArrayRef<BufferOp> tiles = entry.second.tiles;
    while (!tiles.empty()) {
      BufferOp first = tiles[0];
      auto isAlike = [&](BufferOp tile, int64_t number) {
        return deviceOf(tile) == deviceOf(first) + number &&
               names.offsetOf(tile) == names.offsetOf(first) &&
               beginOf(tile) == beginOf(first) &&
               tile.getType() == first.getType();
      };
      size_t count = 1;
      while (count < tiles.size() && isAlike(tiles[count], count))
        ++count;
      out.row({std::to_string(i), std::to_string(deviceOf(first)),
               std::to_string(count), std::to_string(names.offsetOf(first)),
               braced(beginOf(first)),
               braced(first.getTensorType().getShape())});
      tiles = tiles.drop_front(count);
    }
  }
  out.dedent();
  out.line("};");
  out.line();
}

void TableEmitter::exportTable() {
  // Pieces of the exported file, from the driver: bytes {offset, bytes} of the
  // blob, or the name of a state tensor.
  auto pieces = names.program->getAttrOfType<ArrayAttr>("exec.export");
  if (!pieces)
    return;
  out.comment("The trained ONNX file: a state tensor's value, or bytes of the "
              "blob.");
  out.line("const ExportPiece exportPieces[] = {");
  out.indent();
  for (Attribute piece : pieces) {
    if (auto name = dyn_cast<StringAttr>(piece)) {
      const Global &global = state.find(name.getValue())->second;
      out.row({quoted(name.getValue()), "0",
               std::to_string(bytesOfState(global.tiles.front()))});
    } else {
      ArrayRef<int64_t> literal = cast<DenseI64ArrayAttr>(piece).asArrayRef();
      out.row(
          {quoted(""), std::to_string(literal[0]), std::to_string(literal[1])});
    }
  }
  out.dedent();
  out.line("};");
  out.line();
}

/// Prints where tiles lie. Many in a row that differ only in their first
/// element, by a linear function, and in their offset become a loop: tiles of
/// one device, if their offset is a linear function, too, or of consecutive
/// ones.
void TableEmitter::tilesInRow(ArrayRef<BufferOp> tiles, PrintTile print) {
  auto begin = [&](BufferOp tile) {
    std::vector<int64_t> all = beginOf(tile);
    return all.empty() ? 0 : all[0];
  };
  auto rest = [&](BufferOp tile) {
    std::vector<int64_t> all = beginOf(tile);
    if (!all.empty())
      all[0] = 0;
    return std::pair(tile.getTensorType(), all);
  };
  auto device = [&](BufferOp tile) { return deviceOf(tile); };
  auto offset = [&](BufferOp tile) { return names.offsetOf(tile); };
  while (!tiles.empty()) {
    auto stepOf = [&](size_t n, auto of) {
      return of(tiles[n]) - of(tiles[n - 1]);
    };
    auto inRow = [&](int64_t deviceStep) {
      size_t count = 1;
      while (count < tiles.size() && rest(tiles[count]) == rest(tiles[0]) &&
             stepOf(count, begin) == stepOf(1, begin) &&
             stepOf(count, device) == deviceStep &&
             (deviceStep != 0 || stepOf(count, offset) == stepOf(1, offset)))
        ++count;
      return count;
    };
    size_t count = std::max(inRow(0), inRow(1));
    const bool isLoop = count >= worthLoop;
    if (!isLoop)
      count = 1;
    Variable m{"m", int64_t(count), {}};
    for (size_t n = 0; n < count; ++n)
      m.at.push_back(n);
    auto number = [&](auto of) {
      std::vector<int64_t> values;
      for (BufferOp tile : tiles.take_front(count))
        values.push_back(of(tile));
      return expressionFor({m}, values, lookUps);
    };
    std::vector<std::string> first;
    for (int64_t index : beginOf(tiles[0]))
      first.push_back(std::to_string(index));
    if (!first.empty())
      first[0] = number(begin);
    if (isLoop) {
      out.line("for (int64_t m = 0; m < " + std::to_string(count) + "; ++m)");
      out.indent();
    }
    print(refOf(tiles[0], number(device), number(offset)), first);
    if (isLoop)
      out.dedent();
    tiles = tiles.drop_front(count);
  }
}

void TableEmitter::globalTensor(StringRef field, const Global &global) {
  BufferOp first = global.tiles.front();
  ArrayRef<int64_t> dims = globalDims(first);
  out.assignment(("program." + field + ".name").str(),
                 quoted(first.getTensorName().getValue()));
  out.assignment(("program." + field + ".dims").str(), braced(dims));
  tilesInRow(global.tiles, [&](std::string ref, auto begin) {
    out.call("addTile", {CppArgument(("program." + field).str()),
                         CppArgument(ref), CppArgument(begin)});
  });
}

void TableEmitter::inputsAndLabels() {
  auto roleOf = [](const Global &global) {
    return BufferOp(global.tiles.front()).getRole();
  };
  auto list = [&](Role role, StringRef field) {
    const size_t count = llvm::count_if(
        io, [&](const auto &entry) { return roleOf(entry.second) == role; });
    if (count == 0)
      return;
    out.line(("program." + field + ".resize(" + Twine(count) + ");").str());
    size_t number = 0;
    for (const auto &[name, global] : io) {
      if (roleOf(global) != role)
        continue;
      const std::string one = (field + "[" + Twine(number++) + "]").str();
      globalTensor(one, global);
      if (int64_t tokens = tokensOf(names.program, name))
        out.assignment("program." + one + ".tokens", std::to_string(tokens));
      if (hasChannelsLast(names.program, name))
        out.assignment("program." + one + ".channelsLast", "true");
    }
  };
  list(Role::input, "inputs");
  for (const auto &[name, global] : io) {
    if (roleOf(global) == Role::labels)
      globalTensor("labels", global);
    if (roleOf(global) == Role::shares)
      globalTensor("shares", global);
  }
  list(Role::auxiliary, "auxiliary");
}

void TableEmitter::describe() {
  ProgramOp program = names.program;
  out.line("Program describe() {");
  out.indent();
  out.line("Program program;");
  for (StringRef field :
       {"model", "modelHash", "compiler", "plan", "precision", "loss"}) {
    StringRef attribute = field == "modelHash" ? "hash" : field;
    out.assignment(("program." + field).str(),
                   quoted(textOf(program, ("exec." + attribute).str())));
  }
  if (std::string name = textOf(program, "exec.loss_name"); !name.empty())
    out.assignment("program.lossName", quoted(name));
  if (std::string optimizer = textOf(program, "exec.optimizer");
      !optimizer.empty())
    out.assignment("program.optimizer", quoted(optimizer));
  for (StringRef field : {"batch", "classes", "batchStatistics"})
    if (std::string name = ("exec." + field).str(); program->hasAttr(name))
      out.assignment(("program." + field).str(),
                     std::to_string(numberOf(program, name)));
  emitMachine(names, lookUps, out);
  out.assignment("program.machine.events", std::to_string(names.events.size()));
  out.assignment("program.machine.tf32",
                 textOf(program, "exec.precision") == "tf32" ? "true"
                                                             : "false");
  out.line("program.state = stateTensors(stateRows, shardRows);");
  inputsAndLabels();
  std::vector<BufferOp> scalars;
  for (BufferOp buffer : names.buffers) {
    if (buffer.getRole() == Role::loss)
      out.assignment("program.loss_value", refOf(buffer));
    if (buffer.getRole() == Role::metric)
      out.assignment("program.correct", refOf(buffer));
    if (buffer.getRole() == Role::scores)
      out.assignment("program.scores", refOf(buffer));
    if (buffer.getRole() == Role::scalars)
      scalars.push_back(buffer);
  }
  tilesInRow(scalars, [&](std::string ref, auto) {
    out.call("program.scalars.push_back", {CppArgument(ref)});
  });
  out.line("program.trainStep = trainStep;");
  out.line("program.evaluate = evaluate;");
  out.line("program.blobBytes = lwcc_blob_bytes;");
  out.line("program.blob =");
  out.line("    findWeights(lwcc_blob, lwcc_blob_end - lwcc_blob, "
           "lwcc_blob_bytes);");
  if (program->hasAttr("exec.export"))
    out.line("program.onnxExport.assign(std::begin(exportPieces), "
             "std::end(exportPieces));");
  out.line("return program;");
  out.dedent();
  out.line("}");
  out.line();
  out.line("} // namespace");
  out.line();
  out.line("int main(int argc, char **argv) { return trainMain(argc, argv, "
           "describe()); }");
}

void lwcc::emitTables(ProgramNames &names, NumberTables &tables,
                      CppWriter &out) {
  TableEmitter emitter(names, tables, out);
  emitter.tables();
  emitter.describe();
}
