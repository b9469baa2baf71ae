//===- Transport.h - Notified one-sided writes between ranks ----*- C++ -*-===//
//
// A rank is a process that runs some of a program's devices. A parcel is bytes
// that one rank writes into the memory of another, together with the news that
// all of them are there (GASPI's notified write; CaffeGPI). Whoever receives it
// has said beforehand where it goes, so that no address is sent, and never has
// to ask for it.
//
// Does not decide what is sent, when, or where it lands: Messages.h.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_RUNTIME_EXCHANGE_TRANSPORT_H
#define LWCC_RUNTIME_EXCHANGE_TRANSPORT_H

#include <cstdint>
#include <string>

namespace lwcc::rt {

/// What is sent to a peer. It and its data belong to the sender, who may change
/// them once the peer has been told, or a later barrier was passed.
struct Parcel {
  int peer = 0;
  uint64_t id = 0;  ///< both sides know what it stands for
  uint64_t run = 0; ///< of the sequence
  const void *data = nullptr;
  int64_t bytes = 0;      ///< 0: only news
  Parcel *next = nullptr; ///< the transport's own
};

/// Where parcels go. A transport calls it from a thread of its own.
class Receiver {
public:
  virtual ~Receiver() = default;
  /// Memory for the data of a parcel; null if there is none such, or of
  /// another size: then the sender is lost.
  virtual void *landing(int from, uint64_t id, int64_t bytes) = 0;
  /// All bytes of a parcel are where they belong.
  virtual void arrived(int from, uint64_t id, uint64_t run) = 0;
  /// No parcel will come from this peer any more, or reach it.
  virtual void lost(int peer, const std::string &why) = 0;
};

class Transport {
public:
  virtual ~Transport() = default;
  /// Parcels may arrive from here on.
  virtual void start(Receiver &receiver) = 0;
  /// Returns at once and takes no lock: lanes send.
  virtual void send(Parcel &parcel) = 0;
  /// Nothing arrives any more. If `deliver`, returns when peers have what was
  /// sent to them, or do not take it for 10 s; else they may never get it.
  virtual void stop(bool deliver) = 0;
};

} // namespace lwcc::rt

#endif // LWCC_RUNTIME_EXCHANGE_TRANSPORT_H
