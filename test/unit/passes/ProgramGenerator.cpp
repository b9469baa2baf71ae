//===- ProgramGenerator.cpp - Random exec programs ------------------------===//

#include "ProgramGenerator.h"
#include "Generator.h"

#include "ir/train/Train.h"
#include "passes/memory/PlanMemory.h"
#include "passes/schedule/Synchronize.h"
#include "passes/verify/Meaning.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace lwcc;
using namespace lwcc::exec;
using namespace lwcc::test;

BufferOp Generator::buffer(Role role, ArrayRef<int64_t> dims, int device,
                           Type element, BufferOp parent, int64_t offset) {
  auto type =
      RankedTensorType::get(dims, element ? element : builder.getF32Type());
  auto parentName =
      parent ? FlatSymbolRefAttr::get(parent.getSymNameAttr()) : nullptr;
  return BufferOp::create(builder, builder.getUnknownLoc(),
                          "b" + std::to_string(count++), deviceName(device),
                          role, type, offset, parentName, DenseI64ArrayAttr(),
                          StringAttr(), train::TileAttr());
}

BufferOp Generator::state(Role role, StringRef tensor, ArrayRef<int64_t> dims,
                          ArrayRef<int64_t> begin, ArrayRef<int64_t> whole,
                          int device, Type element) {
  BufferOp made = buffer(role, dims, device, element);
  made.setTensor(tensor);
  made->setAttr("exec.begin", list(begin));
  made->setAttr("exec.dims", list(whole));
  if (isState(role))
    made->setAttr("exec.init",
                  train::InitAttr::get(builder.getContext(), "constant", 0,
                                       APFloat(double(tensor.back())),
                                       APFloat(0.0)));
  return made;
}

void Generator::append(StringRef callee, StringRef lane, ArrayRef<BufferOp> ins,
                       ArrayRef<BufferOp> outs, DictionaryAttr params,
                       StringRef kernel) {
  auto names = [&](ArrayRef<BufferOp> list) {
    llvm::SmallVector<Attribute> result;
    for (BufferOp b : list)
      result.push_back(b ? ref(b) : Attribute(builder.getUnitAttr()));
    return builder.getArrayAttr(result);
  };
  CallOp::create(
      calls, builder.getUnknownLoc(), callee, lane, names(outs), names(ins),
      kernel.empty() ? FlatSymbolRefAttr()
                     : FlatSymbolRefAttr::get(builder.getContext(), kernel),
      params,
      train::WorkAttr::get(builder.getContext(), "layer", Phase::forward,
                           std::nullopt));
}

void Generator::emit(StringRef callee, ArrayRef<BufferOp> ins,
                     ArrayRef<BufferOp> outs, DictionaryAttr params,
                     StringRef kernel) {
  int device = deviceOf(*llvm::find_if(outs, [](BufferOp b) { return b; }));
  const train::Kernel *called = train::findKernel(builder.getContext(), callee);
  llvm::SmallVector<BufferOp> here;
  for (BufferOp in : ins) {
    unread.erase(ref(in));
    if (in && deviceOf(in) != device &&
        !(called->mayLieElsewhere(here.size()) &&
          (in.getWindow() || below(2)))) {
      BufferOp copy =
          buffer(Role::activation, shape(in), device,
                 cast<RankedTensorType>(in.getType()).getElementType());
      append("transfer", anyCopyLane(device), {in}, {copy});
      here.push_back(copy);
    } else {
      here.push_back(in);
    }
  }
  append(callee, anyLane(device), here, outs, params, kernel);
  for (BufferOp out : outs) {
    if (!out || out.isPersistent() ||
        !cast<RankedTensorType>(out.getType()).getElementType().isF32())
      continue;
    unread.insert(ref(out));
    if (!llvm::is_contained(values, out))
      values.push_back(out);
  }
}

void Generator::compute(BufferOp result) {
  if (onlyMovements)
    emit("fill", {}, {result},
         with({{"value", builder.getF32FloatAttr(below(3))}}));
  else
    emit("lrn", {anyValue()}, {result},
         with({{"alpha", builder.getF32FloatAttr(1 + below(9))}}));
}

BufferOp Generator::valueLike(ArrayRef<int64_t> dims) {
  for (int tries = 0; tries < 4; ++tries)
    if (BufferOp value = anyValue(); shape(value) == dims)
      return value;
  BufferOp made = fresh(dims);
  compute(made);
  return made;
}

//===----------------------------------------------------------------------===//
// Programs
//===----------------------------------------------------------------------===//

void Generator::declareMachine() {
  Location loc = builder.getUnknownLoc();
  auto kind = [&](LaneKind kind) {
    return LaneKindAttr::get(builder.getContext(), kind);
  };
  devices = 1 + below(3);
  for (int d = 0; d < devices; ++d)
    DeviceOp::create(builder, loc, deviceName(d), 0, d, 0);
  int laneCount = devices + below(3);
  for (int l = 0; l < laneCount; ++l) {
    lanes.push_back("lane" + std::to_string(l));
    LaneOp::create(builder, loc, kind(LaneKind::compute), lanes.back(),
                   deviceName(l % devices));
  }
  for (int d = 0; d < devices; ++d)
    for (LaneKind copies : copyLanes)
      LaneOp::create(builder, loc, kind(copies),
                     deviceName(d) + "." + laneKindName(copies).str(),
                     deviceName(d));
}

