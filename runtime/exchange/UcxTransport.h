//===- UcxTransport.h - Parcels by UCX --------------------------*- C++ -*-===//
//
// Ranks that are processes, on one machine or several, by UCX: shared memory,
// TCP, or remote direct memory access, whichever it finds quickest (UCX_TLS
// chooses). A parcel is an active message: small ones carry their data, large
// ones are fetched to where the receiver wants them.
//
// Why not a put, a fence and a put of a flag: someone had to look at flags, and
// over TCP the target makes a put's progress anyhow. An active message tells of
// its own arrival.
//
// One thread of each rank does all of it and sleeps while nothing comes. libucp
// is loaded when the first transport is made: programs run without it where
// they have one rank.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_RUNTIME_EXCHANGE_UCXTRANSPORT_H
#define LWCC_RUNTIME_EXCHANGE_UCXTRANSPORT_H

#include "runtime/exchange/Transport.h"

#include <memory>
#include <string>
#include <vector>

namespace lwcc::rt {

/// Another rank.
struct UcxPeer {
  std::string address; ///< as its transport gives it: bytes
  bool isNear = false; ///< on the same machine: others notice if it is gone
};

class UcxTransport final : public Transport {
public:
  /// Throws Error: no libucp on this machine, or it finds no way.
  explicit UcxTransport(int rank);
  ~UcxTransport() override;

  /// What the others need to reach this rank: bytes.
  const std::string &address() const;
  /// All ranks, before start.
  void setPeers(std::vector<UcxPeer> peers);

  void start(Receiver &receiver) override;
  void send(Parcel &parcel) override;
  void stop(bool deliver) override;

private:
  struct State;
  std::unique_ptr<State> state;
};

} // namespace lwcc::rt

#endif // LWCC_RUNTIME_EXCHANGE_UCXTRANSPORT_H
