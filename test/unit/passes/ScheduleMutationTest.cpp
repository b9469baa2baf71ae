//===- ScheduleMutationTest.cpp - The verifier against a brute force ------===//
//
// Random programs over several lanes and devices, synchronized and planned by
// the compiler, must be accepted. Then they are damaged in every single place:
// an event dropped, a wait moved to another lane, neighbours swapped, a call
// moved to another lane, an offset shifted, an arena cut. Whenever an
// independent brute force sees a damaged program go wrong, the verifier must
// reject it.
//
//===----------------------------------------------------------------------===//

#include "BruteForce.h"

#include "passes/memory/PlanMemory.h"
#include "passes/schedule/Synchronize.h"
#include "passes/verify/ScheduleVerifier.h"

#include "gtest/gtest.h"

#include <map>
#include <random>

using namespace mlir;
using namespace lwcc;
using namespace lwcc::exec;

namespace {

class Generator {
public:
  Generator(MLIRContext *context, unsigned seed)
      : context(context), builder(context), random(seed) {}

  OwningOpRef<ModuleOp> make() {
    Location loc = UnknownLoc::get(context);
    OwningOpRef<ModuleOp> module = ModuleOp::create(loc);
    builder.setInsertionPointToStart(module->getBody());
    auto program = ProgramOp::create(builder, loc, "p");
    program.getBody().emplaceBlock();
    builder.setInsertionPointToStart(&program.getBody().front());
    devices = 1 + below(3);
    for (int d = 0; d < devices; ++d)
      DeviceOp::create(builder, loc, deviceName(d), 0, d, 0);
    int laneCount = devices + below(3);
    for (int l = 0; l < laneCount; ++l) {
      lanes.push_back("lane" + std::to_string(l));
      LaneOp::create(builder, loc, lanes.back(), deviceName(l % devices),
                     /*copies=*/false);
    }
    for (int d = 0; d < devices; ++d)
      LaneOp::create(builder, loc, transferLane(deviceName(d)), deviceName(d),
                     /*copies=*/true);
    auto sequence = SequenceOp::create(builder, loc, "train_step");
    calls.setInsertionPointToStart(&sequence.getBody().emplaceBlock());
    builder.setInsertionPoint(sequence);
    for (int p = 0, e = 1 + below(3); p < e; ++p)
      readable.push_back(buffer(Role::Parameter, 32 * (1 + below(6))));
    for (int c = 0, e = 5 + below(10); c < e; ++c)
      call();
    synchronize(program);
    if (failed(planMemory(program)))
      return {};
    return module;
  }

private:
  int below(int n) { return static_cast<int>(random() % n); }
  std::string deviceName(int d) { return "gpu" + std::to_string(d); }
  std::string transferLane(StringRef device) {
    return device.str() + ".copies";
  }

  /// On a random device if none is given.
  BufferOp buffer(Role role, int elements, int device = -1,
                  BufferOp parent = {}, int64_t offset = -1) {
    auto type = RankedTensorType::get({elements}, builder.getF32Type());
    if (device < 0)
      device = parent ? deviceOf[ref(parent)] : below(devices);
    auto made = BufferOp::create(
        builder, builder.getUnknownLoc(), "b" + std::to_string(count++),
        deviceName(device), role, type, offset,
        parent ? FlatSymbolRefAttr::get(parent.getSymNameAttr())
               : FlatSymbolRefAttr(), DenseI64ArrayAttr());
    rootName[ref(made)] = parent ? ref(parent) : ref(made);
    deviceOf[ref(made)] = device;
    elementsOf[ref(made)] = elements;
    return made;
  }
  static Attribute ref(BufferOp b) {
    return FlatSymbolRefAttr::get(b.getSymNameAttr());
  }
  void append(StringRef callee, StringRef lane, ArrayRef<Attribute> ins,
              ArrayRef<Attribute> outs) {
    CallOp::create(calls, builder.getUnknownLoc(), callee, lane,
                   builder.getArrayAttr(outs), builder.getArrayAttr(ins),
                   FlatSymbolRefAttr(), DictionaryAttr(), "layer", "forward");
  }
  /// A call on the device of its results; what lies elsewhere is brought there.
  void emit(StringRef callee, ArrayRef<Attribute> ins,
            ArrayRef<Attribute> outs) {
    int device = deviceOf[outs[0]];
    llvm::SmallVector<Attribute> here;
    for (Attribute in : ins) {
      if (deviceOf[in] != device) {
        BufferOp copy = buffer(Role::Activation, elementsOf[in], device);
        append("transfer", transferLane(deviceName(device)), {in}, {ref(copy)});
        in = ref(copy);
      }
      here.push_back(in);
    }
    int lanesHere =
        (static_cast<int>(lanes.size()) - device + devices - 1) / devices;
    append(callee, lanes[device + devices * below(lanesHere)], here, outs);
  }

