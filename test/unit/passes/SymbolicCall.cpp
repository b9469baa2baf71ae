//===- SymbolicCall.cpp - What each runtime call computes, on tags --------===//
//
// After runtime/core/Ops.h. What does not fit (extents, parameters) is a call
// of which nothing is known, and a call that may not work in place but does
// gives something else than one that does not.
//
//===----------------------------------------------------------------------===//

#include "SymbolicProgram.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

#include <set>

using namespace mlir;
using namespace lwcc;
using namespace lwcc::exec;
using namespace lwcc::test;

/// A number in memory, by its value alone.
static Tag constantOf(Type element, double value) {
  return mix(mix(5, tagOf(TypeAttr::get(element))),
             llvm::bit_cast<uint64_t>(value));
}

namespace {

class Describer {
public:
  Describer(CallOp call, KernelOp kernel, ArrayRef<const View *> ins,
            ArrayRef<const View *> outs)
      : call(call), kernel(kernel), ins(ins), outs(outs),
        params(call.getParamsAttr()) {}

  Call describe() {
    for (const View *view : llvm::concat<const View *const>(ins, outs))
      if (view && !view->inside)
        result.mistake = "a call touches bytes outside its memory";
    if (!result.mistake.empty())
      return std::move(result);
    bool torn = overwritesItself();
    if (torn || !describeKnown()) {
      result = {};
      anything(torn);
    }
    return std::move(result);
  }

private:
  bool describeKnown();
  bool movement(StringRef callee);
  bool concat();
  bool split();
  bool map();
  bool sum();
  bool sgd();
  void anything(bool torn);
  bool overwritesItself();
  bool mayOverwrite(size_t out, size_t in);

  /// Every element of `y` is the element of `x` at `from` its coordinates, or
  /// a constant. False if there is no such element.
  template <typename F>
  bool gather(const View &y, const View &x, double otherwise, F from);
  void copy(Cell to, Cell from) {
    result.ins.push_back(from);
    result.outs.push_back({to, 0});
    result.endGroup(0, /*copies=*/true);
  }
  void write(const View &to, Cell cell, double value) {
    result.outs.push_back({cell, 0});
    result.endGroup(constantOf(to.type.getElementType(), value));
  }

  std::vector<int64_t> listOf(StringRef name) const {
    auto list = params ? params.getAs<DenseI64ArrayAttr>(name) : nullptr;
    return list ? list.asArrayRef().vec() : std::vector<int64_t>();
  }
  double numberOf(StringRef name) const {
    auto number = params ? params.getAs<FloatAttr>(name) : nullptr;
    return number ? number.getValueAsDouble() : 0;
  }
  int64_t axis(const View &of) const {
    auto number = params ? params.getAs<IntegerAttr>("axis") : nullptr;
    int64_t value = number ? number.getInt() : 0;
    return value >= 0 && value < of.type.getRank() ? value : -1;
  }

  CallOp call;
  KernelOp kernel;
  ArrayRef<const View *> ins, outs;
  DictionaryAttr params;
  Call result;
};

} // namespace

/// The linear index of coordinates, or nothing if they are outside.
static std::optional<int64_t> indexOf(ArrayRef<int64_t> dims,
                                      ArrayRef<int64_t> coordinates) {
  int64_t index = 0;
  for (auto [extent, c] : llvm::zip_equal(dims, coordinates)) {
    if (c < 0 || c >= extent)
      return std::nullopt;
    index = index * extent + c;
  }
  return index;
}

template <typename F>
bool Describer::gather(const View &y, const View &x, double otherwise, F from) {
  if (y.type.getElementType() != x.type.getElementType())
    return false;
  for (auto [i, to] : llvm::enumerate(y.cells)) {
    std::vector<int64_t> at = coordinatesOf(y.type.getShape(), i);
    bool within = from(at); // at: from y's coordinates to x's
    std::optional<int64_t> source = indexOf(x.type.getShape(), at);
    if (within && !source)
      return false;
    if (within)
      copy(to, x.cells[*source]);
    else
      write(y, to, otherwise);
  }
  return true;
}

