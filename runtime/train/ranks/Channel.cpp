//===- Channel.cpp - Messages between rank 0 and another rank -------------===//

#include "runtime/train/ranks/Channel.h"

#include "runtime/core/Error.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <thread>

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

namespace lwcc::rt::train {

using SteadyClock = std::chrono::steady_clock;

static std::string reason() { return std::strerror(errno); }

Channel::Channel(int socket) : socket(socket) {
  const int one = 1;
  ::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
  timeval patience = {silence.count(), 0};
  ::setsockopt(socket, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
}

Channel::~Channel() { ::close(socket); }

void Channel::shut() { ::shutdown(socket, SHUT_RDWR); }

void Channel::send(MessageKind kind, std::string_view contents) {
  char head[9];
  head[0] = static_cast<char>(kind);
  const uint64_t size = contents.size();
  std::memcpy(head + 1, &size, sizeof size);
  std::lock_guard lock(sending);
  iovec parts[] = {{head, sizeof head},
                   {const_cast<char *>(contents.data()), contents.size()}};
  msghdr message = {};
  message.msg_iov = parts;
  message.msg_iovlen = 2;
  for (size_t left = sizeof head + contents.size(); left > 0;) {
    const ssize_t sent = ::sendmsg(socket, &message, MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR)
      continue;
    if (sent < 0)
      throw Error(errno == EAGAIN ? "it takes nothing any more" : reason());
    size_t done = static_cast<size_t>(sent);
    left -= done;
    for (iovec &part : parts) {
      const size_t of = std::min(done, part.iov_len);
      part.iov_base = static_cast<char *>(part.iov_base) + of;
      part.iov_len -= of;
      done -= of;
    }
  }
}

void Channel::tryToSend(MessageKind kind, std::string_view contents) {
  try {
    send(kind, contents);
  } catch (const Error &) { // it is gone
  }
}

void Channel::readAll(void *to, size_t bytes, SteadyClock::time_point until) {
  auto *at = static_cast<char *>(to);
  while (bytes > 0) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        until - SteadyClock::now());
    pollfd event = {socket, POLLIN, 0};
    const int ready =
        ::poll(&event, 1, static_cast<int>(std::max<int64_t>(left.count(), 0)));
    if (ready < 0 && errno == EINTR)
      continue;
    if (ready == 0)
      throw Error("nothing was heard of it");
    const ssize_t got = ::recv(socket, at, bytes, 0);
    if (got == 0)
      throw Error("its connection is closed");
    if (got < 0 && errno == EINTR)
      continue;
    if (got < 0)
      throw Error(reason());
    at += got;
    bytes -= static_cast<size_t>(got);
  }
}

Received Channel::receive(std::chrono::milliseconds patience, uint64_t most) {
  char head[9];
  readAll(head, sizeof head, SteadyClock::now() + patience);
  uint64_t size;
  std::memcpy(&size, head + 1, sizeof size);
  if (size > most ||
      static_cast<uint8_t>(head[0]) > static_cast<uint8_t>(MessageKind::alive))
    throw Error("it sends what is no message of this program");
  Received received{static_cast<MessageKind>(head[0]), {}};
  received.contents.resize(size);
  readAll(received.contents.data(), size, SteadyClock::now() + patience);
  return received;
}

bool Channel::hasMessage(uint64_t most) {
  auto awaitBytes = [&](size_t bytes) {
    const int count = static_cast<int>(bytes);
    ::setsockopt(socket, SOL_SOCKET, SO_RCVLOWAT, &count, sizeof count);
    return bytes <= 1;
  };
  char head[9];
  const ssize_t got =
      ::recv(socket, head, sizeof head, MSG_PEEK | MSG_DONTWAIT);
  const bool isOver =
      got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR);
  if (got < static_cast<ssize_t>(sizeof head))
    return awaitBytes(isOver ? 1 : sizeof head);
  uint64_t size;
  std::memcpy(&size, head + 1, sizeof size);
  int there = 0;
  return awaitBytes(size > most || ::ioctl(socket, FIONREAD, &there) < 0 ||
                            static_cast<uint64_t>(there) >= sizeof head + size
                        ? 1
                        : sizeof head + size);
}

namespace {
struct FreeAddresses {
  void operator()(addrinfo *list) const { ::freeaddrinfo(list); }
};
using Addresses = std::unique_ptr<addrinfo, FreeAddresses>;
} // namespace

static Addresses resolve(const std::string &host, int port) {
  addrinfo hints = {}, *list = nullptr;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICSERV;
  if (int error = ::getaddrinfo(host.c_str(), std::to_string(port).c_str(),
                                &hints, &list))
    throw Error(host + ": " + ::gai_strerror(error));
  return Addresses(list);
}

int listenAt(const std::string &host, int &port) {
  Addresses addresses = resolve(host, port);
  const addrinfo &at = *addresses;
  const std::string where = host + ":" + std::to_string(port);
  const int socket = ::socket(at.ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (socket < 0)
    throw Error(where + ": " + reason());
  const int one = 1;
  ::setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
  if (::bind(socket, at.ai_addr, at.ai_addrlen) < 0 ||
      ::listen(socket, SOMAXCONN) < 0) {
    const int error = errno;
    ::close(socket);
    throw Error(
        "rank 0 cannot listen at " + where + ": " + std::strerror(error) +
        (error == EADDRINUSE      ? "; give another port (LWCC_ADDRESS)"
         : error == EACCES        ? "; ports below 1024 are the system's"
         : error == EADDRNOTAVAIL ? "; it must be an address of this machine"
                                  : ""));
  }
  sockaddr_storage bound = {};
  socklen_t length = sizeof bound;
  ::getsockname(socket, reinterpret_cast<sockaddr *>(&bound), &length);
  port = ntohs(bound.ss_family == AF_INET6
                   ? reinterpret_cast<sockaddr_in6 &>(bound).sin6_port
                   : reinterpret_cast<sockaddr_in &>(bound).sin_port);
  return socket;
}

int connectTo(const std::string &host, int port,
              std::chrono::seconds patience) {
  const auto until = SteadyClock::now() + patience;
  Addresses addresses = resolve(host, port);
  while (true) {
    int error = 0;
    for (addrinfo *at = addresses.get(); at; at = at->ai_next) {
      const int socket = ::socket(at->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
      if (socket < 0)
        throw Error(host + ": " + reason());
      if (::connect(socket, at->ai_addr, at->ai_addrlen) == 0)
        return socket;
      error = errno;
      ::close(socket);
    }
    if (SteadyClock::now() > until)
      throw Error("rank 0 is not at " + host + ":" + std::to_string(port) +
                  " after " + std::to_string(patience.count()) +
                  " s: " + std::strerror(error));
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
}

} // namespace lwcc::rt::train
