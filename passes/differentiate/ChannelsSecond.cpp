//===- ChannelsSecond.cpp - Images keep their channels second -------------===//
//
// Where a framework has channels last (Keras), its exports bring them second
// for a convolution, and back behind it. What stands between two convolutions
// is computed with channels second here, so that the two transposes meet and
// vanish: a transpose of a map's operand goes behind the map, and so on.
//
// Of ops that treat dimensions alike: maps, reductions, concats, pads, slices.
// Not of maps that draw random numbers, by the place of each element.
//
//===----------------------------------------------------------------------===//

#include "ir/train/Train.h"
#include "passes/Passes.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Sequence.h"
#include "llvm/ADT/SmallVectorExtras.h"

namespace lwcc {
#define GEN_PASS_DEF_CHANNELSSECOND
#include "passes/Passes.h.inc"
} // namespace lwcc

using namespace mlir;
using namespace lwcc;
using namespace lwcc::train;

using Shape = SmallVector<int64_t>;

/// Of images. Matrices, such as those of attention, have no such dimensions.
static constexpr int64_t leastRank = 4;

/// [0, 2, ..., rank - 1, 1]: channels from second to last.
static Shape toLast(int64_t rank) {
  Shape perm = llvm::to_vector(llvm::seq<int64_t>(0, rank));
  std::rotate(perm.begin() + 1, perm.begin() + 2, perm.end());
  return perm;
}

/// The tensor with channels second whose transpose a value is; null if it is
/// none.
static Value secondOf(Value value) {
  auto transpose = value.getDefiningOp<TransposeOp>();
  const int64_t rank = typeOf(value).getRank();
  return transpose && rank >= leastRank &&
                 transpose.getPerm() == ArrayRef<int64_t>(toLast(rank))
             ? transpose.getX()
             : Value();
}

/// What an attribute says of each dimension of a value with channels last, of
/// that with channels second.
static Shape movedBack(ArrayRef<int64_t> last) {
  Shape second(last);
  std::rotate(second.begin() + 1, second.end() - 1, second.end());
  return second;
}

namespace {
/// Moves the transposes of one function, op by op.
class Mover {
public:
  explicit Mover(MLIRContext *context) : context(context), builder(context) {}

  /// What is made stands ahead of the op that it replaces, whose users follow.
  void visit(Operation *op) {
    if (auto transpose = dyn_cast<TransposeOp>(op))
      meet(transpose);
    else if (Value last = rewrite(op))
      op->getResult(0).replaceAllUsesWith(last);
  }

private:
  /// A transpose of a transpose is one, or none.
  void meet(TransposeOp transpose) {
    auto first = transpose.getX().getDefiningOp<TransposeOp>();
    if (!first)
      return;
    Shape perm = llvm::map_to_vector(
        transpose.getPerm(), [&](int64_t d) { return first.getPerm()[d]; });
    if (llvm::is_sorted(perm)) {
      transpose.getY().replaceAllUsesWith(first.getX());
      return;
    }
    transpose.getXMutable().assign(first.getX());
    transpose.setPerm(perm);
  }

  /// The same with channels second, and a transpose behind it; null if that is
  /// not possible, or there is nothing to gain.
  Value rewrite(Operation *op) {
    builder.setInsertionPoint(op);
    Operation *made = nullptr;
    if (auto map = dyn_cast<MapOp>(op))
      made = rewriteMap(map);
    else if (auto concat = dyn_cast<ConcatOp>(op))
      made = rewriteConcat(concat);
    else if (auto reduce = dyn_cast<ReduceOp>(op))
      made = rewriteReduce(reduce);
    else if (auto pad = dyn_cast<PadOp>(op))
      made = rewritePad(pad);
    else if (auto slice = dyn_cast<SliceOp>(op))
      made = rewriteSlice(slice);
    if (!made)
      return {};
    Value last = op->getResult(0);
    std::string name = nameOf(last).str();
    setWork(made, layerOf(op), phaseOf(op));
    setNames(made, {name + ".channels_second"});
    return toLastOf(made->getResult(0), op, name);
  }

  /// A value with channels second as one with channels last.
  Value toLastOf(Value second, Operation *like, const std::string &name) {
    ArrayRef<int64_t> shape = typeOf(second).getShape();
    Shape perm = toLast(shape.size());
    Shape last = llvm::map_to_vector(perm, [&](int64_t d) { return shape[d]; });
    auto op = TransposeOp::create(builder, like->getLoc(),
                                  tensorOf(context, last), second, perm);
    setWork(op, layerOf(like), phaseOf(like));
    setNames(op, {name});
    return op.getY();
  }

