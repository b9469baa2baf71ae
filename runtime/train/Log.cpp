//===- Log.cpp - A line of JSON for every step ----------------------------===//

#include "runtime/train/Log.h"

#include "runtime/train/Files.h"

namespace lwcc::rt::train {

Log::Log(const std::string &path, bool append) : path(path) {
  if (path.empty())
    return;
  file.reset(std::fopen(path.c_str(), append ? "ae" : "we"));
  if (!file)
    throwSystemError(path, "write");
}

void Log::write(const JsonObject &record) {
  if (!file)
    return;
  std::string line = record.str() + "\n";
  if (std::fwrite(line.data(), 1, line.size(), file.get()) != line.size() ||
      std::fflush(file.get()) != 0)
    throwSystemError(path, "write");
}

} // namespace lwcc::rt::train
