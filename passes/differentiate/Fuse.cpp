//===- Fuse.cpp - Decide what is one kernel -------------------------------===//
//
// Operator fusion; takes and gives `differentiated`. In this order:
// 1. A bias or ReLU behind a product or convolution becomes part of that call.
// 2. Constants of one value become literals of the maps that read them.
// 3. A map is fused into its only consumer.
// 4. A cheap map with several consumers is recomputed in each of them, if its
//    inputs are kept anyway: then its result need not be stored. An example is
//    a normalization whose ReLU6 reads it again in the backward pass.
// 5. Constants that are left become fills.
//
// A fused map's inputs must live until the consumer runs. Fusion is accepted if
// they take no more memory than the map's result did, or if the two ops are
// close together. Maps of different phases are not fused, but a map may be
// recomputed in another phase. If a parameter is now read later than before,
// its update moves behind that read.
//
//===----------------------------------------------------------------------===//

#include "ir/train/Train.h"
#include "passes/Passes.h"

#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SetVector.h"

namespace lwcc {
#define GEN_PASS_DEF_FUSE
#include "passes/Passes.h.inc"
} // namespace lwcc

using namespace mlir;
using namespace lwcc;
using namespace lwcc::train;

namespace {

/// Limits of a fused map. More inputs are more pointers that a kernel advances;
/// more operations are more text to read in the printed program.
constexpr unsigned maxInputs = 10;
constexpr unsigned maxOperations = 40;
/// Most operations of a map that is recomputed in each consumer.
constexpr unsigned maxRecomputed = 8;

Expression expressionOf(MapOp map) {
  return llvm::cantFail(Expression::parse(map.getExpr()));
}

void copyLabels(Operation *to, Operation *from) {
  to->setDiscardableAttrs(llvm::to_vector(from->getDiscardableAttrs()));
}

//===----------------------------------------------------------------------===//
// Bias and ReLU
//===----------------------------------------------------------------------===//

/// add(matmul(a, b), bias) with a bias [n] is matmul(a, b, bias).
void fuseBias(MapOp add) {
  if (add.getFn() != "add")
    return;
  for (unsigned side : {0, 1}) {
    auto product = add.getInputs()[side].getDefiningOp<MatMulOp>();
    Value bias = add.getInputs()[1 - side];
    if (!product || !product->hasOneUse() || product.getBias() ||
        product.getRelu() || phaseOf(product) != phaseOf(add) ||
        product.getC().getType() != add.getY().getType() ||
        typeOf(bias).getRank() != 1 ||
        typeOf(bias).getDimSize(0) != typeOf(add.getY()).getShape().back())
      continue;
    OpBuilder builder(add);
    auto fused =
        MatMulOp::create(builder, product.getLoc(), add.getY().getType(),
                         product.getA(), product.getB(), bias, /*relu=*/false,
                         product.getTransposeA(), product.getTransposeB());
    copyLabels(fused, product);
    setNames(fused, {nameOf(add.getY())});
    add.getY().replaceAllUsesWith(fused.getC());
    add.erase();
    product.erase();
    return;
  }
}

/// relu(conv(...)) is conv(...) with a ReLU at its end.
void fuseRelu(FusedReluOpInterface product) {
  Value result = product->getResult(0);
  if (!result.hasOneUse() || product.getRelu())
    return;
  auto relu = dyn_cast<MapOp>(*result.user_begin());
  if (!relu || relu.getFn() != "relu" || phaseOf(relu) != phaseOf(product))
    return;
  product.setRelu(true);
  if (StringRef name = nameOf(relu.getY()); !name.empty())
    setNames(product, {name});
  relu.getY().replaceAllUsesWith(result);
  relu.erase();
}

//===----------------------------------------------------------------------===//
// Maps
//===----------------------------------------------------------------------===//

/// Gives `map` another expression and inputs. It then has no name in the table
/// of functions.
void rewrite(MapOp map, const Expression &expr, ValueRange inputs) {
  map.setExpr(expr.print());
  map.getInputsMutable().assign(inputs);
  map.removeFnAttr();
  map.removeParamsAttr();
}

/// Computes `producer` inside `consumer`.
void fuseInto(MapOp producer, MapOp consumer) {
  SmallVector<Value> inputs;
  auto inputFor = [&](Value value) {
    auto *known = llvm::find(inputs, value);
    unsigned index = known - inputs.begin();
    if (known == inputs.end())
      inputs.push_back(value);
    return Expression::inputOf(index);
  };
  SmallVector<Expression> replacement;
  for (Value input : consumer.getInputs())
    replacement.push_back(
        input == producer.getY()
            ? expressionOf(producer).substitute(
                  llvm::map_to_vector(producer.getInputs(), inputFor))
            : inputFor(input));
  rewrite(consumer, expressionOf(consumer).substitute(replacement), inputs);
  if (producer.getScalars() && !consumer.getScalars())
    consumer.getScalarsMutable().assign(producer.getScalars());
}

/// Whether the fused map stays within the limits above.
bool fits(MapOp producer, MapOp consumer) {
  // Storing in another type than the one of the computation rounds.
  if (producer.getY().getType() != consumer.getY().getType() ||
      !typeOf(producer.getY()).getElementType().isF32())
    return false;
  Expression inner = expressionOf(producer), outer = expressionOf(consumer);
  SmallVector<Expression> same;
  llvm::SetVector<Value> inputs;
  for (Value input : consumer.getInputs()) {
    if (input == producer.getY()) {
      same.push_back(inner);
      inputs.insert_range(producer.getInputs());
    } else {
      same.push_back(Expression::inputOf(0));
      inputs.insert(input);
    }
  }
  return inputs.size() <= maxInputs &&
         outer.substitute(same).operations() <= maxOperations;
}

/// Whether an op other than `except` reads `value` at `op` or later.
bool livesUntil(Value value, Operation *op, Operation *except) {
  Operation *producer = value.getDefiningOp();
  if (!producer || isa<ReadOp>(producer))
    return true; // arguments and parameters
  return llvm::any_of(value.getUsers(), [&](Operation *user) {
    return user != except && (user == op || op->isBeforeInBlock(user));
  });
}

/// The inputs of `map` that are as large as its result. The others broadcast
/// and are too small to matter.
SmallVector<Value> largeInputs(MapOp map) {
  SmallVector<Value> large;
  for (Value input : map.getInputs())
    if (typeOf(input).getNumElements() == typeOf(map.getY()).getNumElements() &&
        !llvm::is_contained(large, input))
      large.push_back(input);
  return large;
}

/// Whether an op is a call that takes memory of its own. Maps (which may fuse
/// as well), views and updates in place do not.
bool takesMemory(Operation *op) {
  return isa<KernelOpInterface>(op) && !isa<MapOp>(op) &&
         movementOf(op).kind != Movement::reshape &&
         phaseOf(op) != Phase::update;
}

/// Whether no op between the two takes memory.
bool areClose(Operation *from, Operation *to) {
  for (Operation *op = from->getNextNode(); op != to; op = op->getNextNode())
    if (takesMemory(op))
      return false;
  return true;
}

/// The only consumer of `producer`, if fusing the two pays.
MapOp onlyConsumer(MapOp producer) {
  Operation *first = producer->use_empty() ? nullptr : *producer->user_begin();
  auto consumer = dyn_cast_or_null<MapOp>(first);
  if (!consumer ||
      llvm::any_of(producer->getUsers(),
                   [&](Operation *user) { return user != first; }) ||
      phaseOf(producer) != phaseOf(consumer) || !fits(producer, consumer))
    return nullptr;
  unsigned extended = llvm::count_if(largeInputs(producer), [&](Value input) {
    return !livesUntil(input, consumer, producer);
  });
  return extended <= 1 || areClose(producer, consumer) ? consumer : nullptr;
}

/// Cheap, free of transcendental functions and of random numbers.
bool isCheap(MapOp map) {
  Expression expr = expressionOf(map);
  auto plain = [](auto &self, const Expression &e) -> bool {
    return (e.kind != Expression::Kind::call || e.op == "min" ||
            e.op == "max" || e.op == "abs") &&
           llvm::all_of(e.args, [&](auto &arg) { return self(self, arg); });
  };
  return expr.operations() <= maxRecomputed && plain(plain, expr);
}

/// All consumers of `producer`, if each of them should recompute it: they are
/// maps, and what it is computed from is kept until the last of them anyway.
SmallVector<MapOp> recomputingConsumers(MapOp producer) {
  SmallVector<MapOp> consumers;
  for (Operation *user : producer->getUsers()) {
    auto consumer = dyn_cast<MapOp>(user);
    if (!consumer || !fits(producer, consumer))
      return {};
    if (!llvm::is_contained(consumers, consumer))
      consumers.push_back(consumer);
  }
  if (consumers.size() < 2 || !isCheap(producer))
    return {};
  MapOp last = *llvm::max_element(
      consumers, [](MapOp a, MapOp b) { return a->isBeforeInBlock(b); });
  for (Value input : largeInputs(producer))
    if (!livesUntil(input, last, producer))
      return {};
  return consumers;
}

/// One walk over the maps, first to last; true if anything was fused.
bool fuseMaps(Block &body) {
  bool changed = false;
  for (MapOp map : llvm::make_early_inc_range(body.getOps<MapOp>())) {
    if (MapOp consumer = onlyConsumer(map))
      fuseInto(map, consumer);
    else
      for (MapOp consumer : recomputingConsumers(map))
        fuseInto(map, consumer);
    if (!map->use_empty())
      continue;
    map.erase();
    changed = true;
  }
  return changed;
}

//===----------------------------------------------------------------------===//
// Constants
//===----------------------------------------------------------------------===//

/// Splat constants among the inputs become literals, unless no input is left.
void inlineConstants(MapOp map) {
  auto splatOf = [](Value input) -> std::optional<double> {
    auto constant = input.getDefiningOp<ConstantOp>();
    if (!constant)
      return std::nullopt;
    return cast<DenseElementsAttr>(constant.getValue())
        .getSplatValue<APFloat>()
        .convertToDouble();
  };
  SmallVector<Value> inputs;
  SmallVector<Expression> replacement;
  for (Value input : map.getInputs()) {
    if (std::optional<double> value = splatOf(input)) {
      replacement.push_back(Expression::literalOf(*value));
    } else {
      replacement.push_back(Expression::inputOf(inputs.size()));
      inputs.push_back(input);
    }
  }
  if (inputs.empty() || inputs.size() == map.getInputs().size())
    return;
  rewrite(map, expressionOf(map).substitute(replacement), inputs);
}

void materialize(ConstantOp constant) {
  OpBuilder builder(constant);
  auto value = cast<DenseElementsAttr>(constant.getValue());
  auto fill =
      FillOp::create(builder, constant.getLoc(), constant.getResult().getType(),
                     value.getSplatValue<APFloat>());
  copyLabels(fill, constant);
  constant.getResult().replaceAllUsesWith(fill.getY());
  constant.erase();
}

//===----------------------------------------------------------------------===//
// Updates
//===----------------------------------------------------------------------===//

/// The last op but `except` that reads `value` or a view of it.
Operation *lastReader(Value value, Operation *except) {
  Operation *last = value.getDefiningOp();
  auto consider = [&](Operation *reader) {
    if (reader != except && last->isBeforeInBlock(reader))
      last = reader;
  };
  for (Operation *user : value.getUsers()) {
    consider(user);
    if (isa<ReshapeOp, SplitOp>(user))
      for (Value view : user->getResults())
        consider(lastReader(view, except));
  }
  return last;
}

/// Puts the op that computes a parameter's new value, and all that follows from
/// it (its writes, the average of the values), behind all readers of the old
/// one.
void delayUpdate(ReadOp read) {
  for (Operation *user : read->getUsers()) {
    bool updates = llvm::any_of(user->getUsers(), [&](Operation *follower) {
      auto write = dyn_cast<WriteOp>(follower);
      return write && write.getParameter() == read.getParameter();
    });
    if (!updates)
      continue;
    Operation *last = lastReader(read.getValue(), user);
    if (last->isBeforeInBlock(user))
      return;
    llvm::SetVector<Operation *> followers;
    followers.insert(user);
    for (size_t i = 0; i < followers.size(); ++i)
      followers.insert_range(followers[i]->getUsers());
    auto inOrder = followers.takeVector();
    llvm::sort(inOrder, [](Operation *a, Operation *b) {
      return a->isBeforeInBlock(b);
    });
    for (Operation *follower : llvm::reverse(inOrder))
      follower->moveAfter(last);
    return;
  }
}

void eraseDeadCode(Block &body) {
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(body)))
    if (isOpTriviallyDead(&op))
      op.erase();
}

struct Fuse : lwcc::impl::FuseBase<Fuse> {
  void runOnOperation() override {
    for (auto func : getOperation().getOps<func::FuncOp>()) {
      Block &body = func.getBody().front();
      auto forEach = [&]<typename Op>(void (*visit)(Op)) {
        for (Op op : llvm::make_early_inc_range(body.getOps<Op>()))
          visit(op);
      };
      forEach(fuseBias);
      forEach(fuseRelu);
      forEach(inlineConstants);
      while (fuseMaps(body)) {
      }
      eraseDeadCode(body);
      forEach(materialize);
      forEach(delayUpdate);
    }
  }
};

} // namespace
