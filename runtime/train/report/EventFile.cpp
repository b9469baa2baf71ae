//===- EventFile.cpp - Losses and accuracies for TensorBoard --------------===//

#include "runtime/train/report/EventFile.h"

#include "runtime/core/Error.h"

#include <array>
#include <bit>
#include <chrono>
#include <cstring>
#include <filesystem>

#include <unistd.h>

namespace lwcc::rt::train {

static constexpr std::array<uint32_t, 256> checksumTable = [] {
  std::array<uint32_t, 256> table{};
  for (uint32_t byte = 0; byte < 256; ++byte) {
    uint32_t rest = byte;
    for (int bit = 0; bit < 8; ++bit)
      rest = rest >> 1 ^ (rest & 1 ? 0x82f63b78u : 0);
    table[byte] = rest;
  }
  return table;
}();

uint32_t maskedChecksum(std::string_view bytes) {
  uint32_t sum = 0xffffffff;
  for (char byte : bytes)
    sum = checksumTable[(sum ^ static_cast<uint8_t>(byte)) & 255] ^ sum >> 8;
  return std::rotr(~sum, 15) + 0xa282ead8u;
}

//===----------------------------------------------------------------------===//
// Protocol buffers
//===----------------------------------------------------------------------===//

namespace {
/// The fields of a message, as they are encoded.
class Message {
public:
  Message &number(int field, uint64_t value) {
    tag(field, 0);
    variable(value);
    return *this;
  }
  Message &real(int field, double value) { return fixed(field, 1, value); }
  Message &single(int field, float value) { return fixed(field, 5, value); }
  Message &bytes(int field, std::string_view value) {
    tag(field, 2);
    variable(value.size());
    text += value;
    return *this;
  }
  const std::string &str() const { return text; }

private:
  void tag(int field, int kind) { variable(uint64_t(field) << 3 | kind); }
  void variable(uint64_t value) {
    for (; value >= 128; value >>= 7)
      text += static_cast<char>(value | 128);
    text += static_cast<char>(value);
  }
  template <typename T>
  Message &fixed(int field, int kind, T value) {
    tag(field, kind);
    text.append(reinterpret_cast<const char *>(&value), sizeof value);
    return *this;
  }

  std::string text;
};
} // namespace

/// With when it was and of which step it is: fields 1 and 2.
static Message event(int64_t step) {
  const std::chrono::duration<double> now =
      std::chrono::system_clock::now().time_since_epoch();
  return Message().real(1, now.count()).number(2, uint64_t(step));
}

//===----------------------------------------------------------------------===//
// The file
//===----------------------------------------------------------------------===//

/// Two runs never have the same name.
static std::string pathIn(const std::string &folder) {
  if (folder.empty())
    return "";
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error)
    throw Error(folder + ": cannot make the folder: " + error.message());
  char host[256] = "";
  ::gethostname(host, sizeof host - 1);
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return folder + "/events.out.tfevents." +
         std::to_string(
             std::chrono::duration_cast<std::chrono::microseconds>(now)
                 .count()) +
         "." + host + "." + std::to_string(::getpid());
}

EventFile::EventFile(const std::string &folder, int64_t firstStep)
    : file(pathIn(folder), /*keep=*/true) {
  if (!file.isOpen())
    return;
  constexpr int fileVersion = 3, sessionLog = 7, status = 1, started = 1;
  write(event(0).bytes(fileVersion, "brain.Event:2").str());
  write(event(firstStep)
            .bytes(sessionLog, Message().number(status, started).str())
            .str());
}

void EventFile::add(int64_t step, const std::vector<Scalar> &scalars) {
  if (!file.isOpen())
    return;
  constexpr int summary = 5, value = 1, name = 1, simpleValue = 2;
  Message all;
  for (const auto &[tag, scalar] : scalars)
    all.bytes(value,
              Message().bytes(name, tag).single(simpleValue, scalar).str());
  write(event(step).bytes(summary, all.str()).str());
}

void EventFile::write(std::string_view event) {
  auto bytesOf = [](const auto &value) {
    return std::string(reinterpret_cast<const char *>(&value), sizeof value);
  };
  const std::string length = bytesOf(uint64_t(event.size()));
  file.appendBytes(length + bytesOf(maskedChecksum(length)) +
                   std::string(event) + bytesOf(maskedChecksum(event)));
}

} // namespace lwcc::rt::train
