//===- SpelledBatchNorm.cpp - Batch normalization of Keras ----------------===//
//
// Keras has no operator of batch normalization where PyTorch computes: exported
// files hold the formula with the running statistics,
//
//   (x - moving_mean) / sqrt(moving_variance + epsilon) * gamma + beta
//
// gamma or beta may be absent. It is trained as batch normalization, which it
// is in Keras. The exported file keeps the formula, with new statistics.
//
// Decides which values make up the formula, going by the names that Keras gives
// the statistics: PyTorch's frozen normalizations look alike. The momentum is
// not in the file.
//
//===----------------------------------------------------------------------===//

#include "frontend/NodeImporter.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Sequence.h"

using namespace lwcc;
using namespace mlir;
using namespace llvm;

/// Of keras.layers.BatchNormalization.
static constexpr float kerasMomentum = 0.99F;

static train::MapOp mapOf(Value value, StringRef fn) {
  auto map = value.getDefiningOp<train::MapOp>();
  return map && map.getFn() == fn ? map : nullptr;
}

/// The op that reads the vector which a value repeats along other dimensions.
static train::ReadOp vectorBehind(Value value) {
  while (auto reshape = value.getDefiningOp<train::ReshapeOp>())
    value = reshape.getX();
  auto read = value.getDefiningOp<train::ReadOp>();
  return read && shapeOf(read).size() == 1 ? read : nullptr;
}

static std::optional<float> numberOf(Value value) {
  auto constant = value.getDefiningOp<train::ConstantOp>();
  auto elements =
      constant ? dyn_cast<DenseElementsAttr>(constant.getValue()) : nullptr;
  if (!elements || !elements.isSplat())
    return std::nullopt;
  return elements.getSplatValue<APFloat>().convertToFloat();
}

/// The other operand of a map of two, one of which is `one`.
static Value otherOf(train::MapOp map, Value one) {
  return map.getInputs()[map.getInputs()[0] == one ? 1 : 0];
}

namespace {
/// The formula's parts, and the op that makes its result.
struct Spelled {
  Value x;
  train::ReadOp mean, variance, gamma, beta;
  float epsilon;
  int64_t axis; ///< of the channels
  train::MapOp last;
};
} // namespace

/// 1 / sqrt(variance + epsilon) in `value`; false if it is something else.
static bool readScale(Value value, Spelled &spelled) {
  Value root;
  if (auto reciprocal = mapOf(value, "reciprocal")) {
    root = reciprocal.getInputs()[0];
  } else if (auto quotient = mapOf(value, "div")) {
    if (numberOf(quotient.getInputs()[0]) != 1)
      return false;
    root = quotient.getInputs()[1];
  } else {
    return false;
  }
  auto square = mapOf(root, "sqrt");
  auto sum = square ? mapOf(square.getInputs()[0], "add") : nullptr;
  if (!sum)
    return false;
  for (Value part : sum.getInputs())
    if (train::ReadOp read = vectorBehind(part)) {
      std::optional<float> epsilon = numberOf(otherOf(sum, part));
      spelled.variance = read;
      spelled.epsilon = epsilon.value_or(0);
      return epsilon.has_value();
    }
  return false;
}

/// The formula around x - mean.
static std::optional<Spelled> readFormula(train::MapOp centred,
                                          train::ReadOp mean) {
  Spelled spelled;
  spelled.x = centred.getInputs()[0];
  spelled.mean = mean;
  ArrayRef<int64_t> shape = shapeOf(spelled.x),
                    vector = shapeOf(centred.getInputs()[1]);
  const int64_t channels = shapeOf(mean)[0];
  // The vector stands along one dimension of those that it has.
  const auto *along = find_if(vector, [](int64_t e) { return e != 1; });
  const int64_t at =
      along == vector.end() ? vector.size() - 1 : along - vector.begin();
  spelled.axis = int64_t(shape.size()) - int64_t(vector.size()) + at;
  if (shape.size() < 2 || spelled.axis < 1 || shape[spelled.axis] != channels ||
      shapeOf(centred) != shape || !centred->hasOneUse())
    return std::nullopt;
  auto product = dyn_cast<train::MapOp>(*centred->user_begin());
  if (!product || product.getFn() != "mul" || product.getInputs().size() != 2)
    return std::nullopt;
  Value scale = otherOf(product, centred.getY());
  if (auto both = mapOf(scale, "mul")) { // with gamma, or ones in its place
    for (Value part : both.getInputs()) {
      train::ReadOp read = vectorBehind(part);
      if (read || numberOf(part) == 1) {
        spelled.gamma = read;
        scale = otherOf(both, part);
        break;
      }
    }
  }
  if (!readScale(scale, spelled))
    return std::nullopt;
  spelled.last = product;
  if (product->hasOneUse()) {
    auto sum = dyn_cast<train::MapOp>(*product->user_begin());
    if (sum && sum.getFn() == "add" && sum.getInputs().size() == 2)
      if (train::ReadOp read = vectorBehind(otherOf(sum, product.getY()))) {
        spelled.beta = read;
        spelled.last = sum;
      }
  }
  const bool fits = all_of(
      ArrayRef<train::ReadOp>{spelled.variance, spelled.gamma, spelled.beta},
      [&](train::ReadOp read) {
        return !read || shapeOf(read)[0] == channels;
      });
  if (!fits || shapeOf(spelled.last) != shape)
    return std::nullopt;
  return spelled;
}

