//===- Driver.h - The compiler behind lwcc and lwcc-run ---------*- C++ -*-===//
//
// From an ONNX file to an exec program: the command-line flags that both tools
// share, the diagnostics as a person reads them, and the chain of frontend and
// passes. What becomes of the exec program is the tool's business.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_TOOLS_DRIVER_DRIVER_H
#define LWCC_TOOLS_DRIVER_DRIVER_H

#include "frontend/Import.h"
#include "ir/exec/Exec.h"
#include "passes/plan/price/ProgramTime.h"
#include "passes/plan/solve/Compare.h"
#include "tools/driver/CommandLine.h"
#include "tools/driver/Output.h"

#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"

#include <chrono>
#include <string>
#include <vector>

namespace lwcc {

/// Flags of the compiler proper. Declared once, in the tool's main, so that no
/// library has global options.
struct CompileFlags : private ForgetLibraryOptions {

  llvm::cl::OptionCategory category{"Compiler options"};
  llvm::cl::opt<std::string> input{llvm::cl::Positional,
                                   llvm::cl::desc("<model.onnx>"),
                                   llvm::cl::cat(category)};
  llvm::cl::opt<int64_t> batch{
      "batch", llvm::cl::init(0), llvm::cl::value_desc("N"),
      llvm::cl::desc("Samples per training step (default: the file's, or 64 "
                     "where that is left open)"),
      llvm::cl::cat(category)};
  llvm::cl::opt<std::string> loss{
      "loss", llvm::cl::init("auto"), llvm::cl::value_desc("NAME"),
      llvm::cl::desc(
          "cross-entropy, of class labels; nll, the same where the model ends "
          "in a LogSoftmax; bce, mse, l1 or huber, of numbers; output, which "
          "the model computes as the loss of each "
          "sample; auto (default): the file's, else what its "
          "output is made for"),
      llvm::cl::cat(category)};
  llvm::cl::opt<std::string> trainedOutput{
      "output", llvm::cl::value_desc("NAME"),
      llvm::cl::desc("Which output of several is trained; what only the others "
                     "need is left as it is"),
      llvm::cl::cat(category)};
  llvm::cl::list<std::string> inputLayouts{
      "input", llvm::cl::value_desc("NAME=nhwc|nchw"),
      llvm::cl::desc("Whether an input of images has its channels last or "
                     "second, where lwcc does not see that by what the model "
                     "does with them. May be given several times"),
      llvm::cl::cat(category)};
  llvm::cl::list<std::string> auxiliaryOutputs{
      "aux", llvm::cl::value_desc("NAME=WEIGHT"),
      llvm::cl::desc("Another output of several that is trained, against the "
                     "same labels: its loss times the weight is added to that "
                     "of --output (default: 1). NAME=WEIGHT:LOSS has a loss "
                     "and labels of its own. May be given several times"),
      llvm::cl::cat(category)};
  llvm::cl::opt<std::string> classWeights{
      "class-weights", llvm::cl::value_desc("W,W.."),
      llvm::cl::desc("With a loss of class labels that is added: how much each "
                     "class counts, in the order of their numbers"),
      llvm::cl::cat(category)};
  llvm::cl::opt<double> labelSmoothing{
      "label-smoothing", llvm::cl::init(0), llvm::cl::value_desc("X"),
      llvm::cl::desc("With a loss of class labels: this part of each label is "
                     "any class, each as probable"),
      llvm::cl::cat(category)};
  llvm::cl::opt<bool> softLabels{
      "soft-labels",
      llvm::cl::desc("With a loss of class labels that is added: a sample may "
                     "be of several classes, as --mixup and --cutmix of the "
                     "trainer make them"),
      llvm::cl::cat(category)};
  llvm::cl::opt<std::string> optimizer{
      "optimizer", llvm::cl::init("sgd"), llvm::cl::value_desc("NAME"),
      llvm::cl::desc("Who updates the parameters: sgd, adam, adamw, rmsprop, "
                     "adagrad, lion, "
                     "lars or lamb (default: sgd); --lr and its other "
                     "hyper-parameters are flags of the trainer"),
      llvm::cl::cat(category)};
  llvm::cl::opt<double> ema{
      "ema", llvm::cl::init(0), llvm::cl::value_desc("D"),
      llvm::cl::desc("Validation, predictions and exports use a moving average "
                     "of the weights: after each step, D times the average "
                     "plus (1 - D) times the weights"),
      llvm::cl::cat(category)};
  llvm::cl::opt<double> clipNorm{
      "clip-norm", llvm::cl::init(0), llvm::cl::value_desc("X"),
      llvm::cl::desc("Before each update, multiplies all gradients by one "
                     "number so that their norm together is at most X"),
      llvm::cl::cat(category)};
  llvm::cl::list<std::string> freeze{
      "freeze", llvm::cl::value_desc("REGEX"),
      llvm::cl::desc(
          "Does not train the parameters in whose names it is found; "
          "may be given several times"),
      llvm::cl::cat(category)};
  llvm::cl::list<std::string> groups{
      "group", llvm::cl::value_desc("REGEX:lr-scale=X,weight-decay-scale=Y"),
      llvm::cl::desc(
          "Multiplies --lr and --weight-decay of the trainer for the "
          "parameters in whose names REGEX is found; the first group "
          "of several counts"),
      llvm::cl::cat(category)};
  llvm::cl::list<std::string> noDecay{
      "no-decay", llvm::cl::CommaSeparated, llvm::cl::value_desc("bias,norm"),
      llvm::cl::desc("No weight decay for scale and shift of normalizations "
                     "(norm), or for all other parameters of one dimension "
                     "(bias)"),
      llvm::cl::cat(category)};
  llvm::cl::opt<std::string> precision{
      "precision", llvm::cl::init("fp32"), llvm::cl::value_desc("fp32|tf32"),
      llvm::cl::desc("Arithmetic of convolutions and matrix products on a GPU"),
      llvm::cl::cat(category)};
  llvm::cl::opt<int> gpus{"gpus", llvm::cl::init(1), llvm::cl::value_desc("N"),
                          llvm::cl::desc("Devices to use"),
                          llvm::cl::cat(category)};
  llvm::cl::opt<int> nodes{
      "nodes", llvm::cl::init(0), llvm::cl::value_desc("N"),
      llvm::cl::desc("Machines on which the devices are, equally many on each "
                     "(default: as many as --machine needs); ranks of the "
                     "program run them"),
      llvm::cl::cat(category)};
  llvm::cl::opt<std::string> memory{
      "memory", llvm::cl::value_desc("SIZE"),
      llvm::cl::desc("Memory of a device, such as 80GiB: a program that needs "
                     "more is refused (default: no limit is known)"),
      llvm::cl::cat(category)};
  llvm::cl::opt<std::string> strategy{
      "strategy", llvm::cl::init("auto"), llvm::cl::value_desc("NAME"),
      llvm::cl::desc(
          "Who plans for several devices: data (the samples are spread over "
          "them), model (the channels are), owt (convolutions by samples, "
          "fully connected layers by channels), owt-b and owt-c (the same, the "
          "latter in passes of some samples), layerwise (each layer's own "
          "way, by an exact search over predicted costs), descent (layer after "
          "layer, the quickest simulated step), mcmc (the same by chance), dfs "
          "(layerwise by depth-first search), pipeline (consecutive layers on "
          "each device, through "
          "which micro-batches go), hypergraph (parts of layers, such that the "
          "least is sent between devices, in micro-batches), single, or auto, "
          "the best as predicted (default)"),
      llvm::cl::cat(category)};
  llvm::cl::opt<int64_t> microBatches{
      "micro-batches", llvm::cl::init(0), llvm::cl::value_desc("N"),
      llvm::cl::desc(
          "Into how many parts the samples of a step are cut. On one device "
          "they follow each other, and gradients are accumulated: the same "
          "step in less memory. On several with --strategy=pipeline, owt-b, "
          "owt-c or hypergraph (default: what should be quickest, or a pass "
          "for each device)"),
      llvm::cl::cat(category)};
  llvm::cl::opt<int64_t> stages{
      "stages", llvm::cl::init(0), llvm::cl::value_desc("N"),
      llvm::cl::desc(
          "With --strategy=pipeline: into how many stages the model is cut "
          "(default: what should be quickest)"),
      llvm::cl::cat(category)};
  llvm::cl::opt<std::string> schedule{
      "schedule", llvm::cl::value_desc("NAME"),
      llvm::cl::desc("With --strategy=pipeline: gpipe, 1f1b, 1f1b-eager, "
                     "interleaved, zb-h1, zb-h2, zb-v or v-half (default: what "
                     "should be quickest)"),
      llvm::cl::cat(category)};
  llvm::cl::opt<std::string> lanes{
      "lanes", llvm::cl::value_desc("N|auto"),
      llvm::cl::desc("Compute lanes of each device, which work at once; auto: "
                     "as many as should be quickest (default: 1, and auto with "
                     "--strategy=auto if --costs were measured of lanes)"),
      llvm::cl::cat(category)};
  llvm::cl::opt<double> searchSeconds{
      "search-seconds", llvm::cl::init(10), llvm::cl::value_desc("SECONDS"),
      llvm::cl::desc("How long a search by chance may take; 0: only the fixed "
                     "strategies are compared"),
      llvm::cl::cat(category)};
  llvm::cl::opt<int64_t> searchSeed{
      "search-seed", llvm::cl::init(0), llvm::cl::value_desc("N"),
      llvm::cl::desc("Seed of that search"), llvm::cl::cat(category)};
  llvm::cl::opt<std::string> searchDimensions{
      "search-dimensions", llvm::cl::init("nchwk"),
      llvm::cl::value_desc("LETTERS"),
      llvm::cl::desc("What searches may cut layers along: samples n, channels "
                     "c, height h, width w, reduction k (default: nchwk)"),
      llvm::cl::cat(category)};
  llvm::cl::list<std::string> keep{
      "keep", llvm::cl::value_desc("REGEX=DEGREES"),
      llvm::cl::desc(
          "Layers in whose names the expression is found are cut so, "
          "n4 or n2c2 for instance; strategies decide on the others. "
          "May be given several times"),
      llvm::cl::cat(category)};
  llvm::cl::opt<std::string> machine{
      "machine", llvm::cl::value_desc("NAME|FILE"),
      llvm::cl::desc(
          "What the costs are predicted for: h200x1, h200x4, h200x8, "
          "h200-8x8, p100-4x4, k80-16x4, cpu, or a JSON file "
          "(default: this one, if lwcc machine --probe has "
          "described it, else H200s in one node, or cpu)"),
      llvm::cl::cat(category)};
  llvm::cl::opt<std::string> costs{
      "costs", llvm::cl::value_desc("FILE"),
      llvm::cl::desc("Measured times to price plans by (lwcc profile)"),
      llvm::cl::cat(category)};
  llvm::cl::opt<std::string> bn{
      "bn", llvm::cl::init("global"), llvm::cl::value_desc("global|group:G"),
      llvm::cl::desc("Whose statistics batch normalization uses: those of the "
                     "whole batch, or of each G consecutive samples of it, "
                     "which a pipeline can cut into micro-batches. No plan "
                     "changes results with either"),
      llvm::cl::cat(category)};
  llvm::cl::opt<bool> frozenBn{
      "frozen-bn",
      llvm::cl::desc("Batch normalization uses the running statistics in "
                     "training, too, and leaves them as they are; its scale "
                     "and shift are trained, unless --freeze names them"),
      llvm::cl::cat(category)};
  llvm::cl::opt<std::string> plan{
      "plan", llvm::cl::value_desc("FILE"),
      llvm::cl::desc("A plan to read instead (JSON)"), llvm::cl::cat(category)};
  llvm::cl::opt<std::string> stopAfter{
      "stop-after", llvm::cl::init("exec"), llvm::cl::value_desc("FORM"),
      llvm::cl::desc("Print the IR of this form (imported, differentiated, "
                     "planned, sharded, scheduled, exec) and stop"),
      llvm::cl::cat(category)};
  llvm::cl::opt<std::string> dumpDir{
      "dump-dir", llvm::cl::value_desc("DIR"),
      llvm::cl::desc("Write the IR after every pass"), llvm::cl::cat(category)};
  llvm::cl::opt<std::string> explain{
      "explain", llvm::cl::ValueOptional, llvm::cl::value_desc("timeline"),
      llvm::cl::desc("Print what was decided for every layer, what each "
                     "strategy would cost, and how long a step should take; "
                     "with --emit=plan just the strategies; =timeline: the "
                     "lanes of a step as text"),
      llvm::cl::cat(category)};
  llvm::cl::opt<bool> verbose{
      "v", llvm::cl::desc("Print the time of every phase, and the memory plan"),
      llvm::cl::cat(category)};

