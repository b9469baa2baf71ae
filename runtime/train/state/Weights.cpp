//===- Weights.cpp - Where a program's initial weights are ----------------===//
//
// Inside the program, or, where they would make it too large, in a file beside
// it. The compiler decides which (tools/lwcc/Build.h).
//
//===----------------------------------------------------------------------===//

#include "runtime/train/state/Weights.h"

#include "runtime/core/Error.h"
#include "runtime/core/Program.h"
#include "runtime/train/files/Files.h"

#include <filesystem>

namespace lwcc::rt {

std::string train::weightsPath() {
  std::error_code error;
  auto program = std::filesystem::read_symlink("/proc/self/exe", error);
  return program.string() + ".weights";
}

const char *findWeights(const char *embedded, int64_t embeddedBytes,
                        int64_t bytes) {
  if (embeddedBytes == bytes)
    return embedded;
  try {
    // Mapped as long as the process lives, as the program's own data is.
    auto *file = new train::MappedFile(train::weightsPath());
    return file->size() == bytes ? file->data() : nullptr;
  } catch (const Error &) {
    return nullptr;
  }
}

} // namespace lwcc::rt
