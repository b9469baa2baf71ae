//===- lwcc-translate.cpp - Formats in and out of the compiler ------------===//
//
//   lwcc-translate --import-onnx [--batch=N] model.onnx > model.mlir
//   lwcc-translate --emit-cpp program.mlir > program.cpp
//
// The first prints the form `imported` of a model, for looking at and for
// tests. With --export-onnx=FILE it also writes the model back as the trainer
// would, with every parameter at its initial value (random ones at their mean).
// The second prints an exec.program as C++.
//
//===----------------------------------------------------------------------===//

#include "codegen/EmitProgram.h"
#include "frontend/Import.h"
#include "ir/train/Train.h"
#include "tools/driver/Driver.h"

#include "mlir/IR/AsmState.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Support/FileUtilities.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/ToolOutputFile.h"

using namespace lwcc;
using namespace mlir;
namespace cl = llvm::cl;

/// Writes the pieces of the recipe with the initial values in its holes.
static void writeOnnx(const ImportedModel &model, llvm::raw_ostream &os) {
  SymbolTable symbols(*model.module);
  for (const ExportPiece &piece : model.onnxExport) {
    if (piece.state.empty()) {
      os.write(model.blob.data() + piece.offset, piece.bytes);
      continue;
    }
    auto parameter = symbols.lookup<train::ParameterOp>(piece.state);
    train::InitAttr init = parameter.getInit();
    if (init.getKind() == "blob") {
      os.write(model.blob.data() + init.getOffset(), piece.bytes);
      continue;
    }
    double a = init.getA().convertToDouble(), b = init.getB().convertToDouble();
    float value = float(init.getKind() == "uniform" ? (a + b) / 2 : a);
    for (int64_t i = 0; i < piece.bytes; i += sizeof value)
      os.write(reinterpret_cast<const char *>(&value), sizeof value);
  }
}

/// The C++ of the module's exec.program.
static FailureOr<std::string> emitCpp(llvm::StringRef path,
                                      MLIRContext &context) {
  auto module = parseSourceFile<ModuleOp>(path, &context);
  if (!module)
    return failure();
  auto programs = module->getOps<exec::ProgramOp>();
  if (programs.empty())
    return module->emitError("holds no exec.program");
  return emitProgram(*programs.begin());
}

int main(int argc, char **argv) {
  llvm::InitLLVM init(argc, argv);
  cl::OptionCategory category("lwcc-translate options");
  cl::opt<bool> importFlag("import-onnx", cl::cat(category),
                           cl::desc("from ONNX (.onnx, or .onnxtext) to the "
                                    "train dialect, form imported"));
  cl::opt<bool> emitFlag("emit-cpp", cl::cat(category),
                         cl::desc("from an exec.program to C++"));
  cl::opt<std::string> input(cl::Positional, cl::desc("<file>"), cl::Required,
                             cl::cat(category));
  cl::opt<std::string> output("o", cl::desc("output file"), cl::init("-"),
                              cl::value_desc("file"), cl::cat(category));
  cl::opt<int64_t> batch("batch", cl::desc("batch size (0: the file's)"),
                         cl::init(0), cl::cat(category));
  cl::opt<std::string> loss("loss", cl::desc("auto or cross-entropy"),
                            cl::init("auto"), cl::cat(category));
  cl::opt<std::string> exportOnnx("export-onnx",
                                  cl::desc("also write the model back as ONNX"),
                                  cl::value_desc("file"), cl::cat(category));
  cl::HideUnrelatedOptions(category);
  registerAsmPrinterCLOptions();
  cl::ParseCommandLineOptions(argc, argv, "lwcc's translations\n");
  if (importFlag == emitFlag) {
    llvm::errs() << "lwcc-translate: say what to do: --import-onnx or "
                    "--emit-cpp\n";
    return 1;
  }

  std::unique_ptr<MLIRContext> context = makeContext();
  auto write = [](llvm::StringRef path, auto print) {
    std::string error;
    auto file = openOutputFile(path, &error);
    if (!file) {
      llvm::errs() << "lwcc-translate: " << error << '\n';
      return false;
    }
    print(file->os());
    file->keep();
    return true;
  };
  if (emitFlag) {
    FailureOr<std::string> text = emitCpp(input, *context);
    return failed(text) ||
           !write(output, [&](llvm::raw_ostream &os) { os << *text; });
  }
  ImportOptions options;
  options.batch = batch;
  options.loss = loss;
  FailureOr<ImportedModel> model = importOnnx(input, options, context.get());
  if (failed(model))
    return 1;

  if (!exportOnnx.empty() &&
      !write(exportOnnx, [&](llvm::raw_ostream &os) { writeOnnx(*model, os); }))
    return 1;
  return !write(output, [&](llvm::raw_ostream &os) {
    model->module->print(os);
    os << '\n';
  });
}
