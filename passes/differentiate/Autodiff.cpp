//===- Autodiff.cpp - Add the backward pass and the updates ---------------===//
//
// Reverse-mode automatic differentiation of @train_step. Decides three things:
// - which gradients are computed: only those that lead to a trainable
//   parameter;
// - when the gradients of several uses are added: as soon as there are two;
// - when a parameter is updated: as soon as its gradient is complete, so that
//   no gradient lives longer than it must; or, where gradients are clipped,
//   behind all of them. Evaluation may read averages of parameters instead.
// How an op is differentiated, the op says: DifferentiableOpInterface.
//
//===----------------------------------------------------------------------===//

#include "passes/Passes.h"
#include "passes/differentiate/Optimizers.h"

#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/MapVector.h"

namespace lwcc {
#define GEN_PASS_DEF_AUTODIFF
#include "passes/Passes.h.inc"
} // namespace lwcc

using namespace mlir;
using namespace lwcc;
using namespace lwcc::train;

namespace {

/// Remembers the ops that one buildGradients call creates.
struct Recorder : OpBuilder::Listener {
  SmallVector<Operation *> created;
  void notifyOperationInserted(Operation *op, OpBuilder::InsertPoint) override {
    created.push_back(op);
  }
};

std::string gradientName(Value value) {
  StringRef name = nameOf(value);
  return name.empty() ? "" : ("d_" + name).str();
}

/// Whether the op has a gradient. A map has the interface, but only one whose
/// row in the table of functions has derivatives has a gradient.
bool isDifferentiable(Operation *op) {
  if (auto map = dyn_cast<MapOp>(op))
    return map.hasGradient();
  return isa<DifferentiableOpInterface>(op);
}

class Differentiator {
public:
  Differentiator(func::FuncOp func, SymbolTable &symbols,
                 const Optimizer &optimizer, double clipNorm,
                 double averageDecay)
      : func(func), symbols(symbols), optimizer(optimizer), clipNorm(clipNorm),
        averageDecay(averageDecay), builder(func.getContext(), &recorder) {}

  LogicalResult run() {
    Block &body = func.getBody().front();
    Operation *ret = body.getTerminator();
    loss = ret->getOperand(0);
    for (BlockArgument argument : func.getArguments())
      if (roleOf(argument) == Role::scalars)
        scalars = argument;
    if (!scalars)
      return func.emitError("has no argument that is #train.role<scalars>");
    builder.setInsertionPoint(ret);
    SmallVector<Operation *> forward;
    for (Operation &op : body.without_terminator())
      forward.push_back(&op);
    for (Operation *op : forward)
      findNeeded(op);
    if (!needed.contains(loss))
      return func.emitError("no trainable parameter influences the loss");

    seedLoss();
    for (Operation *op : llvm::reverse(forward)) {
      if (failed(differentiate(op)))
        return failure();
      for (Value operand : op->getOperands())
        if (auto read = operand.getDefiningOp<ReadOp>())
          if (firstUser.lookup(operand) == op)
            finish(read, op);
    }
    clipAndUpdate();
    freezeUnused();
    return success();
  }

private:
  func::FuncOp func;
  SymbolTable &symbols;
  const Optimizer &optimizer;
  const double clipNorm;     ///< 0: any
  const double averageDecay; ///< 0: there are no averages
  Recorder recorder;
  OpBuilder builder;
  Value loss;
  Value scalars;                    ///< of the step, for updates
  DenseSet<Value> needed;           ///< gradients that lead to a parameter
  DenseMap<Value, Value> gradients; ///< the sums so far
  /// For each trainable parameter, the op that is differentiated last.
  llvm::MapVector<Value, Operation *> firstUser;
  DenseSet<Value> updated;
  /// What is updated behind all gradients, and the layer that uses it first.
  SmallVector<std::pair<ReadOp, Operation *>> waiting;

  void findNeeded(Operation *op) {
    if (auto read = dyn_cast<ReadOp>(op)) {
      auto parameter = symbols.lookup<ParameterOp>(read.getParameter());
      if (parameter && parameter.getRole() == Role::trainable) {
        needed.insert(read.getValue());
        firstUser[read.getValue()] = nullptr;
      }
      return;
    }
    bool leads = false;
    for (Value operand : op->getOperands()) {
      leads |= needed.contains(operand);
      auto parameter = firstUser.find(operand);
      if (parameter != firstUser.end() && !parameter->second)
        parameter->second = op;
    }
    for (Value result : op->getResults())
      if (leads && getElementTypeOrSelf(result.getType()).isF32())
        needed.insert(result);
  }

