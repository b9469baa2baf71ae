//===- ProgramGenerator.cpp - Random exec programs ------------------------===//

#include "ProgramGenerator.h"

#include "ir/exec/Kernels.h"
#include "passes/memory/PlanMemory.h"
#include "passes/schedule/Synchronize.h"
#include "passes/verify/Meaning.h"

#include "llvm/ADT/STLExtras.h"

#include <random>

using namespace mlir;
using namespace lwcc;
using namespace lwcc::exec;

namespace {

using Dims = llvm::SmallVector<int64_t>;

class Generator {
public:
  Generator(MLIRContext *context, unsigned seed)
      : builder(context), calls(context), random(seed) {}
  OwningOpRef<ModuleOp> make();

private:
  void declareMachine();
  void declareKernels();
  void declareState();
  void fillSequence(StringRef name, int count, bool training);

  // Of random calls, by what they need.
  void anyKernel();
  void elementwise();
  void randomNumbers();
  void inPlace();
  void movement();
  void twoViews();
  void parts();
  void oneHot();
  void pooling();
  void transferOfSeveral();
  void update();
  void foldIntoLoss();

  int below(int n) { return static_cast<int>(random() % n); }
  std::string deviceName(int d) { return "gpu" + std::to_string(d); }
  Dims dims() {
    Dims result;
    for (int rank = 1 + below(4); rank > 0; --rank)
      result.push_back(1 + below(rank > 2 ? 2 : 4));
    return result;
  }

  BufferOp buffer(Role role, ArrayRef<int64_t> dims, int device,
                  Type element = {}, BufferOp parent = {}, int64_t offset = -1);
  BufferOp fresh(ArrayRef<int64_t> dims, int device = -1) {
    return buffer(Role::Activation, dims, device < 0 ? below(devices) : device);
  }
  BufferOp view(BufferOp of, ArrayRef<int64_t> dims, int64_t offset = 0) {
    return buffer(of.getRole(), dims, deviceOf(of), {}, of, offset);
  }
  BufferOp state(Role role, StringRef tensor, ArrayRef<int64_t> dims,
                 ArrayRef<int64_t> begin, ArrayRef<int64_t> whole, int device,
                 Type element = {});
  int deviceOf(BufferOp buffer) {
    return buffer.getDevice().back() - '0'; // gpu0, gpu1, ...
  }
  static ArrayRef<int64_t> shape(BufferOp buffer) {
    return cast<RankedTensorType>(buffer.getType()).getShape();
  }
  static Attribute ref(BufferOp b) {
    return b ? Attribute(FlatSymbolRefAttr::get(b.getSymNameAttr()))
             : Attribute();
  }
  BufferOp anyValue() { return values[below(values.size())]; }
  /// A value or a view of it that has these extents, or a new one.
  BufferOp valueLike(ArrayRef<int64_t> dims);

  /// A call on the device of its results. What lies elsewhere is brought there
  /// first, unless its kernel may read it where it lies.
  void emit(StringRef callee, ArrayRef<BufferOp> ins, ArrayRef<BufferOp> outs,
            DictionaryAttr params = {}, StringRef kernel = {});
  void append(StringRef callee, StringRef lane, ArrayRef<BufferOp> ins,
              ArrayRef<BufferOp> outs, DictionaryAttr params = {},
              StringRef kernel = {});
  std::string anyLane(int device) {
    return lanes[device + devices * below(lanesOf(device))];
  }
  int lanesOf(int device) {
    return (static_cast<int>(lanes.size()) - device + devices - 1) / devices;
  }
  DictionaryAttr with(ArrayRef<std::pair<StringRef, Attribute>> fields) {
    llvm::SmallVector<NamedAttribute> list;
    for (auto [name, value] : fields)
      list.push_back(builder.getNamedAttr(name, value));
    return builder.getDictionaryAttr(list);
  }
  Attribute list(ArrayRef<int64_t> items) {
    return builder.getDenseI64ArrayAttr(items);
  }

  OpBuilder builder, calls;
  std::mt19937 random;
  int devices = 1, count = 0;
  std::vector<std::string> lanes;
  BufferOp loss, metric;
  std::vector<BufferOp> scalars, labels; ///< per device

  struct Trained {
    std::vector<BufferOp> weights, momenta; ///< a part or a copy each
    bool copies = false;
    bool updated = false;
  };
  std::vector<Trained> trained;
  BufferOp statistic;
  std::vector<BufferOp> persistent; ///< f32, to be read
  std::vector<BufferOp> values;     ///< f32, of this sequence
  llvm::DenseSet<Attribute> unread; ///< values of this sequence
};

} // namespace

BufferOp Generator::buffer(Role role, ArrayRef<int64_t> dims, int device,
                           Type element, BufferOp parent, int64_t offset) {
  auto type =
      RankedTensorType::get(dims, element ? element : builder.getF32Type());
  auto parentName =
      parent ? FlatSymbolRefAttr::get(parent.getSymNameAttr()) : nullptr;
  return BufferOp::create(builder, builder.getUnknownLoc(),
                          "b" + std::to_string(count++), deviceName(device),
                          role, type, offset, parentName, DenseI64ArrayAttr());
}

