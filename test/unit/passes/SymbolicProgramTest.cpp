//===- SymbolicProgramTest.cpp - Who judges the judge? --------------------===//
//
// What the brute force says that movements move, where it thinks that tensors,
// views and windows lie, is what the runtime moves: random programs of
// movements over several devices and lanes run on both.
//
//===----------------------------------------------------------------------===//

#include "SymbolicProgram.h"
#include "ProgramGenerator.h"

#include "ir/train/Train.h"
#include "runtime/core/Machine.h"
#include "tools/lwcc-run/LoadProgram.h"

#include "gtest/gtest.h"

#include <cstring>
#include <map>

using namespace mlir;
using namespace lwcc;
using namespace lwcc::exec;

namespace {

/// The arenas of a machine as one image, device after device.
class Arenas {
public:
  Arenas(ProgramOp program, rt::Machine &machine) {
    for (DeviceOp device : program.getBody().getOps<DeviceOp>())
      arenas.push_back({machine.arena(static_cast<int>(arenas.size())),
                        static_cast<int64_t>(device.getArena())});
  }
  char *at(int64_t byte) const {
    for (auto [begin, bytes] : arenas) {
      if (byte < bytes)
        return begin + byte;
      byte -= bytes;
    }
    return nullptr;
  }
  float read(test::Cell cell) const {
    float value;
    std::memcpy(&value, at(cell.at), sizeof(value));
    return value;
  }
  void write(test::Cell cell, float value) const {
    std::memcpy(at(cell.at), &value, sizeof(value));
  }

private:
  std::vector<std::pair<char *, int64_t>> arenas;
};

void compareRuns(ProgramOp program, StringRef sequence) {
  FailureOr<rt::Program> loaded = loadProgram(program, {});
  ASSERT_TRUE(succeeded(loaded));
  rt::MachineOptions options;
  options.threads = 2;
  auto machine = rt::Machine::create(loaded->machine, options);
  rt::Sequence *recorded = machine->record("moves", [&] {
    (sequence == "evaluate" ? loaded->evaluate : loaded->trainStep)(*machine);
  });

  test::SymbolicProgram symbolic = test::readProgram(program, false);
  ASSERT_EQ(symbolic.mistake, "");
  Arenas arenas(program, *machine);
  Type f32 = Float32Type::get(program.getContext());
  std::map<test::Tag, float> values; ///< each tag's number
  for (float number : {0.0f, 1.0f, 2.0f})
    values[test::tagOfNumber(f32, number)] = number;
  std::vector<test::Cell> cells;
  for (const test::Kept &kept : symbolic.kept)
    cells.push_back(kept.cell);
  for (test::Cell cell : symbolic.given)
    if (cell.bytes == 4)
      cells.push_back(cell);
  for (test::Cell cell : cells) {
    test::Tag tag = test::readCell(symbolic.start, cell);
    auto value = values.try_emplace(tag, 100.0f + values.size()).first;
    arenas.write(cell, value->second);
  }

  test::Image image = symbolic.start;
  for (auto &[name, items] : symbolic.sequences)
    for (const test::Item &item : items)
      if (name == sequence && item.kind == test::Item::call)
        test::run(item.what, image);
  machine->run(recorded);
  machine->synchronize();
  int changed = 0;
  for (test::Cell cell : cells) {
    auto value = values.find(test::readCell(image, cell));
    ASSERT_NE(value, values.end()) << "no movement";
    EXPECT_EQ(arenas.read(cell), value->second);
    changed += value->first != test::readCell(symbolic.start, cell);
  }
  EXPECT_GT(changed, 0);
}

TEST(SymbolicProgram, movesWhatTheRuntimeMoves) {
  MLIRContext context(MLIRContext::Threading::DISABLED);
  context.loadDialect<ExecDialect, train::TrainDialect>();
  for (unsigned seed = 0; seed < 100; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    OwningOpRef<ModuleOp> module =
        test::generateProgram(&context, seed, /*onlyMovements=*/true);
    ASSERT_TRUE(module);
    auto program = *module->getOps<ProgramOp>().begin();
    compareRuns(program, "train_step");
    compareRuns(program, "evaluate");
    if (HasFailure()) {
      module->dump();
      return;
    }
  }
}

} // namespace