bool Describer::movement(StringRef callee) {
  if (outs.size() != 1 || ins.size() != 1 || !outs[0] || !ins[0])
    return false;
  const View &y = *outs[0], &x = *ins[0];
  ArrayRef<int64_t> dims = x.type.getShape(), to = y.type.getShape();
  size_t rank = dims.size();
  if (callee == "reshape") {
    if (x.cells.size() != y.cells.size() ||
        x.type.getElementType() != y.type.getElementType())
      return false;
    for (auto [a, b] : llvm::zip_equal(y.cells, x.cells))
      copy(a, b);
    return true;
  }
  if (to.size() != rank)
    return false;
  if (callee == "transpose") {
    std::vector<int64_t> perm = listOf("perm");
    std::set<int64_t> all(perm.begin(), perm.end());
    if (perm.size() != rank || all.size() != rank ||
        (rank && (*all.begin() != 0 ||
                  *all.rbegin() != static_cast<int64_t>(rank) - 1)))
      return false;
    for (size_t d = 0; d < rank; ++d)
      if (to[d] != dims[perm[d]])
        return false;
    return gather(y, x, 0, [&](std::vector<int64_t> &at) {
      std::vector<int64_t> source(rank);
      for (size_t d = 0; d < rank; ++d)
        source[perm[d]] = at[d];
      at = source;
      return true;
    });
  }
  if (callee == "pad") {
    std::vector<int64_t> low = listOf("low");
    return low.size() == rank &&
           gather(y, x, numberOf("value"), [&](std::vector<int64_t> &at) {
             for (size_t d = 0; d < rank; ++d)
               at[d] -= low[d];
             return indexOf(dims, at).has_value();
           });
  }
  std::vector<int64_t> start = listOf("start"), step = listOf("step");
  if (start.size() != rank || step.size() != rank ||
      llvm::is_contained(step, 0))
    return false;
  if (callee == "slice")
    return gather(y, x, 0, [&](std::vector<int64_t> &at) {
      for (size_t d = 0; d < rank; ++d)
        at[d] = start[d] + step[d] * at[d];
      return true;
    });
  assert(callee == "slice_grad");
  for (size_t d = 0; d < rank; ++d) // all of dy lies in dx
    for (int64_t end : {start[d], start[d] + step[d] * (dims[d] - 1)})
      if (end < 0 || end >= to[d])
        return false;
  return gather(y, x, 0, [&](std::vector<int64_t> &at) {
    for (size_t d = 0; d < rank; ++d) {
      if ((at[d] - start[d]) % step[d] != 0)
        return false;
      at[d] = (at[d] - start[d]) / step[d];
    }
    return indexOf(dims, at).has_value();
  });
}

/// Whether the tensors are alike but for their extents along an axis.
static bool alikeBut(int64_t axis, const View &a, const View &b) {
  if (a.type.getRank() != b.type.getRank() ||
      a.type.getElementType() != b.type.getElementType())
    return false;
  for (int64_t d = 0; d < a.type.getRank(); ++d)
    if (d != axis && a.type.getDimSize(d) != b.type.getDimSize(d))
      return false;
  return true;
}

bool Describer::concat() {
  int64_t along = outs[0] ? axis(*outs[0]) : -1;
  if (along < 0)
    return false;
  const View &y = *outs[0];
  int64_t begin = 0;
  for (const View *x : ins) {
    if (!x || !alikeBut(along, y, *x))
      return false;
    for (auto [i, from] : llvm::enumerate(x->cells)) {
      std::vector<int64_t> at = coordinatesOf(x->type.getShape(), i);
      at[along] += begin;
      std::optional<int64_t> to = indexOf(y.type.getShape(), at);
      if (!to)
        return false;
      copy(y.cells[*to], from);
    }
    begin += x->type.getDimSize(along);
  }
  return begin == y.type.getDimSize(along);
}

