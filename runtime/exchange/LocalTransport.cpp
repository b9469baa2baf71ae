//===- LocalTransport.cpp - Ranks that are threads of one process ---------===//

#include "runtime/exchange/LocalTransport.h"

#include <cstring>

namespace lwcc::rt {

void LocalTransport::start(Receiver &receiver) {
  hub.receivers[rank].store(&receiver, std::memory_order_release);
  hub.receivers[rank].notify_all();
}

void LocalTransport::send(Parcel &parcel) {
  std::atomic<Receiver *> &peer = hub.receivers[parcel.peer];
  peer.wait(nullptr, std::memory_order_acquire);
  Receiver *receiver = peer.load(std::memory_order_acquire);
  const Parcel sent = parcel; // the next one may be made once it has arrived
  if (sent.bytes > 0) {
    void *to = receiver->landing(rank, sent.id, sent.bytes);
    if (!to)
      return receiver->lost(rank, "it sent what this program does not send");
    std::memcpy(to, sent.data, static_cast<size_t>(sent.bytes));
  }
  receiver->arrived(rank, sent.id, sent.run);
}

void LocalTransport::stop(bool) {}

} // namespace lwcc::rt
