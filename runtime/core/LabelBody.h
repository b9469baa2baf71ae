//===- LabelBody.h - Which labels count, which logit ranks first *- C++ -*-===//
//
// Two rules that the losses and the accuracy of both backends share: which
// labels count, and in which order equal logits and NaNs rank.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_RUNTIME_CORE_LABELBODY_H
#define LWCC_RUNTIME_CORE_LABELBODY_H

#include "runtime/core/HostDevice.h"

#include <cstdint>

namespace lwcc::rt {

/// Whether a label takes part in the loss. The trainer refuses data with labels
/// above the last class; here they must only never be read with.
LWCC_HD bool labelCounts(int32_t label, int64_t classes, int64_t ignoreIndex) {
  return label >= 0 && label < classes && label != ignoreIndex;
}

/// Whether logit a of class i ranks before logit b of class j: larger first,
/// then the lower class; NaN is larger than anything, as in torch.topk.
LWCC_HD bool ranksBefore(float a, int64_t i, float b, int64_t j) {
  bool nanA = a != a, nanB = b != b;
  if (nanA || nanB)
    return nanA && (!nanB || i < j);
  return a > b || (a == b && i < j);
}

} // namespace lwcc::rt

#endif // LWCC_RUNTIME_CORE_LABELBODY_H