  /// Gives the ops that were created since the last call their layer, phase and
  /// names.
  void label(Operation *forward, ArrayRef<Value> operandGrads) {
    DenseMap<Value, std::string> names;
    for (auto [operand, grad] : llvm::zip(forward->getOperands(), operandGrads))
      if (grad)
        names.try_emplace(grad, gradientName(operand));
    std::string rest =
        forward->getNumResults() ? gradientName(forward->getResult(0)) : "";
    for (Operation *op : recorder.created) {
      inheritWork(op, forward, Phase::backward);
      SmallVector<std::string> own;
      for (Value result : op->getResults()) {
        auto name = names.find(result);
        own.push_back(name != names.end() ? name->second
                      : rest.empty()
                          ? ""
                          : (rest + "." + op->getName().stripDialect()).str());
      }
      if (llvm::any_of(own, [](auto &name) { return !name.empty(); }))
        setNames(op, llvm::to_vector_of<StringRef>(own));
    }
    recorder.created.clear();
  }

  void seedLoss() {
    auto type = cast<RankedTensorType>(loss.getType());
    auto one = ConstantOp::create(builder, loss.getLoc(),
                                  DenseElementsAttr::get(type, 1.0f));
    recorder.created.clear();
    inheritWork(one, loss.getDefiningOp(), Phase::backward);
    setNames(one, {gradientName(loss)});
    gradients[loss] = one;
  }

  LogicalResult differentiate(Operation *op) {
    SmallVector<Value> resultGrads;
    for (Value result : op->getResults())
      resultGrads.push_back(gradients.lookup(result));
    auto wanted = llvm::map_to_vector(
        op->getOperands(), [&](Value v) { return needed.contains(v); });
    if (llvm::none_of(resultGrads, [](Value v) { return v; }) ||
        llvm::none_of(wanted, [](bool b) { return b; }))
      return success();
    if (!isDifferentiable(op))
      return op->emitOpError("has no gradient, but a trainable parameter "
                             "influences the loss through it");
    if (!resultGrads[0] && !isa<SplitOp>(op))
      return op->emitOpError("can be differentiated by its first result only");

    SmallVector<Value> grads =
        cast<DifferentiableOpInterface>(op).buildGradients(builder, resultGrads,
                                                           wanted);
    label(op, grads);
    for (auto [operand, grad] : llvm::zip_equal(op->getOperands(), grads))
      if (grad)
        accumulate(operand, grad, op);
    return success();
  }

  void accumulate(Value value, Value gradient, Operation *forward) {
    Value &sum = gradients[value];
    if (!sum) {
      sum = gradient;
      return;
    }
    sum = buildMap(builder, forward->getLoc(), "add", {sum, gradient});
    inheritWork(sum.getDefiningOp(), forward, Phase::backward);
    setNames(sum.getDefiningOp(), {gradientName(value)});
    recorder.created.clear();
  }

  /// The optimizer's state of a parameter, as a parameter of its own.
  ParameterOp createState(ParameterOp parameter, const OptimizerState &state) {
    MLIRContext *context = func.getContext();
    OpBuilder atModule(context);
    auto init = InitAttr::get(context, "constant", 0, APFloat(state.init),
                              APFloat(0.0));
    auto op = ParameterOp::create(
        atModule, parameter.getLoc(),
        (parameter.getSymName() + "." + state.suffix).str(),
        parameter.getType(), Role::optimizer, init, InitAttr());
    symbols.insert(op, std::next(parameter->getIterator()));
    return op;
  }

  /// The gradient of a parameter is complete, if it has any.
  void finish(ReadOp read, Operation *layer) {
    Value gradient = gradients.lookup(read.getValue());
    if (!gradient || !updated.insert(read.getValue()).second)
      return;
    if (clipNorm > 0)
      waiting.push_back({read, layer});
    else
      update(read, gradient, layer);
  }

  void clipAndUpdate() {
    if (waiting.empty())
      return;
    SmallVector<Value> complete;
    SmallVector<Type> types(2, loss.getType());
    SmallVector<std::string> names = {"gradient.squares", "gradient.factor"};
    for (auto [read, layer] : waiting) {
      complete.push_back(gradients.lookup(read.getValue()));
      types.push_back(complete.back().getType());
      names.push_back(gradientName(read.getValue()) + ".clipped");
    }
    auto clip = ClipGradientsOp::create(builder, loss.getLoc(), types, complete,
                                        APFloat(static_cast<float>(clipNorm)));
    recorder.created.clear();
    inheritWork(clip, loss.getDefiningOp(), Phase::update);
    setNames(clip, llvm::to_vector_of<StringRef>(names));
    for (auto [each, gradient] : llvm::zip_equal(waiting, clip.getClipped()))
      update(each.first, gradient, each.second);
  }

