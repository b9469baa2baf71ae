//===- lwcc-run.cpp - Trains without a C++ compiler -----------------------===//
//
//   lwcc-run model.onnx [compiler options] -- [trainer options]
//   lwcc-run program.mlir [--weights=FILE] -- [trainer options]
//
// Executes an exec program on the CPU runtime: each op is the runtime call that
// the printer would print. The second form takes what `lwcc --stop-after=exec
// -o program.mlir` wrote; where the program reads initial weights, what
// --weights=FILE wrote, too.
//
//===----------------------------------------------------------------------===//

#include "ir/train/Train.h"
#include "tools/driver/Driver.h"
#include "tools/lwcc-run/LoadProgram.h"

#include "mlir/Parser/Parser.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"

#include <cstring>

using namespace mlir;
using namespace lwcc;

namespace {
struct Flags : CompileFlags {
  llvm::cl::opt<std::string> weights{
      "weights", llvm::cl::value_desc("FILE"),
      llvm::cl::desc("For a .mlir program: the initial weights that lwcc "
                     "--stop-after=exec --weights=FILE wrote"),
      llvm::cl::cat(category)};

  bool isProgram() const { return StringRef(input).ends_with(".mlir"); }
};
} // namespace

/// How many bytes of weights a program reads; those that only the exported ONNX
/// file takes if there is one.
static int64_t weightsNeeded(exec::ProgramOp program, bool exports) {
  int64_t needed = 0;
  for (auto buffer : program.getBody().getOps<exec::BufferOp>())
    for (StringRef name : {"exec.init", "exec.fresh"})
      if (auto init = buffer->getAttrOfType<train::InitAttr>(name);
          init && init.getKind() == "blob") {
        auto dims = buffer->getAttrOfType<DenseI64ArrayAttr>("exec.dims");
        int64_t bytes = dims ? 4 * llvm::product_of(dims.asArrayRef())
                             : static_cast<int64_t>(buffer.getBytes());
        needed = std::max(needed, init.getOffset() + bytes);
      }
  if (auto pieces = program->getAttrOfType<ArrayAttr>("exec.export");
      pieces && exports)
    for (auto piece : pieces.getAsRange<Attribute>())
      if (auto literal = dyn_cast<DenseI64ArrayAttr>(piece))
        needed = std::max(needed, literal[0] + literal[1]);
  return needed;
}

/// Reads an exec module and its weights.
static FailureOr<CompiledModel> readProgram(const Flags &flags, bool exports,
                                            MLIRContext &context) {
  CompiledModel model;
  model.module = parseSourceFile<ModuleOp>(flags.input, &context);
  if (!model.module)
    return failure();
  auto programs = model.module->getOps<exec::ProgramOp>();
  if (programs.empty())
    return complain(flags.input +
                    ": holds no exec.program; stop after the form exec"),
           failure();
  model.program = *programs.begin();
  const int64_t needed = weightsNeeded(model.program, exports);
  if (flags.weights.empty()) {
    if (needed > 0)
      return complain(flags.input + ": needs " + llvm::Twine(needed) +
                      " bytes of weights" + (exports ? " to be exported" : "") +
                      "; write them with lwcc --weights=FILE and add "
                      "--weights=FILE here"),
             failure();
    return model;
  }
  auto weights = llvm::MemoryBuffer::getFile(flags.weights);
  if (!weights)
    return complain("cannot read " + flags.weights + ": " +
                    weights.getError().message()),
           failure();
  StringRef bytes = (*weights)->getBuffer();
  if (static_cast<int64_t>(bytes.size()) < needed)
    return complain(flags.weights + ": has " + llvm::Twine(bytes.size()) +
                    " bytes, but " + flags.input + " reads " +
                    llvm::Twine(needed) + ": it belongs to another program"),
           failure();
  model.blob.assign(bytes.begin(), bytes.end());
  return model;
}

int main(int argc, char **argv) {
  prepareOutput();
  int split = 1;
  while (split < argc && std::strcmp(argv[split], "--") != 0)
    ++split;
  Flags flags;
  bool good = flags.parse(split, argv,
                          "lwcc-run: compiles a model and trains it in this "
                          "process on the CPU; trainer options follow --\n");
  if (!flags.weights.empty() && !flags.isProgram())
    good =
        !complain("--weights: only for a .mlir program; a model has its own");
  if (!good)
    return 1;
  bool exports = false;
  for (char *argument : llvm::ArrayRef(argv, argc).drop_front(split))
    exports |= StringRef(argument).starts_with("--export-onnx");

  flags.platform = "cpu";
  if (flags.machine.empty())
    flags.machine = "cpu";
  Stopwatch watch(flags.verbose);
  std::unique_ptr<MLIRContext> context = makeContext();
  FailureOr<CompiledModel> model = flags.isProgram()
                                       ? readProgram(flags, exports, *context)
                                       : compileModel(flags, *context, watch);
  if (failed(model))
    return 1;
  if (!model->program)
    return complain("--stop-after: lwcc-run needs the form exec");
  if (flags.verbose)
    printMemory(model->program, llvm::errs());
  if (flags.explains() && !model->plan.empty())
    printLayers(model->program, model->plan, llvm::outs());
  FailureOr<rt::Program> program = loadProgram(model->program, model->blob);
  if (failed(program))
    return 1;
  // The trainer sees its own flags behind the program's name.
  std::vector<char *> arguments = {argv[0]};
  arguments.insert(arguments.end(), argv + std::min(split + 1, argc),
                   argv + argc);
  arguments.push_back(nullptr);
  return rt::trainMain(static_cast<int>(arguments.size()) - 1, arguments.data(),
                       *program);
}
