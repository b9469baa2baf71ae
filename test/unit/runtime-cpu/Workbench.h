//===- Workbench.h - Runs single operators for tests ------------*- C++ -*-===//
//
// Runs single operators of the CPU runtime: a machine with one device, tensors
// in its arena, and comparison with references in double precision. Values go
// in and out in logical (row-major) order, so references know no layouts.
// Results start as NaN: an element that an operator does not write fails the
// test.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_TEST_UNIT_RUNTIME_CPU_WORKBENCH_H
#define LWCC_TEST_UNIT_RUNTIME_CPU_WORKBENCH_H

#include "runtime/core/Machine.h"
#include "runtime/core/Ops.h"

#include <cmath>
#include <functional>
#include <gtest/gtest.h>
#include <limits>
#include <vector>

namespace lwcc::rt {

using Dims = std::vector<int64_t>;
using Floats = std::vector<float>;
using Doubles = std::vector<double>;

inline int64_t product(const Dims &dims) {
  int64_t n = 1;
  for (int64_t d : dims)
    n *= d;
  return n;
}

/// Reproducible values in [-1, 1) with few significant bits, so that short sums
/// are exact.
inline Floats randomValues(int64_t n, uint32_t seed) {
  Floats values(n);
  uint32_t state = seed * 2654435761u + 12345u;
  for (float &v : values) {
    state = state * 1664525u + 1013904223u;
    v = static_cast<float>(static_cast<int32_t>(state) >> 12) / 524288.0f;
  }
  return values;
}

/// A machine with one device and one lane, for one test.
class Workbench {
public:
  explicit Workbench(int threads = 2, int64_t arenaBytes = int64_t(64) << 20) {
    MachineSpec spec;
    spec.devices = {{arenaBytes}};
    spec.lanes = {{0, "main"}};
    MachineOptions options;
    options.threads = threads;
    machine = Machine::create(spec, options);
    next = machine->arena(0);
    end = next + arenaBytes;
  }

  Tensor tensor(const Dims &dims, DType type = DType::f32) {
    Tensor t(next, type, dims.data(), static_cast<int>(dims.size()),
             dims.size() == 4 ? Layout::nhwc : Layout::dense);
    next += (t.bytes() + 255) / 256 * 256;
    EXPECT_LE(next, end) << "arena of the test is too small";
    if (type == DType::f32)
      set(t, Floats(t.elements(), std::numeric_limits<float>::quiet_NaN()));
    return t;
  }
  Tensor tensor(const Dims &dims, const Floats &values) {
    Tensor t = tensor(dims);
    set(t, values);
    return t;
  }
  Tensor labels(const Dims &dims, const std::vector<int32_t> &values) {
    Tensor t = tensor(dims, DType::i32);
    machine->write(t, 0, values.data());
    return t;
  }
  void set(const Tensor &t, const Floats &values) {
    ASSERT_EQ(static_cast<int64_t>(values.size()), t.elements());
    machine->write(t, 0, values.data());
  }
  Floats get(const Tensor &t) {
    Floats values(t.elements());
    machine->read(t, 0, values.data());
    return values;
  }
  std::vector<int32_t> getInts(const Tensor &t) {
    std::vector<int32_t> values(t.elements());
    if (t.type == DType::u8) {
      std::vector<uint8_t> bytes(t.elements());
      machine->read(t, 0, bytes.data());
      values.assign(bytes.begin(), bytes.end());
    } else {
      machine->read(t, 0, values.data());
    }
    return values;
  }

  /// Records what `body` appends and runs it twice: a replay must not depend on
  /// what the first run left in memory.
  void run(const std::function<void(Lane &)> &body) {
    Sequence *s = machine->record("test", [&] { body(machine->lane(0)); });
    machine->run(s);
    machine->run(s);
    machine->synchronize();
  }

  std::unique_ptr<Machine> machine;

private:
  char *next, *end;
};

/// `values`, with a NaN in the middle if `poisoned`. The NaN must reach exactly
/// the elements to which the reference's arithmetic takes it.
inline Floats poisonedIf(bool poisoned, Floats values) {
  if (poisoned)
    values[values.size() / 2] = std::numeric_limits<float>::quiet_NaN();
  return values;
}

/// Compares element by element: within `tolerance`, absolutely below magnitude
/// 1 and relatively above; NaN exactly where NaN is expected.
inline void expectClose(const Floats &actual, const Doubles &expected,
                        double tolerance = 1e-5) {
  ASSERT_EQ(actual.size(), expected.size());
  for (size_t i = 0; i < actual.size(); ++i) {
    if (std::isnan(expected[i])) {
      ASSERT_TRUE(std::isnan(actual[i])) << "element " << i;
      continue;
    }
    ASSERT_NEAR(actual[i], expected[i],
                tolerance * std::max(1.0, std::abs(expected[i])))
        << "element " << i;
  }
}

} // namespace lwcc::rt

#endif // LWCC_TEST_UNIT_RUNTIME_CPU_WORKBENCH_H