  void update(ReadOp read, Value gradient, Operation *layer) {
    auto parameter = symbols.lookup<ParameterOp>(read.getParameter());
    Location loc = parameter.getLoc();
    SmallVector<ParameterOp> written{parameter};
    SmallVector<Value> states;
    for (const OptimizerState &state : optimizer.states) {
      written.push_back(createState(parameter, state));
      states.push_back(ReadOp::create(builder, loc, parameter.getType(),
                                      written.back().getSymName()));
    }
    auto takeFactor = [&](StringRef name) {
      auto factor = parameter->getAttrOfType<FloatAttr>(name);
      parameter->removeAttr(name);
      return factor ? factor.getValue().convertToFloat() : 1.0f;
    };
    const UpdateScales scales = {takeFactor(decayScaleAttr),
                                 takeFactor(lrScaleAttr)};
    Operation *step = optimizer.build(
        builder, loc,
        {read.getValue(), gradient, states, scalars, loss, scales});
    for (auto [target, value] : llvm::zip_equal(written, step->getResults()))
      WriteOp::create(builder, loc, target.getSymName(), value);
    if (averageDecay > 0)
      average(parameter, step->getResult(0));
    for (Operation *op : recorder.created)
      inheritWork(op, layer, Phase::update);
    recorder.created.clear();
  }

  /// Keeps the average of a parameter, which evaluation reads in its place.
  void average(ParameterOp parameter, Value updated) {
    Location loc = parameter.getLoc();
    OpBuilder atModule(func.getContext());
    auto kept = ParameterOp::create(
        atModule, loc, (parameter.getSymName() + averageSuffix).str(),
        parameter.getType(), Role::average, parameter.getInitAttr(),
        parameter.getFreshAttr());
    symbols.insert(kept, std::next(parameter->getIterator()));
    auto read =
        ReadOp::create(builder, loc, parameter.getType(), kept.getSymName());
    auto step =
        AverageOp::create(builder, loc, parameter.getType(), read, updated,
                          APFloat(static_cast<float>(averageDecay)));
    WriteOp::create(builder, loc, kept.getSymName(), step);
    if (auto evaluate = symbols.lookup<func::FuncOp>(evaluateFunc))
      for (auto other : evaluate.getOps<ReadOp>())
        if (other.getParameter() == parameter.getSymName())
          other.setParameter(kept.getSymName());
  }

  /// Freezes what has no gradient, as PyTorch's optimizers leave it alone.
  void freezeUnused() {
    SmallVector<StringRef> unused;
    for (auto &[value, user] : firstUser) {
      if (updated.contains(value))
        continue;
      unused.push_back(nameOf(value));
      auto read = cast<ReadOp>(value.getDefiningOp());
      symbols.lookup<ParameterOp>(read.getParameter()).setRole(Role::frozen);
    }
    if (unused.empty())
      return;
    InFlightDiagnostic diag = mlir::emitWarning(func.getLoc())
                              << "the loss does not depend on these trainable "
                                 "parameters, which keep their values: ";
    llvm::interleaveComma(unused, diag);
  }
};

void eraseDeadCode(func::FuncOp func) {
  Block &body = func.getBody().front();
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(body)))
    if (isOpTriviallyDead(&op))
      op.erase();
}

struct Autodiff : lwcc::impl::AutodiffBase<Autodiff> {
  using AutodiffBase::AutodiffBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    SymbolTable symbols(module);
    auto func = symbols.lookup<func::FuncOp>(trainStepFunc);
    if (!func) {
      module.emitError("expected a function @") << trainStepFunc;
      return signalPassFailure();
    }
    const Optimizer *row = findOptimizer(optimizer);
    if (!row) {
      InFlightDiagnostic diag = module.emitError("unknown optimizer '")
                                << optimizer << "'; expected one of: ";
      llvm::interleaveComma(optimizers(), diag,
                            [&](const Optimizer &o) { diag << o.name; });
      diag.report();
      return signalPassFailure();
    }
    if (failed(
            Differentiator(func, symbols, *row, clipNorm, averageDecay).run()))
      return signalPassFailure();
    for (auto any : module.getOps<func::FuncOp>())
      eraseDeadCode(any);
  }
};

} // namespace
