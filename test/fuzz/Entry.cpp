//===- Entry.cpp - libFuzzer's door to one target -------------------------===//

#include "test/fuzz/Targets.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  return lwcc::fuzz::LWCC_FUZZ_TARGET(data, size);
}
