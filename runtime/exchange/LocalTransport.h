//===- LocalTransport.h - Ranks that are threads of one process -*- C++ -*-===//
//
// Parcels between machines in one process: a copy by the sender's thread. For
// tests, and for sanitizers, which see every access of it.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_RUNTIME_EXCHANGE_LOCALTRANSPORT_H
#define LWCC_RUNTIME_EXCHANGE_LOCALTRANSPORT_H

#include "runtime/exchange/Transport.h"

#include <atomic>
#include <deque>

namespace lwcc::rt {

/// What the ranks of one process share; outlives their transports.
class LocalHub {
public:
  explicit LocalHub(int ranks) : receivers(ranks) {}

private:
  friend class LocalTransport;
  std::deque<std::atomic<Receiver *>> receivers;
};

class LocalTransport final : public Transport {
public:
  LocalTransport(LocalHub &hub, int rank) : hub(hub), rank(rank) {}
  void start(Receiver &receiver) override;
  void send(Parcel &parcel) override;
  void stop(bool deliver) override;

private:
  LocalHub &hub;
  const int rank;
};

} // namespace lwcc::rt

#endif // LWCC_RUNTIME_EXCHANGE_LOCALTRANSPORT_H
