//===- ExportPiece.h - What the trained ONNX file is made of ----*- C++ -*-===//
//
// The recipe of the file that --export-onnx writes, from the importer, which
// makes it, over the program's tables to the trainer, which follows it: pieces
// in order, so that the trainer needs to know nothing of the format.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_RUNTIME_CORE_EXPORTPIECE_H
#define LWCC_RUNTIME_CORE_EXPORTPIECE_H

#include <cstdint>
#include <string>

namespace lwcc {

/// Bytes of the weights blob as they are, or the current value of a state
/// tensor (its raw_data: row-major, little endian).
struct ExportPiece {
  std::string state;  ///< the tensor's name; empty: bytes of the blob
  int64_t offset = 0; ///< of the blob's bytes
  int64_t bytes = 0;
};

} // namespace lwcc

#endif // LWCC_RUNTIME_CORE_EXPORTPIECE_H