  bool explains() const {
    return alwaysExplains || explain.getNumOccurrences() > 0;
  }
  bool alwaysExplains = false; ///< of a tool that does so without being asked
  /// `memory` in bytes, 0 without it.
  int64_t memoryBytes = 0;
  /// The G of `bn` if that is group:G, else 0.
  int64_t group = 0;
  std::vector<float> weightOfClass;       ///< of --class-weights
  std::vector<AuxiliaryOutput> auxiliary; ///< of --aux
  std::vector<InputLayout> layouts;       ///< of --input
  // How timm's training script spells them.
  llvm::cl::alias opt{"opt", llvm::cl::aliasopt(optimizer)};
  llvm::cl::alias smoothing{"smoothing", llvm::cl::aliasopt(labelSmoothing)};
  llvm::cl::alias emaDecay{"model-ema-decay", llvm::cl::aliasopt(ema)};
  llvm::cl::alias clipGrad{"clip-grad", llvm::cl::aliasopt(clipNorm)};
  llvm::cl::alias batchSize{"batch-size", llvm::cl::aliasopt(batch)};
  int64_t laneCount = -1; ///< of --lanes; 0: auto, -1: not said
  /// What the program will run on, "cuda" or "cpu"; set by the tools.
  std::string platform;

  /// Parses; false after messages about all mistakes, of the model's first.
  bool parse(int argc, char **argv, llvm::StringRef overview);
};

/// Seconds per phase, printed as they end if wanted.
class Stopwatch {
public:
  explicit Stopwatch(bool print) : print(print) {}
  void lap(llvm::StringRef phase);

private:
  bool print;
  std::chrono::steady_clock::time_point last = std::chrono::steady_clock::now();
};

/// How far to compile, and what to keep of it. `report` is a program, and what
/// was known when it was planned; `inspect` no further than a plan, with the
/// work of each layer.
enum class Goal { program, plan, costs, hypergraph, report, inspect };

/// What a layer has and does, on one device.
struct LayerWork {
  std::string name;
  int64_t parameters = 0; ///< elements that are trained
  double forward = 0;     ///< floating-point operations of a batch ...
  double step = 0;        ///< ... and of all of its training step
};

/// What was known when a program was planned.
struct Planned {
  plan::LayerGraph graph; ///< without its tiles
  plan::Machine machine;
  std::optional<plan::Comparison> comparison; ///< absent for one device
};

struct CompiledModel {
  mlir::OwningOpRef<mlir::ModuleOp> module;
  /// Initial weights and the literal pieces of the exported file.
  std::vector<char> blob;
  /// Null where --stop-after stopped earlier.
  exec::ProgramOp program;
  /// Absent where --stop-after stopped earlier, or the program was read.
  std::optional<plan::Plan> plan;
  std::optional<Planned> planned; ///< for Goal::report
  std::string comparison;         ///< of the strategies, for --explain
  std::vector<LayerWork> layers;  ///< for Goal::inspect
  std::string costs;              ///< as JSON, for --emit=costs
  std::string hypergraph;         ///< as hMETIS, for --emit=hypergraph
};

/// How long a training step of the program should take, by the machine and the
/// measured costs that the flags name; the program's header will say so, too.
mlir::FailureOr<plan::ProgramTime> predictStep(exec::ProgramOp program,
                                               const CompileFlags &flags);

/// A diagnostic as `makeContext` prints it: its place, and what it says.
std::string messageOf(const mlir::Diagnostic &diagnostic);

/// A context with our dialects whose diagnostics are printed as
/// "lwcc: error: <where>: <what>".
std::unique_ptr<mlir::MLIRContext> makeContext();

/// Imports and lowers; with `goal` plan, costs, hypergraph or inspect no
/// further than that. Failures have been reported.
mlir::FailureOr<CompiledModel> compileModel(const CompileFlags &flags,
                                            mlir::MLIRContext &context,
                                            Stopwatch &watch,
                                            Goal goal = Goal::program);

/// -v: the memory plan, and the bytes that devices exchange in a training step.
/// Of one device, if `only` names it.
/// --explain: a line per layer of the plan, with the bytes that transfers move
/// for it, then all pairs of devices, and their memory.
void printMemory(exec::ProgramOp program, llvm::raw_ostream &out,
                 llvm::StringRef only = "");
void printTransfers(exec::ProgramOp program, llvm::raw_ostream &out);
void printLayers(exec::ProgramOp program, const plan::Plan &plan,
                 llvm::raw_ostream &out);

/// --emit=report: a page about a program that was compiled for Goal::report.
std::string reportPage(const CompiledModel &model,
                       const plan::ProgramTime &time);

/// One line: the step, images a second, and what this was made from.
void printPrediction(exec::ProgramOp program, const plan::ProgramTime &time,
                     llvm::raw_ostream &out);

/// "61,706"
std::string grouped(int64_t number);
/// "3.2 MiB", the trainer's unit of memory too
std::string mebibytes(int64_t bytes);

} // namespace lwcc

#endif // LWCC_TOOLS_DRIVER_DRIVER_H