bool Describer::split() {
  int64_t along = ins[0] ? axis(*ins[0]) : -1;
  std::vector<int64_t> sizes = listOf("sizes");
  if (along < 0 || sizes.size() != outs.size())
    return false;
  const View &x = *ins[0];
  int64_t begin = 0;
  for (auto [y, size] : llvm::zip_equal(outs, sizes)) {
    if (y) {
      if (!alikeBut(along, *y, x) || y->type.getDimSize(along) != size ||
          !gather(*y, x, 0, [&](std::vector<int64_t> &at) {
            at[along] += begin;
            return true;
          }))
        return false;
    }
    begin += size;
  }
  return begin == x.type.getDimSize(along);
}

/// numpy's broadcasting; random numbers follow from the scalars and from the
/// element's index in the whole tensor.
bool Describer::map() {
  const View *y = outs[0];
  size_t inputs = kernel.getInputs();
  if (!y || inputs > ins.size() || llvm::is_contained(ins, nullptr))
    return false;
  StringRef text = kernel.getExpr();
  bool random = text.contains("dropout_mask");
  if (random && (ins.size() == inputs))
    return false;
  if (random)
    result.shared = ins[inputs]->cells;
  ArrayRef<int64_t> dims = y->type.getShape();
  std::vector<int64_t> begin = listOf("begin"), whole = listOf("dims");
  if (begin.empty() && whole.empty()) {
    begin.assign(dims.size(), 0);
    whole = dims.vec();
  }
  if (random && (begin.size() != dims.size() || whole.size() != dims.size()))
    return false;
  for (auto [i, to] : llvm::enumerate(y->cells)) {
    std::vector<int64_t> at = coordinatesOf(dims, i);
    for (const View *x : ins.take_front(inputs)) {
      ArrayRef<int64_t> from = x->type.getShape();
      if (from.size() > dims.size())
        return false;
      std::vector<int64_t> source(at.end() - from.size(), at.end());
      for (auto [c, extent] : llvm::zip_equal(source, from))
        if (extent == 1)
          c = 0;
        else if (extent != dims[&c - source.data() + dims.size() - from.size()])
          return false;
      result.ins.push_back(x->cells[*indexOf(from, source)]);
    }
    int64_t index = 0;
    for (size_t d = 0; random && d < dims.size(); ++d)
      index = index * whole[d] + begin[d] + at[d];
    result.outs.push_back({to, 7});
    result.endGroup(mix(mix(6, tagOf(kernel.getExprAttr())), index));
  }
  return true;
}

bool Describer::sum() {
  const View *y = outs[0];
  for (const View *x : ins)
    if (!y || !x || x->type != y->type)
      return false;
  if (ins.empty())
    return false;
  for (auto [i, to] : llvm::enumerate(y->cells)) {
    for (const View *x : ins)
      result.ins.push_back(x->cells[i]);
    bool copies = ins.size() == 1;
    result.outs.push_back({to, copies ? 0 : 9});
    result.endGroup(8, copies);
  }
  return true;
}

/// [w, m, scalars, loss, gs...] -> [w, m], element by element.
bool Describer::sgd() {
  if (llvm::is_contained(ins, nullptr) || llvm::is_contained(outs, nullptr))
    return false;
  for (const View *view : llvm::concat<const View *const>(
           outs, ins.take_front(2), ins.drop_front(4)))
    if (view->type != ins[0]->type)
      return false;
  for (const View *view : ins.slice(2, 2))
    llvm::append_range(result.shared, view->cells);
  for (auto [i, w] : llvm::enumerate(ins[0]->cells)) {
    result.ins.push_back(w);
    result.ins.push_back(ins[1]->cells[i]);
    for (const View *g : ins.drop_front(4))
      result.ins.push_back(g->cells[i]);
    result.outs.push_back({outs[0]->cells[i], 1});
    result.outs.push_back({outs[1]->cells[i], 2});
    result.endGroup(12);
  }
  return true;
}

