//===- SymbolicCall.cpp - What each runtime call computes, on tags --------===//
//
// Elementwise kernels, all others, and calls that overwrite what they read: one
// that may not work in place but does gives something else than one that does
// not.
//
//===----------------------------------------------------------------------===//

#include "SymbolicCall.h"

#include <set>

using namespace mlir;
using namespace lwcc;
using namespace lwcc::test;

/// numpy's broadcasting; random numbers follow from the scalars and from the
/// element's index in the whole tensor.
bool Describer::map() {
  const View *y = outs[0];
  size_t inputs = kernel.getInputs();
  if (!y || inputs > ins.size() || llvm::is_contained(ins, nullptr))
    return false;
  StringRef text = kernel.getExpr();
  bool random = text.contains("dropout_mask") || text.contains("random_");
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

/// How many states an optimizer keeps; 0 if the callee is none.
static size_t statesOf(StringRef callee) {
  return llvm::StringSwitch<size_t>(callee)
      .Cases({"sgd", "matmul_sgd"}, 1)
      .Case("adam", 2)
      .Case("rmsprop", 2)
      .Case("adagrad", 1)
      .Case("lion", 1)
      .Case("lars", 1)
      .Case("lamb", 2)
      .Default(0);
}

/// [w, states..., scalars, loss, gs...] -> [w, states...], element by element.
bool Describer::update(size_t states) {
  if (llvm::is_contained(ins, nullptr) || llvm::is_contained(outs, nullptr))
    return false;
  ArrayRef<const View *> updated = ins.take_front(1 + states),
                         gradients = ins.drop_front(3 + states);
  for (const View *view :
       llvm::concat<const View *const>(outs, updated, gradients))
    if (view->type != ins[0]->type)
      return false;
  for (const View *view : ins.slice(1 + states, 2))
    llvm::append_range(result.shared, view->cells);
  for (size_t i = 0; i < ins[0]->cells.size(); ++i) {
    for (const View *view : llvm::concat<const View *const>(updated, gradients))
      result.ins.push_back(view->cells[i]);
    for (auto [number, out] : llvm::enumerate(outs))
      result.outs.push_back({out->cells[i], number + 1});
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
  if (size_t states = statesOf(callee);
      states && !llvm::is_contained({"matmul_sgd", "lars", "lamb"}, callee))
    return update(states);
  if (callee == "concat")
    return concat();
  if (callee == "split")
    return split();
  if (llvm::is_contained({"reshape", "transpose", "pad", "slice", "slice_grad"},
                         callee))
    return movement(callee);
  if (callee == "fill")
    return fill();
  if (callee == "transfer")
    return transfer();
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
         (in == out && out <= statesOf(callee) && statesOf(callee));
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

Call test::describeCall(exec::CallOp call, exec::KernelOp kernel,
                        ArrayRef<const View *> ins,
                        ArrayRef<const View *> outs) {
  return Describer(call, kernel, ins, outs).describe();
}
