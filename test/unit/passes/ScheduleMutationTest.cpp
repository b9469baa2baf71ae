//===- ScheduleMutationTest.cpp - The verifier against a brute force ------===//
//
// Programs over several lanes and devices, synchronized and planned by the
// compiler, must be accepted. Then they are damaged in every way that Mutants.h
// knows. Whenever an independent brute force sees that a damaged program gives
// another result than the program that it was, the verifiers must reject it.
//
//===----------------------------------------------------------------------===//

#include "BruteForce.h"
#include "Mutants.h"
#include "ProgramGenerator.h"

#include "frontend/Import.h"
#include "ir/train/Train.h"
#include "passes/Passes.h"
#include "passes/Pipeline.h"
#include "passes/verify/ScheduleVerifier.h"

#include "mlir/IR/Verifier.h"
#include "mlir/Pass/PassManager.h"

#include "llvm/ADT/StringExtras.h"

#include "gtest/gtest.h"

#include <map>
#include <numeric>
#include <set>

using namespace mlir;
using namespace lwcc;
using namespace lwcc::exec;

namespace {

struct Score {
  int mutants = 0, malformed = 0, wrong = 0, rejected = 0, missed = 0;
  int strict = 0; ///< right, but rejected
};
using Scores = std::map<std::string, Score>;

/// The lines that one program has and the other has not.
std::string difference(ModuleOp before, ModuleOp after) {
  auto linesOf = [](ModuleOp module) {
    std::string text;
    llvm::raw_string_ostream stream(text);
    module.print(stream);
    std::multiset<std::string> lines;
    for (llvm::StringRef line : llvm::split(text, '\n'))
      lines.insert(line.trim().str());
    return lines;
  };
  std::multiset<std::string> removed = linesOf(before), added = linesOf(after);
  std::string text;
  auto list = [&](const auto &lines, const auto &without, char sign) {
    std::vector<std::string> rest;
    std::set_difference(lines.begin(), lines.end(), without.begin(),
                        without.end(), std::back_inserter(rest));
    for (const std::string &line : rest)
      text += std::string("\n") + sign + " " + line;
  };
  list(removed, added, '-');
  list(added, removed, '+');
  return text;
}

/// Damages a program at up to `limit` sites in each way.
void judgeMutants(ModuleOp module, const std::string &name, size_t limit,
                  const test::Effort &effort, unsigned seed, Scores &scores) {
  auto program = *module.getOps<ProgramOp>().begin();
  std::string said;
  {
    ScopedDiagnosticHandler collect(
        module.getContext(), [&](Diagnostic &d) { said += d.str() + "\n"; });
    ASSERT_TRUE(succeeded(verify(module))) << name << ": " << said;
    ASSERT_TRUE(succeeded(verifySchedule(program))) << name << ": " << said;
  }
  test::Judge judge(program);
  ASSERT_EQ(judge.findMistake(program, {}, seed), "") << name;

  test::Random random(seed);
  for (const test::Mutation &mutation : test::mutations()) {
    std::vector<size_t> sites(mutation.sites(program));
    std::iota(sites.begin(), sites.end(), 0);
    if (sites.size() > limit) {
      std::shuffle(sites.begin(), sites.end(), random);
      sites.resize(limit);
    }
    for (size_t site : sites) {
      OwningOpRef<ModuleOp> copy = module.clone();
      auto mutant = *copy->getOps<ProgramOp>().begin();
      if (!mutation.apply(mutant, site, random))
        continue;
      Score &score = scores[mutation.kind];
      ++score.mutants;
      if (failed(verify(*copy))) {
        ++score.malformed;
        continue;
      }
      bool rejected = failed(verifySchedule(mutant));
      std::string mistake = judge.findMistake(mutant, effort, random());
      score.wrong += !mistake.empty();
      score.rejected += rejected;
      score.strict += rejected && mistake.empty();
      if (mistake.empty() || rejected)
        continue;
      if (++score.missed < 3)
        ADD_FAILURE() << name << ", " << mutation.kind << ": " << mistake
                      << difference(module, *copy);
    }
  }
}

void print(const Scores &scores) {
  printf("%-22s %8s %10s %8s %9s %8s %8s\n", "kind", "mutants", "malformed",
         "wrong", "rejected", "strict", "missed");
  for (auto &[kind, score] : scores)
    printf("%-22s %8d %10d %8d %9d %8d %8d\n", kind.c_str(), score.mutants,
           score.malformed, score.wrong, score.rejected, score.strict,
           score.missed);
}

TEST(ScheduleVerifier, rejectsEveryMutantOfARandomProgramThatGoesWrong) {
  MLIRContext context(MLIRContext::Threading::DISABLED);
  context.loadDialect<ExecDialect, train::TrainDialect>();
  context.printOpOnDiagnostic(false);
  ScopedDiagnosticHandler silence(&context, [](Diagnostic &) {});
  Scores scores;
  for (unsigned seed = 0; seed < 24; ++seed) {
    OwningOpRef<ModuleOp> module = test::generateProgram(&context, seed);
    ASSERT_TRUE(module) << "seed " << seed;
    judgeMutants(*module, "seed " + std::to_string(seed), 16, {}, seed, scores);
    if (HasFatalFailure())
      return;
  }
  print(scores);
  for (const test::Mutation &mutation : test::mutations())
    EXPECT_GT(scores[mutation.kind].wrong, 0)
        << mutation.kind << " proves nothing";
}

struct Compilation {
  std::string network, strategy, plan, target;
  int gpus = 1;
  std::string schedule = {}, form = "exec";
};

OwningOpRef<ModuleOp> compile(MLIRContext *context, const Compilation &by) {
  std::string inputs = LWCC_TEST_INPUTS;
  FailureOr<ImportedModel> model =
      importOnnx(inputs + "/" + by.network + ".onnxtext", {}, context);
  if (failed(model))
    return {};
  PipelineOptions options;
  options.strategy = by.strategy;
  options.plan = by.plan.empty() ? "" : inputs + "/" + by.plan;
  options.target = by.target;
  options.gpus = by.gpus;
  options.schedule = by.schedule;
  options.microBatches = by.schedule.empty() ? 0 : 4;
  options.stopAfter = by.form;
  if (failed(runPipeline(*model->module, options)))
    return {};
  return std::move(model->module);
}

TEST(ScheduleVerifier, rejectsEveryMutantOfACompiledProgramThatGoesWrong) {
  MLIRContext context(MLIRContext::Threading::DISABLED);
  context.loadDialect<ExecDialect, train::TrainDialect, func::FuncDialect>();
  context.printOpOnDiagnostic(false);
  ScopedDiagnosticHandler silence(&context, [](Diagnostic &) {});
  const Compilation compilations[] = {
      {"cnn", "single", "", "cuda", 1},
      {"cnn", "data", "", "cuda", 2},
      {"cnn", "model", "", "cuda", 2},
      {"cnn", "owt", "", "cuda", 3},
      {"cnn", "", "cnn.json", "cpu", 2},
      {"mlp", "single", "", "cpu", 1},
      {"mlp", "model", "", "cpu", 2},
      {"mlp", "", "mlp.json", "cuda", 3},
      // Stashes and accumulated gradients.
      {"mlp", "pipeline", "", "cpu", 2, "1f1b"},
      {"mlp", "pipeline", "", "cuda", 2, "zb-h1"}};
  Scores scores;
  for (const Compilation &by : compilations) {
    std::string name = by.network + " by " + by.strategy + by.plan;
    OwningOpRef<ModuleOp> module = compile(&context, by);
    ASSERT_TRUE(module) << name;
    judgeMutants(*module, name, 16, {/*calls=*/12, /*random=*/4}, 1, scores);
    if (HasFatalFailure())
      return;
  }
  print(scores);
}

/// Swaps two neighbouring tasks in the order of one lane; a task is a run of
/// neighbours of one group. Null if there are not so many tasks.
ArrayAttr swapTasks(ArrayAttr lanes, size_t lane, size_t number) {
  SmallVector<Attribute> swapped(lanes.getValue());
  auto order = cast<train::LaneOrderAttr>(lanes[lane]);
  std::vector<std::vector<train::TaskAttr>> tasks;
  for (train::TaskAttr each : order.getTasks()) {
    if (tasks.empty() || tasks.back().back().getGroup() != each.getGroup())
      tasks.emplace_back();
    tasks.back().push_back(each);
  }
  if (number + 1 >= tasks.size())
    return {};
  std::swap(tasks[number], tasks[number + 1]);
  SmallVector<train::TaskAttr> flat;
  for (const std::vector<train::TaskAttr> &task : tasks)
    llvm::append_range(flat, task);
  swapped[lane] =
      train::LaneOrderAttr::get(lanes.getContext(), order.getLane(), flat);
  return ArrayAttr::get(lanes.getContext(), swapped);
}

TEST(FormRules, rejectEverySwapOfTasksOfAPipeline) {
  MLIRContext context(MLIRContext::Threading::DISABLED);
  context.loadDialect<ExecDialect, train::TrainDialect, func::FuncDialect>();
  context.printOpOnDiagnostic(false);
  ScopedDiagnosticHandler silence(&context, [](Diagnostic &) {});
  for (std::string schedule : {"gpipe", "1f1b", "zb-h1", "zb-h2"}) {
    OwningOpRef<ModuleOp> module = compile(
        &context, {"mlp", "pipeline", "", "cpu", 2, schedule, "scheduled"});
    ASSERT_TRUE(module) << schedule;
    auto isRight = [&] {
      PassManager checks(&context);
      checks.addPass(createVerifyForm({.form = "scheduled"}));
      return succeeded(checks.run(*module));
    };
    EXPECT_TRUE(isRight()) << schedule;
    auto lanes = (*module)->getAttrOfType<ArrayAttr>(train::orderAttr);
    ASSERT_TRUE(lanes) << schedule;
    int swaps = 0;
    for (size_t lane = 0; lane < lanes.size(); ++lane)
      for (size_t number = 0;; ++number) {
        ArrayAttr swapped = swapTasks(lanes, lane, number);
        if (!swapped)
          break;
        (*module)->setAttr(train::orderAttr, swapped);
        EXPECT_FALSE(isRight())
            << schedule << ", lane " << lane << ", task " << number;
        ++swaps;
      }
    EXPECT_GE(swaps, 2 * (8 - 1)) << "four micro-batches, both ways";
  }
}

} // namespace
