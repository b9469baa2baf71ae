//===- Tensors.cpp - Where the operator checks put their tensors ----------===//
//
// Gaps between tensors that nothing may touch, tensors that nobody has written
// yet, and in two of three seeds tensors that begin at any multiple of their
// elements' size, as parts of tensors do.
//
//===----------------------------------------------------------------------===//

#include "Emulation.h"
#include "test/unit/runtime-cuda/ops/OpsCheck.h"

using namespace lwcc;
using rt::DType;

static int64_t shift(DType type) {
  if (emulation::seed() % 3 == 0)
    return 0;
  return static_cast<int64_t>(emulation::random() % 4) *
         (type == DType::u8 ? 1 : 4);
}

static const check::Placement watched = {
    shift,
    [](void *data, int64_t bytes) {
      emulation::allow(data, static_cast<size_t>(bytes));
    },
    [](void *data, int64_t bytes) {
      emulation::forbid(data, static_cast<size_t>(bytes));
    }};

static const bool isWatched = (check::placement = &watched, true);
