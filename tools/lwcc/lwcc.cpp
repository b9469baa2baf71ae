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
#include "tools/lwcc/OutputFolder.h"
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
      cl::desc("The trainer, or a folder with --emit=source and bundle; - for "
               "the standard output where the output is text"),
      cl::cat(category)};
  cl::opt<std::string> target{
      "target", cl::value_desc("cuda|cpu"),
      cl::desc("What the trainer runs on (default: cuda, or cpu for a program "
               "that is built where there is neither nvcc nor a GPU)"),
      cl::cat(category)};
  cl::opt<std::string> emit{
      "emit", cl::init("binary"),
      cl::value_desc("binary|source|bundle|plan|costs|trace|report"),
      cl::desc("A program, a folder of sources that cmake builds, a folder "
               "with the program and the libraries that other machines may "
               "not have (--target=cpu), just the plan (for --plan), the "
               "costs that plans are made from, a step as it should run, "
               "in Chrome's trace format, or a page about the plan (HTML)"),
      cl::cat(category)};
  cl::list<std::string> arch{
      "arch", cl::CommaSeparated, cl::value_desc("NAME,..."),
      cl::desc("GPUs to compile for (default: sm_80,sm_90,sm_100); for "
               "--target=cpu one -march value (default: x86-64-v3)"),
      cl::cat(category)};
  cl::opt<std::string> weights{
      "weights", cl::value_desc("FILE"),
      cl::desc("With --stop-after=exec: write the initial weights, too, for "
               "lwcc-run --weights"),
      cl::cat(category)};
  cl::opt<uint64_t> embedLimit{
      "embed-limit", cl::init(uint64_t(1) << 30), cl::value_desc("BYTES"),
      cl::desc("Larger initial weights go to a file beside the trainer "
               "(default: 1 GiB)"),
      cl::cat(category)};

  bool printsIR() const { return stopAfter.getNumOccurrences() != 0; }
  /// Whether a program is made, as a binary or as sources.
  bool makesProgram() const {
    return !printsIR() && (builds() || emit == "source");
  }
  /// With a compiler.
  bool builds() const { return emit == "binary" || emit == "bundle"; }
  bool makesFolder() const { return emit == "source" || emit == "bundle"; }
  bool toFile() const { return !output.empty() && output != "-"; }
};
} // namespace

/// Completes and checks the flags that only this tool has.
static bool complete(Flags &flags, TrainerSource &source) {
  bool good = true;
  auto fail = [&](const llvm::Twine &message) {
    complain(message);
    good = false;
  };
  if (!llvm::is_contained({"binary", "source", "bundle", "plan", "costs",
                           "hypergraph", "trace", "report"},
                          flags.emit))
    fail("--emit=" + flags.emit +
         ": expected binary, source, bundle, plan, costs, hypergraph, trace or "
         "report");
  if (flags.emit == "report") {
    if (flags.output.empty())
      fail("no output given; add -o report.html");
    if (flags.printsIR())
      fail("--emit=report is of a whole program; leave out --stop-after");
  }
  const bool builds = flags.makesProgram() && flags.builds();
  // Sources are often built elsewhere, and a GPU's name says what is meant.
  std::optional<Target> target = Target::cuda;
  if (!flags.target.empty() || (builds && flags.toFile() && flags.arch.empty()))
    target = targetOf(flags.target, "compiling for the CPU");
  good &= target.has_value();
  source.target = target.value_or(Target::cpu);
  flags.platform = nameOf(source.target);
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
  } else if (StringRef name = source.architectures.front();
             !llvm::all_of(name, [](char c) {
               return llvm::isAlnum(c) || StringRef("-_.+").contains(c);
             })) {
    fail("--arch=" + name + ": expected a -march value such as x86-64-v3");
  }
  if (target == Target::cuda && flags.emit == "bundle" && flags.makesProgram())
    fail("--emit=bundle: only with --target=cpu; cuBLAS and cuDNN, which a GPU "
         "program needs, come with CUDA on each machine");
  if (flags.machine.empty())
    flags.machine = thisMachine(source.target, flags.gpus);
  if (flags.makesProgram()) {
    if (flags.output.empty() && !flags.explains())
      fail("no output given; add -o trainer");
    if (flags.output == "-")
      fail("-o -: a program does not go to the standard output; name a file");
  }
  if (!flags.weights.empty() &&
      !(flags.printsIR() && flags.stopAfter == "exec"))
    fail("--weights: only with --stop-after=exec; a trainer has its weights");
  using Files = std::vector<std::string>;
  for (const std::string &output : Files{flags.output, flags.weights})
    for (const std::string &read :
         Files{flags.input, flags.plan, flags.machine, flags.costs})
      if (isSameFile(output, read))
        fail("cannot write " + output + ": it is what lwcc is to read");
  if (flags.toFile() && !flags.weights.empty() &&
      endOfLinks(flags.output) == endOfLinks(flags.weights) &&
      !isSpecial(flags.output))
    fail("-o and --weights name the same file");
  return good;
}