/// One op in place of the formula.
static void restore(OpBuilder &builder, Spelled &spelled) {
  train::MapOp last = spelled.last;
  builder.setInsertionPoint(last);
  Location location = last.getLoc();
  MLIRContext *context = builder.getContext();
  std::string base = train::nameOf(last.getY()).str();
  auto made = [&](Operation *op, ArrayRef<StringRef> names) {
    train::setWork(op, layerOf(last), Phase::forward);
    train::setNames(op, names);
    return op->getResult(0);
  };
  auto transpose = [&](Value value, ArrayRef<int64_t> perm,
                       const std::string &name) {
    Shape shape;
    for (int64_t d : perm)
      shape.push_back(shapeOf(value)[d]);
    return made(train::TransposeOp::create(builder, location,
                                           train::tensorOf(context, shape),
                                           value, perm),
                {name});
  };
  const int64_t channels = shapeOf(spelled.mean.getValue())[0];
  RankedTensorType vector = train::tensorOf(context, {channels});
  auto weight = [&](train::ReadOp read, float otherwise,
                    const std::string &name) -> Value {
    if (read)
      return read.getValue();
    return made(train::ConstantOp::create(
                    builder, location,
                    DenseElementsAttr::get(vector, APFloat(otherwise))),
                {name});
  };
  // Channels second, and back.
  Shape there = to_vector(seq<int64_t>(0, shapeOf(spelled.x).size()));
  there.erase(there.begin() + spelled.axis);
  there.insert(there.begin() + 1, spelled.axis);
  Shape back(there.size());
  for (auto [i, d] : enumerate(there))
    back[d] = i;
  const bool moves = spelled.axis != 1;
  Value x = moves ? transpose(spelled.x, there, base + ".channels_second")
                  : spelled.x;
  Value gamma = weight(spelled.gamma, 1, base + ".ones"),
        beta = weight(spelled.beta, 0, base + ".zeros");
  Type statistics = train::statisticsType(x, /*groups=*/0);
  auto norm = train::BatchNormOp::create(
      builder, location,
      TypeRange{x.getType(), statistics, statistics, vector, vector}, x, gamma,
      beta, spelled.mean.getValue(), spelled.variance.getValue(),
      APFloat(spelled.epsilon), APFloat(kerasMomentum));
  std::string names[] = {moves ? base + ".normalized" : base, base + ".mean",
                         base + ".invstd", base + ".new_mean",
                         base + ".new_variance"};
  SmallVector<StringRef> list(std::begin(names), std::end(names));
  Value y = made(norm, list);
  if (moves)
    y = transpose(y, back, base);
  last.getY().replaceAllUsesWith(y);
}

void GraphImporter::restoreBatchNorms() {
  SmallVector<std::string> restored, kept;
  OpBuilder::InsertionGuard guard(builder);
  for (Operation &op : make_early_inc_range(function.front())) {
    auto centred = dyn_cast<train::MapOp>(op);
    if (!centred || centred.getFn() != "sub" || centred.getInputs().size() != 2)
      continue;
    train::ReadOp mean = vectorBehind(centred.getInputs()[1]);
    Leaf *leaf = mean ? leafOfRead.lookup(mean) : nullptr;
    if (!leaf || !isKerasStatistic(leaf->name))
      continue;
    std::optional<Spelled> spelled = readFormula(centred, mean);
    Leaf *variance = spelled ? leafOfRead.lookup(spelled->variance) : nullptr;
    if (!variance || !isKerasStatistic(variance->name)) {
      kept.push_back(leaf->name);
      continue;
    }
    for (train::ReadOp read :
         {spelled->mean, spelled->beta, spelled->variance, spelled->gamma})
      if (Leaf *each = read ? leafOfRead.lookup(read) : nullptr;
          each && !each->fresh) {
        const bool isOne = read == spelled->variance || read == spelled->gamma;
        each->fresh =
            train::InitAttr::get(builder.getContext(), "constant", 0,
                                 APFloat(isOne ? 1.0 : 0.0), APFloat(0.0));
      }
    restored.push_back(train::nameOf(spelled->last.getY()).str());
    restore(builder, *spelled);
  }
  // A statistic that no batch normalization updates stays as it is.
  for (auto &[name, leaf] : leaves)
    if (leaf.role == Role::statistic && leaf.becomes.empty() &&
        isKerasStatistic(name) && reads.contains(name) &&
        none_of(reads.lookup(name).getUsers(),
                [](Operation *user) { return isa<train::BatchNormOp>(user); }))
      leaf.role = Role::constant;
  if (!restored.empty())
    reporter.note() << "spells out batch normalization of Keras in "
                    << restored.size()
                    << (restored.size() == 1 ? " place (" : " places (")
                    << firstOf(restored)
                    << "): trained as such, with Keras' momentum of 0.99; "
                       "--frozen-bn keeps the statistics of the file";
  if (!kept.empty())
    reporter.warning()
        << "has running statistics of Keras (" << firstOf(kept)
        << ") in a formula that is no batch normalization: they stay as they "
           "are";
}
