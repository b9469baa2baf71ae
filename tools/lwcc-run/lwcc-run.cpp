//===- lwcc-run.cpp - Trains without a C++ compiler -----------------------===//
//
//   lwcc-run model.onnx [compiler options] -- [trainer options]
//   lwcc-run program.mlir -- [trainer options]
//
// Executes an exec program on the CPU runtime: each op is the runtime call that
// the printer would print. The second form takes what `lwcc --stop-after=exec
// -o program.mlir` wrote (with program.mlir.weights beside it).
//
//===----------------------------------------------------------------------===//

#include "tools/driver/Driver.h"
#include "tools/lwcc-run/LoadProgram.h"

#include "mlir/Parser/Parser.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"

#include <cstring>

using namespace mlir;
using namespace lwcc;

static int complain(const llvm::Twine &message) {
  llvm::errs() << "lwcc: error: " << message << "\n";
  return 1;
}

/// Reads an exec module and the weights beside it.
static FailureOr<CompiledModel> readProgram(StringRef path,
                                            MLIRContext &context) {
  CompiledModel model;
  model.module = parseSourceFile<ModuleOp>(path, &context);
  if (!model.module)
    return failure();
  auto programs = model.module->getOps<exec::ProgramOp>();
  if (programs.empty())
    return complain(path + ": holds no exec.program; stop after the form exec"),
           failure();
  model.program = *programs.begin();
  auto weights = llvm::MemoryBuffer::getFile(path + ".weights");
  if (!weights)
    return complain("cannot read " + path + ".weights: " +
                    weights.getError().message()),
           failure();
  StringRef bytes = (*weights)->getBuffer();
  model.blob.assign(bytes.begin(), bytes.end());
  return model;
}

int main(int argc, char **argv) {
  int split = 1;
  while (split < argc && std::strcmp(argv[split], "--") != 0)
    ++split;
  CompileFlags flags;
  if (!flags.parse(split, argv,
                   "lwcc-run: compiles a model and trains it in this process "
                   "on the CPU; trainer options follow --\n"))
    return 1;

  flags.platform = "cpu";
  if (flags.machine.empty())
    flags.machine = "cpu";
  Stopwatch watch(flags.verbose);
  std::unique_ptr<MLIRContext> context = makeContext();
  FailureOr<CompiledModel> model =
      StringRef(flags.input).ends_with(".mlir")
          ? readProgram(flags.input, *context)
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
  return rt::trainMain(static_cast<int>(arguments.size()) - 1,
                       arguments.data(), *program);
}
