//===- RandomCalls.cpp - What random sequences are made of ----------------===//
//
// The extents of movements and elementwise kernels are right; a call of
// anything else takes any tensors.
//
//===----------------------------------------------------------------------===//

#include "Generator.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace lwcc;
using namespace lwcc::exec;
using namespace lwcc::test;

void Generator::anyKernel() {
  struct Row {
    StringRef name;
    int ins, outs;
  };
  static constexpr Row rows[] = {
      {"conv", 3, 1},         {"conv_grad_weight", 2, 2},
      {"matmul", 3, 1},       {"batch_norm_stats", 1, 3},
      {"lrn_grad", 2, 1},     {"batch_norm_grad_stats", 4, 2},
      {"softmax_grad", 2, 1}, {"conv_grad_input", 2, 1},
      {"reduce", 1, 1}};
  const Row &row = rows[below(std::size(rows))];
  llvm::SmallVector<BufferOp> ins, outs;
  for (int i = 0; i < row.ins; ++i)
    ins.push_back(i == 2 && below(2) ? BufferOp() : anyValue());
  int device = below(devices);
  for (int i = 0; i < row.outs; ++i)
    outs.push_back(i > 0 && below(4) == 0 ? BufferOp() : fresh(dims(), device));
  DictionaryAttr params;
  if (below(2))
    params = with({{"pad", list({below(3), below(3)})},
                   {"relu", builder.getBoolAttr(below(2))},
                   {"group", builder.getI64IntegerAttr(1 + below(3))}});
  emit(row.name, ins, outs, params);
}

void Generator::elementwise() {
  Dims to = dims();
  Dims other = to;
  if (below(2))
    other[below(other.size())] = 1;
  BufferOp x = valueLike(to), y = valueLike(other);
  BufferOp out = fresh(to);
  if (below(2))
    emit("map", {x, y}, {out}, {}, below(2) ? "add" : "scale");
  else if (below(2))
    emit("map", {x}, {out}, {}, "relu");
  else
    emit("sum", {x, valueLike(to), valueLike(to)}, {out});
}

void Generator::randomNumbers() {
  BufferOp x = valueLike(dims());
  BufferOp out = fresh(shape(x));
  Dims begin(shape(x).size()), whole(shape(x));
  for (auto [b, w] : llvm::zip_equal(begin, whole)) {
    b = below(3);
    w += b + below(2);
  }
  const DictionaryAttr part =
      with({{"begin", list(begin)}, {"dims", list(whole)}});
  if (below(2))
    emit("map", {x, scalars[deviceOf(out)]}, {out}, part, "dropout");
  else
    emit("map", {scalars[deviceOf(out)]}, {out}, part, "noise");
}

void Generator::inPlace() {
  BufferOp value = anyValue();
  if (value.isPersistent())
    return;
  if (below(2)) {
    emit("map", {value}, {value}, {}, "relu");
  } else if (below(2)) {
    BufferOp other = valueLike(shape(value));
    if (other != value && deviceOf(other) == deviceOf(value) &&
        !other.getViewOf() && !value.getViewOf())
      emit("sum", {value, other}, {value});
  } else { // a new value in an old buffer
    emit("one_hot", {labels[deviceOf(value)]}, {value});
  }
}

void Generator::movement() {
  BufferOp x = anyValue();
  Dims from(shape(x));
  size_t rank = from.size();
  int d = below(rank);
  Dims zeros(rank, 0), ones(rank, 1);
  switch (below(7)) {
  case 0: {
    int64_t n = 1;
    for (int64_t extent : from)
      n *= extent;
    emit("reshape", {x}, {fresh({n})});
    break;
  }
  case 1: {
    Dims perm(rank), to(rank);
    for (size_t i = 0; i < rank; ++i)
      perm[i] = i;
    std::shuffle(perm.begin(), perm.end(), random);
    for (size_t i = 0; i < rank; ++i)
      to[i] = from[perm[i]];
    emit("transpose", {x}, {fresh(to)}, with({{"perm", list(perm)}}));
    break;
  }
  case 2: {
    BufferOp y = valueLike(from);
    Dims to = from;
    to[d] *= 2;
    emit("concat", {x, y}, {fresh(to)},
         with({{"axis", builder.getI64IntegerAttr(d)}}));
    break;
  }
  case 3: {
    if (from[d] < 2)
      return;
    Dims low = from, high = from;
    low[d] = 1;
    high[d] -= 1;
    int device = below(devices);
    BufferOp first = below(3) ? fresh(low, device) : BufferOp();
    emit("split", {x}, {first, fresh(high, device)},
         with({{"axis", builder.getI64IntegerAttr(d)},
               {"sizes", list({1, high[d]})}}));
    break;
  }
  case 4: {
    Dims low = zeros, to = from;
    low[d] = below(3) - 1;
    to[d] += 1 + below(2);
    emit("pad", {x}, {fresh(to)},
         with({{"low", list(low)},
               {"value", builder.getF32FloatAttr(below(2))}}));
    break;
  }
  case 5: {
    if (from[d] < 3)
      return;
    Dims start = zeros, step = ones, to = from;
    to[d] = 2;
    start[d] = below(from[d]);
    step[d] = start[d] < 2 ? 1 : -1;
    if (start[d] + 2 * step[d] >= 0 && start[d] + 2 * step[d] < from[d])
      step[d] *= 1 + below(2);
    DictionaryAttr params =
        with({{"start", list(start)}, {"step", list(step)}});
    if (below(2))
      emit("slice", {x}, {fresh(to)}, params);
    else
      emit("slice_grad", {valueLike(to)}, {fresh(from)}, params);
    break;
  }
  default:
    emit("fill", {}, {fresh(from)},
         with({{"value", builder.getF32FloatAttr(below(3))}}));
  }
}