void Generator::declareKernels() {
  auto declare = [&](StringRef name, int inputs, StringRef expression) {
    exec::KernelOp::create(builder, builder.getUnknownLoc(), name, inputs,
                           expression);
  };
  declare("relu", 1, "max(x0, 0.0f)");
  declare("add", 2, "x0 + x1");
  declare("scale", 2, "x0 * x1");
  declare("dropout", 1, "x0 * dropout_mask(0.5f, 3u)");
  declare("noise", 0, "random_normal(4u)");
}

void Generator::declareState() {
  Type i32 = builder.getI32Type();
  Type u8 = builder.getIntegerType(8, /*isSigned=*/false);
  for (int d = 0; d < devices; ++d) {
    scalars.push_back(state(Role::scalars, "scalars", {64}, {0}, {64}, d, u8));
    labels.push_back(state(Role::labels, "labels", {4}, {0}, {4}, d, i32));
    persistent.push_back(state(Role::input, "input", {2, 1, 2, 2},
                               {2 * d, 0, 0, 0}, {2 * devices, 1, 2, 2}, d));
  }
  loss = state(Role::loss, "loss", {}, {}, {}, 0);
  metric = state(Role::metric, "counts", {2}, {0}, {2}, 0);
  for (int p = 0, e = 1 + below(3); p < e; ++p) {
    Trained one;
    Dims part = dims();
    one.copies = below(2);
    int parts = 1 + below(devices);
    Dims whole = part, begin(part.size(), 0);
    if (!one.copies)
      whole[0] *= parts;
    std::string name = "w" + std::to_string(p);
    for (int d = 0; d < parts; ++d) {
      begin[0] = one.copies ? 0 : d * part[0];
      one.weights.push_back(
          state(Role::trainable, name, part, begin, whole, d));
      one.momenta.push_back(
          state(Role::optimizer, name + ".momentum", part, begin, whole, d));
      persistent.push_back(one.weights.back());
    }
    trained.push_back(one);
  }
  statistic = state(Role::statistic, "mean", {3}, {0}, {3}, below(devices));
  persistent.push_back(statistic);
}

void Generator::randomMovement() {
  switch (below(8)) {
  case 0:
    return twoViews();
  case 1:
    return transferOfSeveral();
  case 2:
  case 3:
    return parts();
  default:
    return movement();
  }
}

void Generator::randomCall(bool training) {
  switch (below(16)) {
  case 0:
  case 1:
  case 2:
    anyKernel();
    break;
  case 3:
    elementwise();
    break;
  case 4:
    if (training)
      randomNumbers();
    break;
  case 5:
    inPlace();
    break;
  case 6:
  case 7:
    movement();
    break;
  case 8:
    twoViews();
    break;
  case 9:
    oneHot();
    break;
  case 10:
    pooling();
    break;
  case 11:
  case 12:
  case 13:
    parts();
    break;
  case 14:
    transferOfSeveral();
    break;
  default:
    if (training)
      update();
  }
}

void Generator::fillSequence(StringRef name, int length, bool training) {
  auto sequence = SequenceOp::create(builder, builder.getUnknownLoc(), name);
  OpBuilder::InsertionGuard guard(builder);
  calls.setInsertionPointToStart(&sequence.getBody().emplaceBlock());
  builder.setInsertionPoint(sequence);
  values = persistent;
  unread.clear();
  for (int c = 0; c < length; ++c) {
    if (onlyMovements)
      randomMovement();
    else
      randomCall(training);
    // Values die, so that there is something to reuse.
    while (values.size() > 9) {
      BufferOp dead = values[below(values.size())];
      if (unread.contains(ref(dead)) && !onlyMovements)
        emit("lrn_grad", {dead, values.front()}, {fresh({2, 2})});
      else if (unread.contains(ref(dead)))
        save(dead);
      values.erase(llvm::find(values, dead));
    }
  }
  if (onlyMovements)
    return saveAll();
  if (training) {
    update();
    emit("map", {statistic, valueLike({3})}, {statistic}, {}, "add");
  }
  foldIntoLoss();
}

OwningOpRef<ModuleOp> Generator::make() {
  Location loc = builder.getUnknownLoc();
  OwningOpRef<ModuleOp> module = ModuleOp::create(loc);
  builder.setInsertionPointToStart(module->getBody());
  auto program = ProgramOp::create(builder, loc, "p");
  program.getBody().emplaceBlock();
  builder.setInsertionPointToStart(&program.getBody().front());
  declareMachine();
  declareKernels();
  declareState();
  fillSequence("train_step", 5 + below(8), /*training=*/true);
  fillSequence("evaluate", 2 + below(4), /*training=*/false);
  synchronize(program);
  if (failed(planMemory(program)))
    return {};
  for (auto sequence : program.getBody().getOps<SequenceOp>())
    sequence.setMeaning(meaningOf(sequence));
  return module;
}

OwningOpRef<ModuleOp> test::generateProgram(MLIRContext *context, unsigned seed,
                                            bool onlyMovements) {
  return Generator(context, seed, onlyMovements).make();
}
