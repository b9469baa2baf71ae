//===- Packet.h - The contents of a message between ranks -------*- C++ -*-===//
//
// Numbers and texts one behind the other, in the byte order of the machine: all
// ranks run the same binary. What is read comes from anybody who can reach the
// port, so every length is checked.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_RUNTIME_TRAIN_RANKS_PACKET_H
#define LWCC_RUNTIME_TRAIN_RANKS_PACKET_H

#include "runtime/core/Error.h"

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>

namespace lwcc::rt::train {

class PacketWriter {
public:
  template <typename T>
  PacketWriter &number(T value) {
    static_assert(std::is_trivially_copyable_v<T>, "numbers only");
    bytes.append(reinterpret_cast<const char *>(&value), sizeof value);
    return *this;
  }
  PacketWriter &text(std::string_view text) {
    number(static_cast<uint64_t>(text.size()));
    bytes += text;
    return *this;
  }
  std::string bytes;
};

/// Throws Error where there is less than is asked for.
class PacketReader {
public:
  explicit PacketReader(std::string_view bytes) : left(bytes) {}

  template <typename T>
  T number() {
    static_assert(std::is_trivially_copyable_v<T>, "numbers only");
    T value;
    std::memcpy(&value, take(sizeof value).data(), sizeof value);
    return value;
  }
  std::string text() {
    const auto size = number<uint64_t>();
    return std::string(take(size));
  }
  std::string_view rest() { return take(left.size()); }

private:
  std::string_view take(uint64_t count) {
    if (count > left.size())
      throw Error("a message of another rank is cut short");
    const std::string_view taken = left.substr(0, count);
    left.remove_prefix(count);
    return taken;
  }
  std::string_view left;
};

} // namespace lwcc::rt::train

#endif // LWCC_RUNTIME_TRAIN_RANKS_PACKET_H
