//===- MessageCheck.h - Proves what ranks send each other -------*- C++ -*-===//
//
// Looks at steps and at the messages derived from them, and says what may go
// wrong in any run: whatever lanes do first, and however long a parcel takes.
// It knows only what the runtime does (cpu/RankExchange.h), and nothing of how
// the messages were found, with which it shares no code.
//
//   reads    each byte that a step reads of another rank's device was brought
//            before by a message that left behind the last of its writers, and
//            nothing may bring it with other content until the step is over.
//            It may be brought again with the same content while it is read
//   sources  whoever writes what a message takes is through before it leaves,
//            or begins behind its arrival
//   events   each wait for an event of another rank's is brought it once, not
//            before all steps that stand before its record are through
//   ends     all that is sent is waited for, so that nothing is under way when
//            the run ends, and leaves behind steps that were appended before
//            those that wait for it, so that none waits for ever
//
// The order that is proven is Lamport's (1978): of the steps of a lane, of a
// record and the waits for it, and of what is sent. Its vector clocks count the
// steps of each lane.
//
// Does not check that the program orders what its lanes do on one rank; see
// passes/verify.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_RUNTIME_EXCHANGE_MESSAGECHECK_H
#define LWCC_RUNTIME_EXCHANGE_MESSAGECHECK_H

#include "runtime/exchange/Messages.h"

#include <string>
#include <vector>

namespace lwcc::rt::exchange {

/// What may go wrong; nothing: it is proven that nothing can. `ranks` gives the
/// rank of each device.
std::vector<std::string> checkMessages(const std::vector<Step> &steps,
                                       const std::vector<int> &ranks,
                                       const Messages &messages);

} // namespace lwcc::rt::exchange

#endif // LWCC_RUNTIME_EXCHANGE_MESSAGECHECK_H
