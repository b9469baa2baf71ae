//===- planner-bench.cpp - Speed and agreement of the simulator -----------===//
//
//   planner-bench model.onnx --gpus=4 [--machine=NAME] [--batch=N]
//                 [--proposals=10000] [--full=100]
//
// Draws random changes of single layers, as the Markov chain does, from data
// parallelism on; every second one is kept. Prints how many a second the
// simulator evaluates in delta mode, and in full mode. Of every tenth of
// `--full` changes both modes must give the same step, to the picosecond: else
// exit code 1.
//
//===----------------------------------------------------------------------===//

#include "passes/plan/BuildGraph.h"
#include "passes/plan/Mcmc.h"
#include "tools/driver/Driver.h"

#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

using namespace lwcc;
using namespace lwcc::plan;
namespace cl = llvm::cl;

namespace {
struct Flags : CompileFlags {
  cl::opt<int> proposals{"proposals", cl::init(10000), cl::value_desc("N"),
                         cl::desc("Changes that delta mode evaluates"),
                         cl::cat(category)};
  cl::opt<int> full{"full", cl::init(100), cl::value_desc("N"),
                    cl::desc("Of these, how many full mode evaluates as well"),
                    cl::cat(category)};
};

class Clock {
public:
  double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() -
                                         start)
        .count();
  }

private:
  std::chrono::steady_clock::time_point start =
      std::chrono::steady_clock::now();
};
} // namespace

int main(int argc, char **argv) {
  Flags flags;
  if (!flags.parse(argc, argv, "planner-bench: how quick the simulator is\n"))
    return 1;
  flags.stopAfter = "differentiated";
  Stopwatch watch(flags.verbose);
  std::unique_ptr<mlir::MLIRContext> context = makeContext();
  mlir::FailureOr<CompiledModel> model = compileModel(flags, *context, watch);
  if (failed(model))
    return 1;
  Machine machine;
  for (const std::string &mistake :
       findDevices(flags.machine, flags.gpus, machine)) {
    llvm::errs() << "lwcc: error: " << mistake << "\n";
    return 1;
  }
  LayerGraph graph = buildGraph(*model->module);
  CostModel costs(machine, flags.precision);
  Problem problem{
      graph, machine, costs, {1e9, flags.searchSeed.getValue() + 0u}};
  Tilings start = tilingsOf(graph, findSolver("data")->solve(problem));

  Simulator delta(problem), full(problem);
  delta.simulate(start);
  Chain chain(problem, delta);
  int every = std::max(flags.proposals / std::max(flags.full.getValue(), 1), 1);
  double deltaSeconds = 0, fullSeconds = 0;
  int compared = 0, different = 0;
  for (int i = 0; i < flags.proposals; ++i) {
    std::vector<Simulator::Change> changes = chain.randomChange();
    Clock deltaClock;
    Ticks proposed = delta.propose(changes);
    deltaSeconds += deltaClock.seconds();
    if (compared < flags.full && i % every == 0) {
      Tilings tilings = delta.tilings();
      for (const Simulator::Change &change : changes)
        tilings[change.layer] = change.tiling;
      Clock fullClock;
      Ticks whole = full.simulate(tilings);
      fullSeconds += fullClock.seconds();
      ++compared;
      different += whole != proposed || full.memory() != delta.proposedMemory();
    }
    if (i % 2)
      delta.accept();
  }
  double deltaRate = flags.proposals / deltaSeconds;
  double fullRate = compared / fullSeconds;
  llvm::outs() << llvm::format(
      "%d layers in %d groups, %d devices: %.0f delta and %.1f full "
      "evaluations "
      "a second, delta %.1f times as fast; %d of %d steps differ\n",
      static_cast<int>(graph.layers.size()), static_cast<int>(chain.groups()),
      static_cast<int>(machine.devices()), deltaRate, fullRate,
      deltaRate / fullRate, different, compared);
  return different == 0 ? 0 : 1;
}