/// What two calls write is read as one, and under another shape.
void Generator::twoViews() {
  BufferOp whole = fresh({64 + 16});
  BufferOp low = view(whole, {64}), high = view(whole, {4, 4}, 256);
  compute(low);
  if (onlyMovements)
    emit("reshape", {valueLike({16})}, {high});
  else
    emit("lrn_grad", {low, anyValue()}, {high});
  unread.insert(ref(whole));
  values.push_back(whole);
  values.push_back(view(whole, {80, 1}));
}

/// Windows are read by what reads parts where they are stored.
void Generator::parts() {
  BufferOp whole = anyValue();
  if (whole.getTensorType().getNumElements() < 4) {
    whole = fresh({3, 4});
    compute(whole);
  }
  Dims to(shape(whole)), begin;
  for (int64_t &extent : to) {
    int64_t all = extent;
    extent = std::max<int64_t>(1, all - 1 - below(2));
    begin.push_back(below(all - extent + 1));
  }
  auto window = [&](ArrayRef<int64_t> begin) {
    BufferOp part = view(whole, to, byteOf(whole.getTensorType(), begin));
    part.setWindow(begin);
    return part;
  };
  BufferOp part = window(begin);
  unread.erase(ref(whole));
  if (below(2) && !onlyMovements)
    emit("sum", {part, window(Dims(begin.size(), 0))}, {fresh(to)});
  else
    emit("concat", {part}, {fresh(to)},
         with({{"axis", builder.getI64IntegerAttr(0)}}));
}

void Generator::oneHot() {
  int device = below(devices);
  emit("one_hot", {labels[device]}, {fresh({4, 2}, device)},
       with({{"first_class", builder.getI64IntegerAttr(below(3))}}));
}

void Generator::pooling() {
  BufferOp y = fresh(dims());
  BufferOp index = buffer(Role::activation, shape(y), deviceOf(y),
                          builder.getIntegerType(8, /*isSigned=*/false));
  DictionaryAttr params =
      with({{"kernel", list({1 + below(2), 1 + below(2)})}});
  emit("max_pool", {anyValue()}, {y, index}, params);
  emit("max_pool_grad", {anyValue(), index}, {fresh(dims())}, params);
}

void Generator::transferOfSeveral() {
  int device = below(devices);
  BufferOp a = anyValue(), b = anyValue();
  if (a == b || a.getWindow() || b.getWindow())
    return;
  BufferOp toA = fresh(shape(a), device), toB = fresh(shape(b), device);
  append("transfer", anyCopyLane(device), {a, b}, {toA, toB});
  for (BufferOp from : {a, b})
    unread.erase(ref(from));
  for (BufferOp to : {toA, toB}) {
    unread.insert(ref(to));
    values.push_back(to);
  }
}

/// Every copy of a parameter by the same gradients.
void Generator::update() {
  Trained &one = trained[below(trained.size())];
  if (one.updated)
    return;
  one.updated = true;
  BufferOp first = fresh(shape(one.weights[0]));
  BufferOp second = fresh(shape(one.weights[0]));
  emit("conv_grad_input", {anyValue(), anyValue()}, {first});
  emit("matmul", {anyValue(), first, BufferOp()}, {second});
  for (auto [w, m] : llvm::zip_equal(one.weights, one.momenta)) {
    emit("sgd", {w, m, scalars[deviceOf(w)], loss, first, second}, {w, m});
    if (!one.copies)
      std::swap(first, second);
  }
}

/// Everything that nobody has read yet.
void Generator::foldIntoLoss() {
  BufferOp sum = anyValue();
  std::vector<BufferOp> rest;
  for (BufferOp value : values)
    if (unread.contains(ref(value)) && value != sum)
      rest.push_back(value);
  for (size_t i = 0; i < rest.size(); i += 3) {
    BufferOp next = fresh({2}, 0);
    emit("batch_norm_grad_stats",
         {sum, rest[i], rest[std::min(i + 1, rest.size() - 1)],
          rest[std::min(i + 2, rest.size() - 1)]},
         {next, BufferOp()});
    sum = next;
  }
  emit("cross_entropy", {sum, labels[0], BufferOp()}, {loss, BufferOp()},
       with({{"ignore_index", builder.getI64IntegerAttr(-100)}}));
  emit("accuracy", {sum, labels[0]}, {metric});
}

/// To a buffer that the trainer can read.
void Generator::save(BufferOp value) {
  Dims begin(shape(value).size(), 0);
  BufferOp saved = state(Role::statistic, "saved" + std::to_string(count),
                         shape(value), begin, shape(value), deviceOf(value));
  emit("reshape", {value}, {saved});
}

void Generator::saveAll() {
  for (BufferOp value : std::vector<BufferOp>(values))
    if (unread.contains(ref(value)))
      save(value);
  compute(loss);
}
