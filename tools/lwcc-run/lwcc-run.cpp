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

#include "codegen/ProgramTables.h"
#include "ir/InputFile.h"
#include "ir/Size.h"
#include "passes/Passes.h"
#include "tools/driver/Driver.h"
#include "tools/lwcc-run/LoadProgram.h"

#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/Support/FileSystem.h"
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

/// What `lwcc` has proven of its programs holds of this one, too, which a
/// person may have changed.
static LogicalResult checkProgram(ModuleOp module) {
  PassManager manager(module.getContext());
  manager.addPass(createVerifyForm({.form = "exec"}));
  manager.addPass(createVerifySchedule());
  if (failed(manager.run(module)))
    return failure();
  return checkTables(*module.getOps<exec::ProgramOp>().begin());
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
  if (failed(checkProgram(*model.module)))
    return failure();
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
  auto weights = readInput(
      flags.weights,
      llvm::sys::fs::is_regular_file(flags.weights) ? maxBytes : needed);
  if (!weights)
    return complain("cannot read " + flags.weights + ": " +
                    llvm::toString(weights.takeError())),
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
  if (flags.explains() && model->plan)
    printLayers(model->program, *model->plan, llvm::outs());
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
