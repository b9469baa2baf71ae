//===- BruteForce.cpp - Does a program mean what another says? ------------===//

#include "BruteForce.h"

#include "llvm/ADT/STLExtras.h"

#include <functional>
#include <random>

using namespace mlir;
using namespace lwcc;
using namespace lwcc::test;

static std::vector<Tag> resultsOf(const SymbolicProgram &program,
                                  const Image &image) {
  std::vector<Tag> result;
  for (const Kept &kept : program.kept)
    result.push_back(readCell(image, kept.cell));
  // The next step may find the same input there.
  result.push_back(llvm::all_of(program.given, [&](Cell cell) {
    return readCell(image, cell) == readCell(program.start, cell);
  }));
  return result;
}

static std::vector<Tag> runInOrder(const SymbolicProgram &program,
                                   const std::vector<Item> &items) {
  Image image = program.start;
  for (const Item &item : items)
    if (item.kind == Item::call)
      run(item.what, image);
  return resultsOf(program, image);
}

namespace {

/// One interleaving of the lanes.
class Run {
public:
  Run(const SymbolicProgram &program, const std::vector<Item> &items)
      : items(items), queues(program.lanes), at(program.lanes, 0),
        done(items.size(), false), image(program.start) {
    for (auto [index, item] : llvm::enumerate(items))
      queues[item.lane].push_back(index);
  }

  /// Runs only what must precede item `index`, then the item.
  void runEarly(size_t index) {
    int lane = items[index].lane;
    while (!finished(lane) && next(lane) <= index) {
      if (blocked(lane))
        runEarly(items[next(lane)].awaited);
      step(lane);
    }
  }
  /// Runs what precedes item `index` on its lane, as far as nothing must be
  /// waited for; then the other lanes first.
  void runLate(size_t index) {
    int lane = items[index].lane;
    while (next(lane) < index && !blocked(lane))
      step(lane);
    finish([] { return 0u; }, lane);
  }
  /// Runs lanes by `choose` until all are done; `except` rests until nothing
  /// else can run.
  void finish(llvm::function_ref<unsigned()> choose, int except = -1) {
    while (true) {
      std::vector<int> able;
      for (int lane = 0, e = queues.size(); lane < e; ++lane)
        if (lane != except && !blocked(lane))
          able.push_back(lane);
      if (able.empty() && except >= 0 && !blocked(except))
        able.push_back(except);
      if (able.empty())
        return;
      step(able[choose() % able.size()]);
    }
  }
  bool completed() const {
    return llvm::all_of(done, [](bool d) { return d; });
  }
  const Image &memory() const { return image; }

private:
  bool finished(int lane) const { return at[lane] == queues[lane].size(); }
  size_t next(int lane) const { return queues[lane][at[lane]]; }
  bool blocked(int lane) const {
    if (finished(lane))
      return true;
    const Item &item = items[next(lane)];
    return item.kind == Item::wait && !done[item.awaited];
  }
  void step(int lane) {
    size_t index = next(lane);
    if (items[index].kind == Item::call)
      run(items[index].what, image);
    done[index] = true;
    ++at[lane];
  }

  const std::vector<Item> &items;
  std::vector<std::vector<size_t>> queues;
  std::vector<size_t> at;
  std::vector<bool> done;
  Image image;
};

} // namespace

Judge::Judge(exec::ProgramOp program)
    : original(readProgram(program, /*byRoot=*/true)) {
  for (auto &[name, items] : original.sequences)
    results.push_back(runInOrder(original, items));
}

/// Tries interleavings of a sequence until one gives another result.
static std::string findRace(const SymbolicProgram &program,
                            const std::vector<Item> &items,
                            const std::vector<Tag> &expected,
                            const Effort &effort, std::mt19937 &random) {
  auto goesWrong = [&](llvm::function_ref<void(Run &)> strategy) {
    Run run(program, items);
    strategy(run);
    return !run.completed() || resultsOf(program, run.memory()) != expected;
  };
  auto first = [] { return 0u; };
  std::vector<size_t> calls;
  for (auto [index, item] : llvm::enumerate(items))
    if (item.kind == Item::call)
      calls.push_back(index);
  if (calls.size() > effort.calls) {
    std::shuffle(calls.begin(), calls.end(), random);
    calls.resize(effort.calls);
  }
  for (size_t call : calls) {
    if (goesWrong([&](Run &run) { run.runEarly(call), run.finish(first); }))
      return "another result if call " + std::to_string(call) + " is early";
    if (goesWrong([&](Run &run) { run.runLate(call); }))
      return "another result if call " + std::to_string(call) + " is late";
  }
  for (unsigned trial = 0; trial < effort.random; ++trial)
    if (goesWrong([&](Run &run) { run.finish([&] { return random(); }); }))
      return "another result in a random interleaving";
  return "";
}

std::string Judge::findMistake(exec::ProgramOp mutant, const Effort &effort,
                               unsigned seed) const {
  SymbolicProgram program = readProgram(mutant, /*byRoot=*/false);
  if (!program.mistake.empty())
    return program.mistake;
  if (program.kept.size() != original.kept.size() ||
      program.sequences.size() != original.sequences.size())
    return "the trainer sees other tensors";
  for (auto [a, b] : llvm::zip_equal(program.kept, original.kept))
    if (a.key != b.key)
      return "the trainer sees other parts of tensors";
  for (auto [a, b] : llvm::zip_equal(program.sequences, original.sequences))
    if (a.first != b.first)
      return "the trainer runs other sequences";
  for (auto [sequence, expected] : llvm::zip_equal(program.sequences, results))
    if (runInOrder(program, sequence.second) != expected)
      return "another result of @" + sequence.first;
  std::mt19937 random(seed);
  for (auto [sequence, expected] :
       llvm::zip_equal(program.sequences, results)) {
    std::string race =
        findRace(program, sequence.second, expected, effort, random);
    if (!race.empty())
      return "in @" + sequence.first + ", " + race;
  }
  return "";
}