  Operation *rewriteMap(MapOp map) {
    ArrayRef<int64_t> shape = typeOf(map.getY()).getShape();
    if (!map.getFn() || map.getScalars() || int64_t(shape.size()) < leastRank)
      return nullptr;
    SmallVector<Value> inputs;
    bool any = false;
    for (Value input : map.getInputs()) {
      Value second = secondOf(input);
      if (second)
        any |= typeOf(input).getShape() == shape;
      else
        second = unmovedOf(input, shape, map);
      if (!second)
        return nullptr;
      inputs.push_back(second);
    }
    if (!any)
      return nullptr;
    return buildMap(builder, map.getLoc(), *map.getFn(), inputs,
                    map.getParamsAttr());
  }

  /// An operand of which no element moves, such as a bias or something for each
  /// sample and channel, as one with channels second; null if it is another.
  Value unmovedOf(Value input, ArrayRef<int64_t> shape, Operation *like) {
    Shape own(typeOf(input).getShape());
    const bool isNumber =
        llvm::all_of(own, [](int64_t extent) { return extent == 1; });
    if (isNumber && own.size() < shape.size())
      return input;
    own.insert(own.begin(), shape.size() - own.size(), 1);
    const bool moves = own.back() > 1 &&
                       llvm::any_of(ArrayRef(own).drop_front().drop_back(),
                                    [](int64_t extent) { return extent > 1; });
    if (moves)
      return {};
    own = movedBack(own);
    const auto *first =
        llvm::find_if(own, [](int64_t extent) { return extent > 1; });
    own.erase(own.begin(), first == own.end() ? first - 1 : first);
    auto reshape = ReshapeOp::create(builder, like->getLoc(),
                                     tensorOf(context, own), input);
    setWork(reshape, layerOf(like), phaseOf(like));
    setNames(reshape, {(nameOf(input) + ".channels_second").str()});
    return reshape.getY();
  }

  Operation *rewriteConcat(ConcatOp concat) {
    SmallVector<Value> inputs = llvm::map_to_vector(concat.getXs(), secondOf);
    if (llvm::is_contained(inputs, Value()))
      return nullptr;
    Shape shape = movedBack(typeOf(concat.getY()).getShape());
    return ConcatOp::create(builder, concat.getLoc(), tensorOf(context, shape),
                            inputs, toLast(shape.size())[concat.getAxis()]);
  }

  Operation *rewriteReduce(ReduceOp reduce) {
    Value x = secondOf(reduce.getX());
    ArrayRef<int64_t> shape = typeOf(reduce.getY()).getShape();
    if (!x || int64_t(shape.size()) != typeOf(x).getRank())
      return nullptr;
    Shape axes = llvm::map_to_vector(reduce.getAxes(), [&](int64_t axis) {
      return toLast(shape.size())[axis];
    });
    llvm::sort(axes);
    return ReduceOp::create(builder, reduce.getLoc(),
                            tensorOf(context, movedBack(shape)), x, axes,
                            reduce.getMean());
  }

  Operation *rewritePad(PadOp pad) {
    Value x = secondOf(pad.getX());
    return x ? PadOp::create(
                   builder, pad.getLoc(),
                   tensorOf(context, movedBack(typeOf(pad.getY()).getShape())),
                   x, movedBack(pad.getLow()), pad.getValue())
                   .getOperation()
             : nullptr;
  }

  Operation *rewriteSlice(SliceOp slice) {
    Value x = secondOf(slice.getX());
    return x ? SliceOp::create(
                   builder, slice.getLoc(),
                   tensorOf(context,
                            movedBack(typeOf(slice.getY()).getShape())),
                   x, movedBack(slice.getStart()), movedBack(slice.getStep()))
                   .getOperation()
             : nullptr;
  }

  MLIRContext *context;
  OpBuilder builder;
};

struct ChannelsSecondPass : lwcc::impl::ChannelsSecondBase<ChannelsSecondPass> {
  using ChannelsSecondBase::ChannelsSecondBase;

  void runOnOperation() override {
    auto func = getOperation().lookupSymbol<func::FuncOp>(modelFunc);
    if (!func)
      return;
    Block &body = func.getBody().front();
    Mover mover(&getContext());
    for (Operation &op : llvm::make_early_inc_range(body))
      mover.visit(&op);
    for (Operation &op : llvm::make_early_inc_range(llvm::reverse(body)))
      if (isOpTriviallyDead(&op))
        op.erase();
      else if (auto transpose = dyn_cast<TransposeOp>(op))
        makeReshape(transpose);
  }

private:
  /// What leaves all elements where they are is no transpose.
  static void makeReshape(TransposeOp transpose) {
    ArrayRef<int64_t> shape = typeOf(transpose.getX()).getShape();
    Shape wide(transpose.getPerm());
    llvm::erase_if(wide, [&](int64_t d) { return shape[d] == 1; });
    if (!llvm::is_sorted(wide))
      return;
    OpBuilder builder(transpose);
    auto reshape = ReshapeOp::create(builder, transpose.getLoc(),
                                     transpose.getType(), transpose.getX());
    reshape->setDiscardableAttrs(transpose->getDiscardableAttrDictionary());
    transpose.getY().replaceAllUsesWith(reshape.getY());
    transpose.erase();
  }
};
} // namespace
