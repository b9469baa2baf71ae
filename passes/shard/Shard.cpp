//===- Shard.cpp - One op per tile, every value in its place --------------===//
//
// Takes `planned`, gives `sharded`: an op becomes one op per tile of its
// layer's tiling, and runs at the tile's place. A value's place is part of its
// type, and what a tile reads is brought to its place (Pieces.h); so a
// forgotten transfer is a verifier error.
//
// Each device that reads a region of a parameter or argument has a part of it:
// a parameter or an argument of its own.
//
// Does not decide tilings (passes/plan). Does not decide order: updates are
// placed at the end of the step here, and train-schedule moves them forward.
//
//===----------------------------------------------------------------------===//

#include "passes/Passes.h"
#include "passes/shard/Sharder.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/TypeSwitch.h"

namespace lwcc {
#define GEN_PASS_DEF_SHARD
#include "passes/Passes.h.inc"
} // namespace lwcc

using namespace mlir;
using namespace lwcc;
using namespace lwcc::shard;
using namespace lwcc::train;

FlatSymbolRefAttr ModuleSharder::makePart(ParameterOp whole, const Box &region,
                                          PlaceAttr place) {
  OpBuilder builder(whole);
  auto part = cast<ParameterOp>(builder.clone(*whole));
  Shape shape = cast<RankedTensorType>(whole.getType()).getShape().vec();
  part.setType(RankedTensorType::get(
      shapeOf(region),
      cast<RankedTensorType>(whole.getType()).getElementType()));
  for (NamedAttribute attr :
       partAttributes(builder, whole.getSymName(), shape, region))
    part->setAttr(attr.getName(), attr.getValue());
  size_t number = parameters[whole.getSymName()].size();
  part.setSymName((whole.getSymName() + ".part" + Twine(number)).str());
  symbols.insert(part); // makes the name unique
  return FlatSymbolRefAttr::get(part.getSymNameAttr());
}

/// Stores by itself what no tile reads of a parameter: files hold the whole.
void ModuleSharder::storeRest(ParameterOp whole) {
  std::vector<Part> &parts = parameters[whole.getSymName()];
  const PlaceAttr place = parts.front().place;
  std::vector<Box> rest = {
      wholeOf(cast<RankedTensorType>(whole.getType()).getShape())};
  for (const Part &part : parts)
    rest = subtract(rest, part.region);
  for (const Box &region : rest)
    parts.push_back({region, place, makePart(whole, region, place)});
}

/// Sets the attributes of the new arguments and the function's type.
static void finishSignature(func::FuncOp func, Block &old, Block &body,
                            ArrayRef<std::pair<unsigned, Part>> arguments) {
  Builder builder(func.getContext());
  SmallVector<DictionaryAttr> attributes;
  for (auto &[number, part] : arguments) {
    NamedAttrList list(func.getArgAttrDict(number));
    Shape shape = shapeOf(old.getArgument(number));
    if (arguments.size() > old.getNumArguments())
      for (NamedAttribute attr : partAttributes(
               builder, nameOf(old.getArgument(number)), shape, part.region))
        list.set(attr.getName(), attr.getValue());
    attributes.push_back(list.getDictionary(func.getContext()));
  }
  old.erase();
  func.setFunctionType(FunctionType::get(
      func.getContext(), body.getArgumentTypes(),
      llvm::to_vector(body.getTerminator()->getOperandTypes())));
  func.setAllArgAttrs(attributes);
}

LogicalResult ModuleSharder::run() {
  SmallVector<ParameterOp> wholes(module.getOps<ParameterOp>());
  SmallVector<std::unique_ptr<FunctionSharder>> sharders;
  SmallVector<func::FuncOp> funcs;
  for (StringRef name : {trainStepFunc, evaluateFunc})
    if (auto func = module.lookupSymbol<func::FuncOp>(name)) {
      // @train_step comes first and says which parts of parameters exist;
      // @evaluate reads these.
      sharders.push_back(std::make_unique<FunctionSharder>(
          *this, func, /*mayAddCopies=*/funcs.empty()));
      funcs.push_back(func);
      if (failed(sharders.back()->run()))
        return failure();
    }
  for (auto &sharder : sharders)
    sharder->addArguments();
  for (func::FuncOp func : funcs) {
    Block &old = func.getBody().front(), &body = func.getBody().back();
    old.dropAllReferences();
    finishSignature(func, old, body, arguments);
  }
  // A parameter with one part that is the whole keeps its name, and its
  // attributes of a part are dropped.
  llvm::DenseMap<Attribute, FlatSymbolRefAttr> renamed;
  for (ParameterOp whole : wholes) {
    std::vector<Part> &parts = parameters[whole.getSymName()];
    if (parts.empty())
      continue; // no op reads it: it is only saved
    if (whole.getRole() != Role::constant)
      storeRest(whole);
    bool one = parts.size() == 1 &&
               parts[0].region ==
                   wholeOf(cast<RankedTensorType>(whole.getType()).getShape());
    StringAttr name = whole.getSymNameAttr();
    symbols.erase(whole);
    if (!one)
      continue;
    auto part = symbols.lookup<ParameterOp>(parts[0].parameter.getValue());
    for (StringRef attr : {tensorAttr, dimsAttr, beginAttr})
      part->removeAttr(attr);
    renamed[parts[0].parameter] = FlatSymbolRefAttr::get(name);
    symbols.remove(part);
    part.setSymNameAttr(name);
    symbols.insert(part);
  }
  for (func::FuncOp func : funcs)
    for (Operation &op : func.getBody().front())
      llvm::TypeSwitch<Operation *>(&op).Case<ReadOp, WriteOp>([&](auto op) {
        if (FlatSymbolRefAttr name = renamed.lookup(op.getParameterAttr()))
          op.setParameterAttr(name);
      });
  return success();
}

namespace {
struct Shard : lwcc::impl::ShardBase<Shard> {
  using ShardBase::ShardBase;

  void runOnOperation() override {
    if (failed(ModuleSharder(getOperation()).run()))
      signalPassFailure();
  }
};
} // namespace
