//===- Messages.h - What ranks send each other in a sequence ----*- C++ -*-===//
//
// Every rank records whole sequences, so each sees which lanes read memory of
// devices that another rank runs, and who wrote that memory before. From this
// all ranks derive the same list of messages:
//
//   message   a region of a device, sent from the rank of the device to a rank
//             that reads it, as soon as its writers are through. It lands in
//             the reader's image of that device's memory, at the same offset.
//   awaits    a lane waits for a message before the first step that reads it
//   news      an event that lanes of another rank wait for; one that is
//             recorded right behind the writer of a message comes with it
//
// An image needs no order of its own. In memory that all share, a region is
// written again only when all that read it are through, and the program's
// events see to that; so the next message that changes bytes leaves behind
// them. Where reads overlap in part, a message may bring the same content once
// more while it is read. A read at the start of a sequence has no writers in
// it: such a region is sent when the run starts, which no rank does before all
// have ended the one before.
//
// Does not decide what is computed where, or the order of anything: that is the
// program's, and its events are kept as they are.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_RUNTIME_EXCHANGE_MESSAGES_H
#define LWCC_RUNTIME_EXCHANGE_MESSAGES_H

#include "runtime/core/Tensor.h"

#include <cstdint>
#include <vector>

namespace lwcc::rt::exchange {

/// Part of a device's memory: elements of a tensor.
struct Region {
  int device = 0;
  Tensor tensor; ///< in this process's memory, or image, of the device
};

/// One entry of a sequence, in the order of appending.
struct Step {
  enum Kind { work, record, wait };
  Kind kind = work;
  int lane = 0;
  int device = 0;             ///< of the lane
  int event = -1;             ///< record, wait
  std::vector<Region> writes; ///< work: on its own device
  std::vector<Region> reads;  ///< work: those that may lie elsewhere
};

struct Message {
  int from = 0, to = 0; ///< ranks
  Region region;
  std::vector<int> writers; ///< steps that must be through; none: the start
  std::vector<int> events;  ///< that are recorded when it arrives
};

/// An event that another rank waits for, and that no message brings.
struct News {
  int from = 0, to = 0;
  int event = 0;
  int record = 0; ///< the step
};

struct Messages {
  std::vector<Message> messages;
  std::vector<News> news;
  /// By step, messages that its lane waits for before it. Each lane waits for a
  /// message once.
  std::vector<std::vector<int>> awaits;
};

/// `ranks` gives the rank of each device. Takes steps in which every wait
/// stands behind the record of its event, and steps that conflict are ordered
/// (the rules of `exec`).
Messages deriveMessages(const std::vector<Step> &steps,
                        const std::vector<int> &ranks);

/// The bytes of a tensor are one run of memory.
bool isContiguous(const Tensor &tensor);

/// The first byte of a tensor, and the one behind its last.
struct Span {
  const char *begin, *end;
};
Span spanOf(const Tensor &tensor);

} // namespace lwcc::rt::exchange

#endif // LWCC_RUNTIME_EXCHANGE_MESSAGES_H
