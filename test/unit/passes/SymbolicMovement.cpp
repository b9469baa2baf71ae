//===- SymbolicMovement.cpp - Calls that only move data, on tags ----------===//
//
// After runtime/core/Ops.h, element by element.
//
//===----------------------------------------------------------------------===//

#include "SymbolicCall.h"

#include "llvm/ADT/StringExtras.h"

#include <set>

using namespace mlir;
using namespace lwcc;
using namespace lwcc::test;

/// The linear index of coordinates, or nothing if they are outside.
std::optional<int64_t> test::indexOf(ArrayRef<int64_t> dims,
                                     ArrayRef<int64_t> coordinates) {
  int64_t index = 0;
  for (auto [extent, c] : llvm::zip_equal(dims, coordinates)) {
    if (c < 0 || c >= extent)
      return std::nullopt;
    index = index * extent + c;
  }
  return index;
}

/// A number has a tag by its value alone.
void Describer::write(const View &to, Cell cell, double value) {
  result.outs.push_back({cell, 0});
  result.endGroup(mix(mix(5, tagOf(TypeAttr::get(to.type.getElementType()))),
                      llvm::bit_cast<uint64_t>(value)));
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

bool Describer::transfer() {
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

bool Describer::fill() {
  if (!outs[0])
    return false;
  for (Cell to : outs[0]->cells)
    write(*outs[0], to, numberOf("value"));
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