  void call() {
    llvm::SmallVector<Attribute> ins;
    for (int i = 0, e = 1 + below(3); i < e; ++i)
      ins.push_back(ref(readable[below(readable.size())]));
    int kind = below(10);
    if (kind == 0) { // in place, or a new value in an old buffer
      emit("map", {ins[0]}, {ins[0]});
    } else if (kind == 1) {
      BufferOp old = readable[below(readable.size())];
      if (llvm::none_of(ins, [&](Attribute in) {
            return rootName.lookup(in) == rootName.lookup(ref(old));
          }))
        emit("any", ins, {ref(old)});
    } else if (kind == 2) { // two results
      BufferOp a = buffer(Role::Activation, 32 * (1 + below(6)));
      BufferOp b =
          buffer(Role::Activation, 32 * (1 + below(6)), deviceOf[ref(a)]);
      emit("any", ins, {ref(a), ref(b)});
      readable.push_back(a);
      readable.push_back(b);
    } else if (kind == 3) { // two views make a whole
      BufferOp whole = buffer(Role::Activation, 64 * 3);
      BufferOp low = buffer(Role::Activation, 64, -1, whole, 0);
      BufferOp high = buffer(Role::Activation, 128, -1, whole, 256);
      emit("any", ins, {ref(low)});
      emit("any", {ref(low)}, {ref(high)});
      readable.push_back(whole);
      readable.push_back(high);
    } else {
      BufferOp out = buffer(Role::Activation, 32 * (1 + below(6)));
      emit("any", ins, {ref(out)});
      readable.push_back(out);
    }
    // Values die, so that there is something to reuse.
    if (readable.size() > 5)
      readable.erase(readable.begin() + below(readable.size()));
  }

