//===- FoldSums.cpp - Ranges and running sums -----------------------------===//
//
// The functions of ConstantFolder.h in which an element follows from the one
// before it: Range and CumSum.
//
//===----------------------------------------------------------------------===//

#include "frontend/ConstantFolder.h"

#include <cmath>

using namespace lwcc;
using namespace llvm;
using Kind = HostTensor::Kind;
using Inputs = ArrayRef<const HostTensor *>;

std::optional<HostTensor> lwcc::foldCumSum(const NodeView &node, Inputs inputs,
                                           std::string &error) {
  HostTensor result = *inputs[0];
  const int64_t rank = result.shape.size();
  std::optional<int64_t> axis;
  if (inputs[1]->size() == 1 && !inputs[1]->isReal())
    axis = normalizeAxis(inputs[1]->integers[0], rank, error);
  if (!axis) {
    error = error.empty() ? "needs a number as its axis" : error;
    return std::nullopt;
  }
  const bool exclusive = node.integer("exclusive", 0) != 0;
  const bool reverse = node.integer("reverse", 0) != 0;
  const int64_t step = stridesOf(result.shape)[*axis];
  const int64_t extent = result.shape[*axis];
  auto sumUp = [&](auto &values, auto add) {
    for (int64_t i = 0; i < result.size(); ++i) {
      const int64_t place = i / step % extent;
      if (place != 0) // the first element begins a line
        continue;
      decltype(values[0] + 0) sum = 0;
      for (int64_t k = 0; k < extent; ++k) {
        auto &value = values[i + (reverse ? extent - 1 - k : k) * step];
        const auto next = add(sum, value);
        value = exclusive ? sum : next;
        sum = next;
      }
    }
  };
  if (result.isReal())
    sumUp(result.reals, [](float a, float b) { return a + b; });
  else
    sumUp(result.integers,
          [](int64_t a, int64_t b) { return wrap(uint64_t(a) + uint64_t(b)); });
  return result;
}

std::optional<HostTensor> lwcc::foldRange(const NodeView &, Inputs inputs,
                                          std::string &error) {
  for (const HostTensor *input : inputs)
    if (input->size() != 1) {
      error = "needs scalars";
      return std::nullopt;
    }
  double start = inputs[0]->at(0), limit = inputs[1]->at(0),
         delta = inputs[2]->at(0);
  double count = delta == 0 ? 0 : std::ceil((limit - start) / delta);
  if (!(count <= double(foldLimit))) {
    error = "makes too many elements";
    return std::nullopt;
  }
  int64_t n = count > 0 ? int64_t(count) : 0;
  HostTensor result = HostTensor::empty(inputs[0]->kind, {n});
  for (int64_t i = 0; i < n; ++i) {
    if (result.isReal())
      result.reals.push_back(float(start + double(i) * delta));
    else
      result.integers.push_back(wrap(uint64_t(inputs[0]->integers[0]) +
                                     uint64_t(i) * uint64_t(toInteger(delta))));
  }
  return result;
}
