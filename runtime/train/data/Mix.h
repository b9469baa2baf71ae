//===- Mix.h - Samples of a batch that are mixed ----------------*- C++ -*-===//
//
// Decides how the samples of a training's batch are mixed, each with the one
// ahead of it and the first with the last, and does it: torchvision's MixUp and
// CutMix, and where both are asked for its RandomChoice of them.
//
// All samples of a batch are mixed alike. A decision is a function of seed,
// epoch and the batch's number in its epoch. Its numbers are those of Philox
// (core/Philox.h) with stream "mixing", step = epoch, and blocks from the
// batch's number * 65536 on: the first for the choice and the place, then one
// for each try of the share.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_RUNTIME_TRAIN_DATA_MIX_H
#define LWCC_RUNTIME_TRAIN_DATA_MIX_H

#include "runtime/train/data/Augment.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace lwcc::rt::train {

/// How the samples of a batch are mixed.
struct Mixture {
  double share = 1; ///< of a sample's own label
  /// What it gets of the other one; absent: the values are mixed by the share.
  std::optional<Crop> box;
};

/// A distribution of the share for each way to mix; 0: never in this way.
struct Mixing {
  double mixup = 0, cutmix = 0; ///< both parameters of Beta distributions

  bool any() const { return mixup > 0 || cutmix > 0; }
  /// For inputs of these dimensions, [c, h, w] where something is cut.
  Mixture draw(uint64_t seed, int64_t epoch, int64_t batch,
               const std::vector<int64_t> &dims) const;
};

/// `own` and `other` have these dimensions.
void mixInputs(const Mixture &mixture, const std::vector<int64_t> &dims,
               const float *own, const float *other, float *mixed);

/// What a sample is trained on.
struct MixedLabel {
  std::vector<float> shares; ///< of all classes
  int32_t label = -1;        ///< the class of the greatest share
};

/// Of a sample and another one, both with classes. Resizes nothing.
void mixLabels(const Mixture &mixture, int32_t own, int32_t other,
               MixedLabel &mixed);

} // namespace lwcc::rt::train

#endif // LWCC_RUNTIME_TRAIN_DATA_MIX_H
