//===- Init.h - First values of the model's state ---------------*- C++ -*-===//
//
// Draws what Program::state says: bytes of the weights, a constant, or random
// numbers that depend only on the seed, the tensor's name and the element's
// index in the logical tensor (runtime/core/Philox.h, step 0):
//
//   uniform  element 4b+i from output r_i of block b:
//            low + uniformOf(r_i) * (high - low), in float
//   normal   Box-Muller in double: u1 = (r0 + 1) * 2^-32, u2 = r1 * 2^-32 give
//            elements 4b and 4b+1 as sqrt(-2 ln u1) * cos and sin (2 pi u2);
//            r2 and r3 give 4b+2 and 4b+3; then mean + deviation * n
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_RUNTIME_TRAIN_STATE_INIT_H
#define LWCC_RUNTIME_TRAIN_STATE_INIT_H

#include "runtime/core/Program.h"

#include <cstdint>
#include <functional>
#include <string>

namespace lwcc::rt::train {

/// Elements [first, first + count) of the tensor `name`; `first` is a multiple
/// of 4. Kind normal or uniform.
void drawRandom(const Init &init, const std::string &name, uint64_t seed,
                int64_t first, int64_t count, float *out);

/// Writes the first values of all state tensors that `wanted` accepts.
/// `fresh`: parameters and statistics take StateTensor::fresh.
void initializeState(Machine &machine, const Program &program, uint64_t seed,
                     bool fresh,
                     const std::function<bool(const StateTensor &)> &wanted);

/// Lets the averages of parameters begin with these.
void startAverages(Machine &machine, const Program &program);

} // namespace lwcc::rt::train

#endif // LWCC_RUNTIME_TRAIN_STATE_INIT_H
