//===- Targets.h - What is fuzzed -------------------------------*- C++ -*-===//
//
// One function per door through which files of strangers come in. It returns
// normally whatever the bytes are; what it may not do is crash, hang, read
// outside of its memory or take much of it. Each is linked into a fuzzer of its
// own (LWCC_FUZZERS) and into CorpusTest, which runs the files of corpus/.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_TEST_FUZZ_TARGETS_H
#define LWCC_TEST_FUZZ_TARGETS_H

#include <cstddef>
#include <cstdint>

namespace lwcc::fuzz {

/// An ONNX file: importOnnx.
int importModel(const uint8_t *data, size_t size);
/// An ONNX file: importOnnx and the pipeline to exec, for the CPU.
int compileModel(const uint8_t *data, size_t size);

} // namespace lwcc::fuzz

#endif // LWCC_TEST_FUZZ_TARGETS_H
