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

/// A plan, completed and checked against a small model on four devices.
int readPlan(const uint8_t *data, size_t size);
/// A machine.
int readMachine(const uint8_t *data, size_t size);
/// Measured costs.
int readCosts(const uint8_t *data, size_t size);

/// A checkpoint's state.json, with the flags that it remembers.
int readState(const uint8_t *data, size_t size);
/// A checkpoint's tensors: every element is looked at.
int readTensors(const uint8_t *data, size_t size);
/// NumPy's arrays.
int readNumpy(const uint8_t *data, size_t size);
/// IDX, as it is and compressed.
int readIdxFile(const uint8_t *data, size_t size);
int readIdxGz(const uint8_t *data, size_t size);

} // namespace lwcc::fuzz

#endif // LWCC_TEST_FUZZ_TARGETS_H
