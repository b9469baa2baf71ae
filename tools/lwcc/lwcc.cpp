//===- lwcc.cpp - ONNX model in, trainer out ------------------------------===//
//
// The compiler's command line. Everything that decides something is in the
// libraries; this file says what is done in which order and what is printed.
//
//===----------------------------------------------------------------------===//

#include "codegen/EmitProgram.h"
#include "codegen/Names.h"
#include "tools/driver/Driver.h"
#include "tools/lwcc/Build.h"
#include "tools/lwcc/Subcommands.h"
#include "tools/lwcc/ThisMachine.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace lwcc;
namespace cl = llvm::cl;

namespace {
struct Flags : CompileFlags {
  cl::opt<std::string> output{
      "o", cl::value_desc("FILE"),
      cl::desc("The trainer, or a folder with --emit=source; - for the "
               "standard output with --stop-after"),
      cl::cat(category)};
  cl::opt<std::string> target{
      "target", cl::init("cuda"), cl::value_desc("cuda|cpu"),
      cl::desc("What the trainer runs on"), cl::cat(category)};
  cl::opt<std::string> emit{
      "emit", cl::init("binary"),
      cl::value_desc("binary|source|plan|costs|trace"),
      cl::desc("A program, a folder of sources that cmake builds, just the "
               "plan (for --plan), the costs that plans are made from, or a "
               "step as it should run, in Chrome's trace format"),
      cl::cat(category)};
  cl::list<std::string> arch{
      "arch", cl::CommaSeparated, cl::value_desc("NAME,..."),
      cl::desc("GPUs to compile for (default: sm_80,sm_90,sm_100); for "
               "--target=cpu one -march value (default: x86-64-v3)"),
      cl::cat(category)};
  cl::opt<uint64_t> embedLimit{
      "embed-limit", cl::init(uint64_t(1) << 30), cl::value_desc("BYTES"),
      cl::desc("Larger initial weights go to a file beside the trainer "
               "(default: 1 GiB)"),
      cl::cat(category)};
};
} // namespace

int lwcc::complain(const llvm::Twine &message) {
  llvm::errs() << "lwcc: error: " << message << "\n";
  return 1;
}

int lwcc::complain(llvm::Error error) {
  return complain(llvm::toString(std::move(error)));
}

/// Completes and checks the flags that only this tool has.
static bool complete(Flags &flags, TrainerSource &source) {
  bool good = true;
  auto fail = [&](const llvm::Twine &message) {
    complain(message);
    good = false;
  };
  if (flags.target != "cuda" && flags.target != "cpu")
    fail("--target=" + flags.target + ": expected cuda or cpu");
  if (!llvm::is_contained({"binary", "source", "plan", "costs", "trace"},
                          flags.emit))
    fail("--emit=" + flags.emit +
         ": expected binary, source, plan, costs or trace");
  flags.platform = flags.target;
  source.target = flags.target == "cpu" ? Target::cpu : Target::cuda;
  source.architectures = std::vector<std::string>(flags.arch);
  if (source.architectures.empty())
    source.architectures = defaultArchitectures(source.target);
  if (source.target == Target::cuda) {
    for (const std::string &name : source.architectures) {
      StringRef number = name;
      if (!number.consume_front("sm_") || number.empty() ||
          !llvm::all_of(number, llvm::isDigit))
        fail("--arch=" + name + ": expected a GPU such as sm_90");
    }
  } else if (source.architectures.size() > 1) {
    fail("--arch: a CPU trainer is compiled for one instruction set");
  }
  if (flags.machine.empty())
    flags.machine = thisMachine(source.target, flags.gpus);
  if (flags.output.empty() && flags.stopAfter.getNumOccurrences() == 0 &&
      !flags.explains() &&
      !llvm::is_contained({"plan", "costs", "trace"}, flags.emit))
    fail("no output given; add -o trainer");
  return good;
}

/// Into a file, or to the standard output.
static int emitTrace(exec::ProgramOp program, const plan::ProgramTime &time,
                     const std::string &path) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  plan::printTrace(program, time, stream);
  if (path.empty())
    llvm::outs() << text;
  else if (llvm::Error error = writeFile(path, text))
    return complain(std::move(error));
  return 0;
}