BufferOp Generator::state(Role role, StringRef tensor, ArrayRef<int64_t> dims,
                          ArrayRef<int64_t> begin, ArrayRef<int64_t> whole,
                          int device, Type element) {
  BufferOp made = buffer(role, dims, device, element);
  made->setAttr("exec.tensor", builder.getStringAttr(tensor));
  made->setAttr("exec.begin", list(begin));
  made->setAttr("exec.dims", list(whole));
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
      params, "layer", "forward");
}

void Generator::emit(StringRef callee, ArrayRef<BufferOp> ins,
                     ArrayRef<BufferOp> outs, DictionaryAttr params,
                     StringRef kernel) {
  int device = deviceOf(*llvm::find_if(outs, [](BufferOp b) { return b; }));
  llvm::SmallVector<BufferOp> here;
  for (BufferOp in : ins) {
    unread.erase(ref(in));
    if (in && deviceOf(in) != device &&
        !(mayLieElsewhere(callee, here.size()) && below(2))) {
      BufferOp copy =
          buffer(Role::Activation, shape(in), device,
                 cast<RankedTensorType>(in.getType()).getElementType());
      append("transfer", deviceName(device) + ".copies", {in}, {copy});
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

BufferOp Generator::valueLike(ArrayRef<int64_t> dims) {
  for (int tries = 0; tries < 4; ++tries)
    if (BufferOp value = anyValue(); shape(value) == dims)
      return value;
  BufferOp made = fresh(dims);
  emit("lrn", {anyValue()}, {made},
       with({{"alpha", builder.getF32FloatAttr(1 + below(9))}}));
  return made;
}

//===----------------------------------------------------------------------===//
// Calls
//===----------------------------------------------------------------------===//

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
  emit("map", {x, scalars[deviceOf(out)]}, {out},
       with({{"begin", list(begin)}, {"dims", list(whole)}}), "dropout");
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
  } else if (!value.getViewOf()) { // a new value in an old buffer
    BufferOp other = anyValue();
    if (!other.getViewOf() && other != value)
      emit("lrn", {other}, {value});
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
    low[d] = below(2);
    to[d] += 1;
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
    start[d] = below(2);
    step[d] = from[d] == 4 || start[d] == 0 ? 1 + below(2) : 1;
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
  emit("lrn", {anyValue()}, {low});
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
    emit("lrn", {anyValue()}, {whole});
  }
  Dims to(shape(whole)), begin;
  for (int64_t &extent : to) {
    int64_t all = extent;
    extent = std::max<int64_t>(1, all - 1 - below(2));
    begin.push_back(below(all - extent + 1));
  }
  BufferOp part = view(whole, to, byteOf(whole.getTensorType(), begin));
  part.setWindow(begin);
  unread.erase(ref(whole));
  if (below(3) == 0)
    emit("transfer", {part}, {fresh(to)});
  else if (below(2))
    emit("sum", {part, valueLike(to)}, {fresh(to)});
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
  BufferOp index = buffer(Role::Activation, shape(y), deviceOf(y),
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
  append("transfer", deviceName(device) + ".copies", {a, b}, {toA, toB});
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

//===----------------------------------------------------------------------===//
// Programs
//===----------------------------------------------------------------------===//

void Generator::declareMachine() {
  Location loc = builder.getUnknownLoc();
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
    LaneOp::create(builder, loc, deviceName(d) + ".copies", deviceName(d),
                   /*copies=*/true);
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
}

void Generator::declareState() {
  Type i32 = builder.getI32Type();
  Type u8 = builder.getIntegerType(8, /*isSigned=*/false);
  for (int d = 0; d < devices; ++d) {
    scalars.push_back(state(Role::Scalars, "scalars", {64}, {0}, {64}, d, u8));
    labels.push_back(state(Role::Labels, "labels", {4}, {0}, {4}, d, i32));
    persistent.push_back(state(Role::Input, "input", {2, 1, 2, 2},
                               {2 * d, 0, 0, 0}, {2 * devices, 1, 2, 2}, d));
  }
  loss = state(Role::Loss, "loss", {}, {}, {}, 0);
  metric = state(Role::Metric, "counts", {2}, {0}, {2}, 0);
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
          state(Role::Parameter, name, part, begin, whole, d));
      one.momenta.push_back(
          state(Role::Optimizer, name + ".momentum", part, begin, whole, d));
      persistent.push_back(one.weights.back());
    }
    trained.push_back(one);
  }
  statistic = state(Role::Statistic, "mean", {3}, {0}, {3}, below(devices));
  persistent.push_back(statistic);
}

void Generator::fillSequence(StringRef name, int length, bool training) {
  auto sequence = SequenceOp::create(builder, builder.getUnknownLoc(), name);
  OpBuilder::InsertionGuard guard(builder);
  calls.setInsertionPointToStart(&sequence.getBody().emplaceBlock());
  builder.setInsertionPoint(sequence);
  values = persistent;
  unread.clear();
  for (int c = 0; c < length; ++c) {
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
    // Values die, so that there is something to reuse.
    while (values.size() > 9) {
      auto dead = values.begin() + below(values.size());
      if (unread.contains(ref(*dead)))
        emit("lrn_grad", {*dead, values.front()}, {fresh({2, 2})});
      values.erase(llvm::find(values, *dead));
    }
  }
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

OwningOpRef<ModuleOp> test::generateProgram(MLIRContext *context,
                                            unsigned seed) {
  return Generator(context, seed).make();
}
