//===- Channel.h - Messages between rank 0 and another rank -----*- C++ -*-===//
//
// A TCP connection that carries whole messages: a kind, and contents of a
// limited size. Any thread may send; one receives. Both ends send something
// every second, so that silence means that the other is gone or stands still.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_RUNTIME_TRAIN_RANKS_CHANNEL_H
#define LWCC_RUNTIME_TRAIN_RANKS_CHANNEL_H

#include <chrono>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>

namespace lwcc::rt::train {

enum class MessageKind : uint8_t {
  // While ranks meet (LeaderMeeting.cpp)
  hello,
  welcome,
  refused,
  prepared,
  peers,
  // From rank 0
  record,
  openLoader,
  stage,
  write,
  run,
  measure,
  read,
  saved,
  end,
  abort,
  // To rank 0
  reply,
  failed,
  stop,
  // Both ways
  alive
};

struct Received {
  MessageKind kind = MessageKind::alive;
  std::string contents;
};

/// What a message may hold once the other end has shown the secret, and before.
inline constexpr uint64_t mostContents = uint64_t(32) << 20,
                          mostBefore = uint64_t(64) << 10;
/// What one message carries of a tensor.
inline constexpr int64_t pieceBytes = int64_t(16) << 20;
inline constexpr std::chrono::seconds heartbeat{1}, silence{10};

class Channel {
public:
  explicit Channel(int socket);
  Channel(const Channel &) = delete;
  Channel &operator=(const Channel &) = delete;
  ~Channel();

  /// Throws Error where the other end is gone, or takes nothing for `silence`.
  void send(MessageKind kind, std::string_view contents = {});
  /// The same where nothing follows from it: who receives finds out.
  void tryToSend(MessageKind kind, std::string_view contents = {});
  /// The next message. Throws Error: gone, silent for so long, or not a
  /// message.
  Received receive(std::chrono::milliseconds patience, uint64_t most);
  /// Receiving would not wait. Where it would, poll() tells when to ask again.
  bool hasMessage(uint64_t most);
  /// Ends the connection; who receives finds out.
  void shut();
  int descriptor() const { return socket; }

private:
  void readAll(void *to, size_t bytes,
               std::chrono::steady_clock::time_point until);
  const int socket;
  std::mutex sending;
};

/// Listens at this address alone; port 0: one that is free, `port` says which.
/// Throws Error.
int listenAt(const std::string &host, int &port);
/// Connects, trying again for so long. Throws Error.
int connectTo(const std::string &host, int port, std::chrono::seconds patience);

} // namespace lwcc::rt::train

#endif // LWCC_RUNTIME_TRAIN_RANKS_CHANNEL_H