static int compileMain(int argc, char **argv, StringRef overview) {
  Flags flags;
  TrainerSource source;
  if (!flags.parse(argc, argv, overview) || !complete(flags, source))
    return 1;
  const bool printIR = flags.stopAfter.getNumOccurrences() != 0;
  const bool toFile = !flags.output.empty() && flags.output != "-";
  if (toFile)
    if (llvm::Error error =
            checkOutput(flags.output, flags.emit == "source" && !printIR))
      return complain(std::move(error));
  if (toFile && !printIR && flags.emit == "binary")
    if (auto compiler = findCompiler(source.target); !compiler)
      return complain(compiler.takeError());

  Stopwatch watch(flags.verbose);
  std::unique_ptr<MLIRContext> context = makeContext();
  const Goal goal = flags.emit == "plan"    ? Goal::plan
                    : flags.emit == "costs" ? Goal::costs
                                            : Goal::program;
  FailureOr<CompiledModel> model = compileModel(flags, *context, watch, goal);
  if (failed(model))
    return 1;
  if (goal != Goal::program) {
    (toFile ? llvm::outs() : llvm::errs()) << model->comparison;
    const std::string &text = goal == Goal::plan ? model->plan : model->costs;
    if (!toFile)
      llvm::outs() << text;
    else if (llvm::Error error = writeFile(flags.output, text))
      return complain(std::move(error));
    return 0;
  }
  if (flags.verbose && model->program) {
    printMemory(model->program, llvm::errs());
    printTransfers(model->program, llvm::errs());
  }
  if (model->program) {
    FailureOr<plan::ProgramTime> time = predictStep(model->program, flags);
    if (failed(time))
      return 1;
    if (flags.emit == "trace")
      return emitTrace(model->program, *time,
                       toFile ? flags.output.getValue() : "");
    if (flags.explain == "timeline") {
      plan::printTimeline(*time, llvm::outs());
    } else if (flags.explains()) {
      printLayers(model->program, model->plan, llvm::outs());
      llvm::outs() << model->comparison;
      printPrediction(model->program, *time, llvm::outs());
    }
  }

  if (printIR) {
    std::string text;
    llvm::raw_string_ostream stream(text);
    model->module->print(stream);
    if (!toFile) {
      llvm::outs() << text << "\n";
      return 0;
    }
    // An exec module runs with lwcc-run; its weights lie beside it.
    if (llvm::Error error = writeFile(flags.output, text + "\n"))
      return complain(std::move(error));
    if (llvm::Error error = writeFile(flags.output + ".weights", model->blob))
      return complain(std::move(error));
    return 0;
  }
  if (!toFile)
    return 0;

  FailureOr<std::string> text = emitProgram(model->program);
  if (failed(text))
    return 1;
  source.text = std::move(*text);
  source.name = sanitizeName(llvm::sys::path::stem(flags.input));
  source.weights = model->blob;
  source.embedLimit = flags.embedLimit;
  watch.lap("print");
  llvm::Error error = flags.emit == "source"
                          ? writeSourceFolder(source, flags.output)
                          : buildBinary(source, flags.output);
  if (error)
    return complain(std::move(error));
  watch.lap(flags.emit == "source" ? "write" : "compile");
  return 0;
}

namespace {
/// `lwcc NAME ...` does something else than compile.
struct Subcommand {
  StringRef name, summary;
  int (*main)(int argc, char **argv);
};
} // namespace

static const Subcommand subcommands[] = {
    {"machine", "describes the machines that plans are priced for",
     machineMain},
    {"profile", "measures the calls of a model, to price plans by (--costs)",
     profileMain},
};

int main(int argc, char **argv) {
  std::string overview =
      "lwcc: compiles an ONNX model into a program that trains it\n";
  for (const Subcommand &row : subcommands) {
    std::string title = ("lwcc " + row.name).str();
    if (argc > 1 && row.name == argv[1]) {
      argv[1] = title.data();
      return row.main(argc - 1, argv + 1);
    }
    overview += "  " + title + " " + row.summary.str() + "\n";
  }
  return compileMain(argc, argv, overview);
}