  MLIRContext *context;
  OpBuilder builder;
  OpBuilder calls{context};
  std::mt19937 random;
  int devices = 1, count = 0;
  std::vector<std::string> lanes;
  std::vector<BufferOp> readable;
  llvm::DenseMap<Attribute, Attribute> rootName;
  llvm::DenseMap<Attribute, int> deviceOf, elementsOf;
};

/// The `n`-th op of a kind in a program.
template <typename OpT>
OpT nth(ProgramOp program, size_t n) {
  OpT found;
  program.walk([&](OpT op) {
    if (n-- == 0)
      found = op;
  });
  return found;
}
template <typename OpT>
size_t countOf(ProgramOp program) {
  size_t n = 0;
  program.walk([&](OpT) { ++n; });
  return n;
}

/// One way to damage one place of a program.
struct Mutation {
  std::string kind;
  std::function<void(ProgramOp)> apply;
  /// Wrong whatever the brute force says, which judges a program by itself.
  bool certainlyWrong = false;
};

std::vector<Mutation> mutationsOf(ProgramOp program) {
  std::vector<Mutation> all;
  for (size_t i = 0; i < countOf<RecordOp>(program); ++i)
    all.push_back(
        {"drop record", [=](ProgramOp p) { nth<RecordOp>(p, i).erase(); }});
  llvm::SmallVector<LaneOp> lanes(program.getBody().getOps<LaneOp>());
  for (size_t i = 0; i < countOf<WaitOp>(program); ++i) {
    all.push_back(
        {"drop wait", [=](ProgramOp p) { nth<WaitOp>(p, i).erase(); }});
    for (size_t l = 0; l < lanes.size(); ++l)
      all.push_back({"move wait", [=](ProgramOp p) {
                       nth<WaitOp>(p, i).setLane(
                           nth<LaneOp>(p, l).getSymName());
                     }});
  }
  for (size_t i = 0; i < countOf<CallOp>(program); ++i)
    for (size_t l = 0; l < lanes.size(); ++l)
      all.push_back({"move call", [=](ProgramOp p) {
                       nth<CallOp>(p, i).setLane(
                           nth<LaneOp>(p, l).getSymName());
                     }});
  // What was brought is read, and nothing else is ever there.
  for (size_t i = 0; i < countOf<CallOp>(program); ++i)
    if (nth<CallOp>(program, i).getCallee() == "transfer")
      all.push_back({"drop transfer",
                     [=](ProgramOp p) { nth<CallOp>(p, i).erase(); }, true});
  auto sequence = *program.getBody().getOps<SequenceOp>().begin();
  for (size_t i = 0; i + 1 < sequence.getBody().front().getOperations().size();
       ++i)
    all.push_back({"swap", [=](ProgramOp p) {
                     auto &ops = nth<SequenceOp>(p, 0).getBody().front();
                     auto op = std::next(ops.begin(), i);
                     op->moveAfter(&*std::next(op));
                   }});
  for (size_t i = 0; i < countOf<BufferOp>(program); ++i)
    for (int64_t shift : {-512, -256, -128, 128, 256, 512, 768})
      all.push_back({"shift", [=](ProgramOp p) {
                       auto buffer = nth<BufferOp>(p, i);
                       int64_t offset = buffer.getOffset();
                       buffer.setOffset(offset + shift);
                     }});
  for (size_t i = 0; i < countOf<DeviceOp>(program); ++i)
    all.push_back({"cut arena", [=](ProgramOp p) {
                     auto device = nth<DeviceOp>(p, i);
                     int64_t arena = device.getArena();
                     device.setArena(std::max<int64_t>(0, arena - 256));
                   }});
  return all;
}

struct Score {
  int mutants = 0, wrong = 0, rejected = 0, missed = 0;
};

TEST(ScheduleVerifier, rejectsEveryMutantThatGoesWrong) {
  MLIRContext context;
  context.loadDialect<ExecDialect>();
  ScopedDiagnosticHandler silence(&context, [](Diagnostic &) {});
  std::map<std::string, Score> scores;
  for (unsigned seed = 0; seed < 60; ++seed) {
    OwningOpRef<ModuleOp> module = Generator(&context, seed).make();
    ASSERT_TRUE(module) << "seed " << seed;
    auto program = *module->getOps<ProgramOp>().begin();
    ASSERT_EQ(test::findMistake(nth<SequenceOp>(program, 0), seed), "")
        << "seed " << seed;
    ASSERT_TRUE(succeeded(verifySchedule(program))) << "seed " << seed;

    std::vector<Mutation> mutations = mutationsOf(program);
    for (auto [number, mutation] : llvm::enumerate(mutations)) {
      OwningOpRef<ModuleOp> copy = module->clone();
      auto mutant = *copy->getOps<ProgramOp>().begin();
      mutation.apply(mutant);
      bool rejected = failed(verifySchedule(mutant));
      std::string mistake =
          mutation.certainlyWrong
              ? "what is read was never there"
              : test::findMistake(nth<SequenceOp>(mutant, 0), seed + number);
      Score &score = scores[mutation.kind];
      ++score.mutants;
      score.wrong += !mistake.empty();
      score.rejected += rejected;
      if (!mistake.empty() && !rejected && ++score.missed < 3)
        ADD_FAILURE() << "seed " << seed << ", " << mutation.kind << " "
                      << number << ": " << mistake;
    }
  }
  for (auto &[kind, score] : scores) {
    printf("%-12s %6d mutants, %6d wrong, %6d rejected, %d missed\n",
           kind.c_str(), score.mutants, score.wrong, score.rejected,
           score.missed);
    EXPECT_GT(score.wrong, 0) << kind << " proves nothing";
    EXPECT_EQ(score.missed, 0);
  }
}

} // namespace
