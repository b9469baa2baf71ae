//===- Targets.h - The targets of the fuzzers -------------------*- C++ -*-===//
//
// One target per kind of file that lwcc or a trainer reads from strangers. A
// target must return whatever the bytes are; it must not crash, hang, access
// memory out of bounds or use much of it. Each is linked into a fuzzer
// (LWCC_FUZZERS), and into CorpusTest, which runs the files of corpus/.
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

/// A plan file: read, completed and checked against a small model on four
/// devices.
int readPlan(const uint8_t *data, size_t size);
/// A machine file.
int readMachine(const uint8_t *data, size_t size);
/// A file of measured costs.
int readCosts(const uint8_t *data, size_t size);

/// A checkpoint's state.json, with the flags that it records.
int readState(const uint8_t *data, size_t size);
/// A checkpoint's tensors, or first weights; every element is read.
int readTensors(const uint8_t *data, size_t size);
/// An ONNX file as a trainer reads it: its initializers, or first weights.
int readInitializers(const uint8_t *data, size_t size);
/// A NumPy file, as images and as labels.
int readNumpy(const uint8_t *data, size_t size);
/// An IDX file, plain and compressed.
int readIdxFile(const uint8_t *data, size_t size);
int readIdxGz(const uint8_t *data, size_t size);
/// A file of tokens, and the labels that follow from it.
int readTokens(const uint8_t *data, size_t size);
/// CIFAR's binary files, of 10 and of 100 classes, and a list of classes.
int readCifar(const uint8_t *data, size_t size);
/// A table, for models of all kinds.
int readCsv(const uint8_t *data, size_t size);
/// An archive of arrays, for models of one and of two inputs.
int readNpz(const uint8_t *data, size_t size);
int readTar(const uint8_t *data, size_t size);
/// A folder of files, whose names and bytes are given: openData.
int readFolder(const uint8_t *data, size_t size);
/// A picture, in colour and in grey.
int readPicture(const uint8_t *data, size_t size);

} // namespace lwcc::fuzz

#endif // LWCC_TEST_FUZZ_TARGETS_H