/// Into the file of -o, or to the standard output.
static int printText(const std::string &text, const Flags &flags) {
  if (!flags.toFile())
    llvm::outs() << text;
  else if (llvm::Error error = writeFile(flags.output, text))
    return complain(std::move(error));
  return 0;
}

static int compileMain(int argc, char **argv, StringRef overview) {
  Flags flags;
  TrainerSource source;
  const bool parsed = flags.parse(argc, argv, overview);
  if (!complete(flags, source) || !parsed)
    return 1;
  const bool printIR = flags.printsIR(), toFile = flags.toFile();
  const bool asFolder = flags.makesProgram() && flags.makesFolder();
  if (toFile)
    if (llvm::Error error =
            asFolder ? checkFolder(flags.output) : checkOutput(flags.output))
      return complain(std::move(error));
  if (!flags.weights.empty())
    if (llvm::Error error = checkOutput(flags.weights))
      return complain(std::move(error));
  if (toFile && flags.makesProgram() && flags.builds())
    if (auto compiler = findCompiler(source.target); !compiler)
      return complain(compiler.takeError());

  Stopwatch watch(flags.verbose);
  std::unique_ptr<MLIRContext> context = makeContext();
  const Goal goal = flags.emit == "plan"         ? Goal::plan
                    : flags.emit == "costs"      ? Goal::costs
                    : flags.emit == "hypergraph" ? Goal::hypergraph
                    : flags.emit == "report"     ? Goal::report
                                                 : Goal::program;
  FailureOr<CompiledModel> model = compileModel(flags, *context, watch, goal);
  if (failed(model))
    return 1;
  if (goal != Goal::program && goal != Goal::report) {
    (toFile ? llvm::outs() : llvm::errs()) << model->comparison;
    return printText(goal == Goal::plan    ? toJson(*model->plan)
                     : goal == Goal::costs ? model->costs
                                           : model->hypergraph,
                     flags);
  }
  if (flags.verbose && model->program) {
    printMemory(model->program, llvm::errs());
    printTransfers(model->program, llvm::errs());
  }
  if (model->program) {
    FailureOr<plan::ProgramTime> time = predictStep(model->program, flags);
    if (failed(time))
      return 1;
    if (flags.emit == "trace") {
      std::string text;
      llvm::raw_string_ostream stream(text);
      plan::printTrace(*time, stream);
      return printText(text, flags);
    }
    if (goal == Goal::report)
      return printText(reportPage(*model, *time), flags);
    if (flags.explain == "timeline") {
      plan::printTimeline(*time, llvm::outs());
    } else if (flags.explains()) {
      printLayers(model->program, *model->plan, llvm::outs());
      llvm::outs() << model->comparison;
      printPrediction(model->program, *time, llvm::outs());
    }
  }

  if (printIR) {
    std::string text;
    llvm::raw_string_ostream stream(text);
    model->module->print(stream);
    if (!flags.weights.empty())
      if (llvm::Error error = writeFile(flags.weights, model->blob))
        return complain(std::move(error));
    return printText(text + "\n", flags);
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
  llvm::Error error =
      flags.emit == "source"   ? writeSourceFolder(source, flags.output)
      : flags.emit == "bundle" ? writeBundle(source, flags.output)
                               : buildBinary(source, flags.output);
  if (error)
    return complain(std::move(error));
  watch.lap(flags.builds() ? "compile" : "write");
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
    {"inspect",
     "says what of a model would be trained, and how much work it is",
     inspectMain},
    {"machine", "describes the machines that plans are priced for",
     machineMain},
    {"plan", "plans for several devices without compiling, and compares plans",
     planMain},
    {"profile", "measures the calls of a model, to price plans by (--costs)",
     profileMain},
};

int main(int argc, char **argv) {
  prepareOutput();
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