bool Describer::describeKnown() {
  StringRef callee = call.getCallee();
  if (callee == "map")
    return map();
  if (callee == "sum")
    return sum();
  if (callee == "sgd")
    return sgd();
  if (callee == "concat")
    return concat();
  if (callee == "split")
    return split();
  if (llvm::is_contained({"reshape", "transpose", "pad", "slice", "slice_grad"},
                         callee))
    return movement(callee);
  if (callee == "fill" && outs[0]) {
    for (Cell to : outs[0]->cells)
      write(*outs[0], to, numberOf("value"));
    return true;
  }
  if (callee == "transfer") {
    if (ins.size() != outs.size())
      return false;
    for (auto [y, x] : llvm::zip_equal(outs, ins)) {
      if (!x || !y || x->type != y->type)
        return false;
      for (auto [to, from] : llvm::zip_equal(y->cells, x->cells))
        copy(to, from);
    }
    return true;
  }
  return false;
}

/// Every result depends on everything that is read.
void Describer::anything(bool torn) {
  Tag seed = mix(tagOf(call.getCalleeAttr()), torn);
  if (kernel)
    seed = mix(seed, tagOf(kernel.getExprAttr()));
  seed = mix(seed, tagOf(params));
  for (const View *view : ins) {
    seed = mix(seed, view ? tagOf(TypeAttr::get(view->type)) : Tag(4));
    if (view)
      llvm::append_range(result.ins, view->cells);
  }
  for (auto [number, view] : llvm::enumerate(outs)) {
    if (!view)
      continue;
    Tag which = mix(13 + number, tagOf(TypeAttr::get(view->type)));
    for (auto [i, cell] : llvm::enumerate(view->cells))
      result.outs.push_back({cell, mix(which, i)});
  }
  result.endGroup(seed);
}

/// Whether a kernel reads element i of the operand before it writes element i
/// of the result, and needs it no more.
bool Describer::mayOverwrite(size_t out, size_t in) {
  StringRef callee = call.getCallee();
  if (outs[out]->type != ins[in]->type || outs[out]->cells != ins[in]->cells)
    return false;
  return callee == "map" || (callee == "sum" && in == 0) ||
         ((callee == "sgd" || callee == "matmul_sgd") && out < 2 && in == out);
}

bool Describer::overwritesItself() {
  auto common = [](const View &a, const View &b) {
    auto less = [](Cell x, Cell y) { return x.at < y.at; };
    if (a.cells.empty() || b.cells.empty())
      return false;
    auto [aMin, aMax] =
        std::minmax_element(a.cells.begin(), a.cells.end(), less);
    auto [bMin, bMax] =
        std::minmax_element(b.cells.begin(), b.cells.end(), less);
    if (aMax->at + aMax->bytes <= bMin->at ||
        bMax->at + bMax->bytes <= aMin->at)
      return false;
    std::set<int64_t> bytes;
    for (Cell cell : a.cells)
      for (int i = 0; i < cell.bytes; ++i)
        bytes.insert(cell.at + i);
    return llvm::any_of(b.cells, [&](Cell cell) {
      for (int i = 0; i < cell.bytes; ++i)
        if (bytes.count(cell.at + i))
          return true;
      return false;
    });
  };
  for (size_t r = 0; r < outs.size(); ++r) {
    if (!outs[r])
      continue;
    for (size_t o = 0; o < r; ++o)
      if (outs[o] && common(*outs[r], *outs[o]))
        return true;
    for (size_t i = 0; i < ins.size(); ++i)
      if (ins[i] && !mayOverwrite(r, i) && common(*outs[r], *ins[i]))
        return true;
  }
  return false;
}

Call test::describeCall(CallOp call, KernelOp kernel,
                        ArrayRef<const View *> ins,
                        ArrayRef<const View *> outs) {
  return Describer(call, kernel, ins, outs).describe();
}
