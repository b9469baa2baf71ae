//===- PlanCommand.cpp - lwcc plan ----------------------------------------===//
//
// `lwcc plan` plans without compiling: it prints what each strategy would take,
// and writes the plan (-o) for `lwcc --plan`. Needs neither a GPU nor a
// compiler of programs.
//
// Does not decide anything about plans (passes/plan).
//
//===----------------------------------------------------------------------===//

#include "tools/driver/Driver.h"
#include "tools/lwcc/Subcommands.h"
#include "tools/lwcc/ThisMachine.h"

#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace lwcc;
namespace cl = llvm::cl;

namespace {
struct PlanFlags : CompileFlags {
  PlanFlags() { alwaysExplains = true; }

  cl::opt<std::string> output{
      "o", cl::value_desc("FILE"),
      cl::desc("The plan, for lwcc --plan (JSON); - for the standard output"),
      cl::cat(category)};
  cl::opt<std::string> target{
      "target", cl::value_desc("cuda|cpu"),
      cl::desc("What the trainer is to run on (default: cuda)"),
      cl::cat(category)};
};
} // namespace

int lwcc::planMain(int argc, char **argv) {
  PlanFlags flags;
  const bool good = flags.parse(
      argc, argv,
      "lwcc plan: says how a model would be spread over devices, and how long "
      "a step should take under each strategy\n");
  // Plans are often made for another machine, so what is here does not count.
  std::optional<Target> named = Target::cuda;
  if (!flags.target.empty())
    named = targetOf(flags.target, "");
  if (!good || !named)
    return 1;
  const Target target = *named;
  flags.platform = nameOf(target);
  if (flags.machine.empty())
    flags.machine = thisMachine(target, flags.gpus);
  const bool toFile = !flags.output.empty() && flags.output != "-";
  if (toFile) {
    for (const std::string &read : std::vector<std::string>{
             flags.input, flags.plan, flags.machine, flags.costs})
      if (isSameFile(flags.output, read))
        return complain("cannot write " + flags.output +
                        ": it is what lwcc is to read");
    if (llvm::Error error = checkOutput(flags.output))
      return complain(std::move(error));
  }
  Stopwatch watch(flags.verbose);
  std::unique_ptr<MLIRContext> context = makeContext();
  FailureOr<CompiledModel> model =
      compileModel(flags, *context, watch, Goal::plan);
  if (failed(model))
    return 1;
  // A plan on the standard output must be one that can be read again.
  llvm::raw_ostream &os = flags.output == "-" ? llvm::errs() : llvm::outs();
  if (model->comparison.empty())
    os << "one device: no layer is cut; --gpus=N plans for more\n";
  os << model->comparison;
  if (flags.output == "-")
    llvm::outs() << toJson(*model->plan);
  else if (toFile)
    if (llvm::Error error = writeFile(flags.output, toJson(*model->plan)))
      return complain(std::move(error));
  return 0;
}
