//===- OpsCheck.h - Every runtime operator against plain loops --*- C++ -*-===//
//
// Compares every function of runtime/core/Ops.h, on the backend that is linked,
// with plain loops that compute the same in double precision. It is a program
// without a test framework, so that it can be copied to a machine with a GPU:
// tools/gpu-test.sh runs it first. Linked with the CPU runtime it checks the
// loops themselves.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_TEST_OPS_OPSCHECK_H
#define LWCC_TEST_OPS_OPSCHECK_H

#include "runtime/core/Machine.h"
#include "runtime/core/Ops.h"
#include "runtime/core/Scalars.h"

#include <functional>
#include <initializer_list>
#include <string>
#include <vector>

namespace lwcc::check {

using Dims = std::vector<int64_t>;

/// A tensor on the host: row-major over logical indices.
struct Host {
  Dims dims;
  std::vector<double> v;

  Host() = default;
  explicit Host(Dims dims, double value = 0);
  int64_t elements() const { return static_cast<int64_t>(v.size()); }
  int64_t offset(const Dims &index) const;
  double &at(const Dims &index) { return v[offset(index)]; }
  double at(const Dims &index) const { return v[offset(index)]; }
};

/// Uniform in [low, high), rounded to float; the same on every machine.
Host random(Dims dims, double low = -1, double high = 1);
/// Whole numbers in [low, high].
Host randomInts(Dims dims, int low, int high);

/// A whole number in [low, high], drawn by the same generator.
int64_t draw(int64_t low, int64_t high);
/// Extents of a tensor of at most some thousand elements.
Dims drawDims(int64_t lowestRank, int64_t highestRank);

/// Calls f(index) for every index, in row-major order.
void forEach(const Dims &dims, const std::function<void(const Dims &)> &f);

/// Where device memory is watched (test/cuda-emulation), the place of each
/// tensor is chosen and told there; elsewhere there is none.
struct Placement {
  /// Bytes between a tensor and the multiple of 256 behind the one before.
  int64_t (*shift)(rt::DType type);
  /// These bytes of the arena are a tensor from now on, or none.
  void (*tensor)(void *data, int64_t bytes);
  void (*nothing)(void *data, int64_t bytes);
};
inline const Placement *placement = nullptr;

/// A machine with one lane; its tensors live until clear().
class Bench {
public:
  explicit Bench(bool deterministic);

  rt::Tensor input(const Host &values, rt::DType type = rt::DType::f32);
  rt::Tensor output(const Dims &dims, rt::DType type = rt::DType::f32);
  rt::Tensor scalars(const rt::StepScalars &values);
  /// Records what `body` appends, runs it once and waits.
  void run(const std::function<void(rt::Lane &)> &body);
  Host read(rt::Tensor tensor);
  /// Counts a comparison; prints it if the two differ by more than `tolerance`
  /// times the largest magnitude of the expected values (and at least 1e-7).
  /// Sums may cancel; `magnitude` is what they would have if they did not.
  void expect(const std::string &what, rt::Tensor result, const Host &expected,
              double tolerance = 1e-5, double magnitude = 0);
  /// Where results must be the same from call to call, counts that these are.
  void expectSame(const std::string &what, rt::Tensor one, rt::Tensor other);
  void clear();

  rt::Machine &machine() { return *theMachine; }
  int checks = 0, failures = 0;

private:
  rt::Tensor place(const Dims &dims, rt::DType type, int64_t shift);

  const bool isDeterministic;
  std::unique_ptr<rt::Machine> theMachine;
  int64_t used = 0;
};

/// Each checks one family of runtime/core/Ops.h in cases that were chosen for
/// what their kernels distinguish; checkMachine the machine itself.
void checkConvolutions(Bench &bench);
void checkAttention(Bench &bench);
void checkProducts(Bench &bench);
void checkPooling(Bench &bench);
void checkNormalization(Bench &bench);
void checkLosses(Bench &bench);
void checkMovement(Bench &bench);
void checkOptimizer(Bench &bench);
void checkMaps(Bench &bench);
void checkMachine(Bench &bench);

/// Each checks one case of its family, or several, of shapes and parameters
/// that are drawn from all that the operators allow.
void drawConvolution(Bench &bench);
void drawAttention(Bench &bench);
void drawProduct(Bench &bench);
void drawPooling(Bench &bench);
void drawNormalization(Bench &bench);
void drawLoss(Bench &bench);
void drawMovement(Bench &bench);
void drawOptimizer(Bench &bench);
void drawMap(Bench &bench);

} // namespace lwcc::check

#endif // LWCC_TEST_OPS_OPSCHECK_H
