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

#include "passes/verify/ScheduleVerifier.h"

#include "mlir/IR/Verifier.h"

#include "gtest/gtest.h"

#include <chrono>
#include <map>
#include <numeric>
#include <set>

using namespace mlir;
using namespace lwcc;
using namespace lwcc::exec;

namespace {

/// Damage that changes what a program means, but nothing that the verifier can
/// hold against it. Its misses are counted.
const std::set<std::string> kindsWithoutMeaning = {
    "drop call",       "double call",   "swap calls",   "move call",
    "swap neighbours", "other operand", "other result", "swap operands",
    "swap results",    "other callee",  "other kernel", "other expression",
    "other parameter", "other extents", "other window", "other whole",
    "other part",      "other role",    "other arena"};

struct Score {
  int mutants = 0, malformed = 0, wrong = 0, rejected = 0, missed = 0;
  int strict = 0; ///< right, but rejected
};
using Scores = std::map<std::string, Score>;

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
      if (++score.missed < 3 && !kindsWithoutMeaning.count(mutation.kind))
        ADD_FAILURE() << name << ", " << mutation.kind << " " << site << ": "
                      << mistake;
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
  MLIRContext context;
  context.loadDialect<ExecDialect>();
  ScopedDiagnosticHandler silence(&context, [](Diagnostic &) {});
  Scores scores;
  for (unsigned seed = 0; seed < 30; ++seed) {
    OwningOpRef<ModuleOp> module = test::generateProgram(&context, seed);
    ASSERT_TRUE(module) << "seed " << seed;
    judgeMutants(*module, "seed " + std::to_string(seed), 20, {}, seed, scores);
    if (HasFatalFailure())
      return;
  }
  print(scores);
  for (const test::Mutation &mutation : test::mutations())
    EXPECT_GT(scores[mutation.kind].wrong, 0)
        << mutation.kind << " proves nothing";
}

} // namespace
