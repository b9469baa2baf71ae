//===- OnnxExport.h - The recipe for the trained ONNX file ------*- C++ -*-===//
//
// Prepares the file that the trainer writes. It is a list of pieces: literal
// bytes, and parameters whose current values go in between. The trainer
// (OnnxExport.h in runtime/train) writes one after the other and needs no
// protobuf.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_FRONTEND_ONNXEXPORT_H
#define LWCC_FRONTEND_ONNXEXPORT_H

#include "frontend/GraphImporter.h"

namespace lwcc {

/// Appends the literal bytes to `blob` and returns the pieces. Concatenated
/// they are the model in inference form: every parameter an initializer of
/// float32, BatchNormalization and Dropout not training, no traces of the
/// author's machine. Consumes the file's model. Empty, with a warning, if the
/// file would be larger than protobuf allows.
std::vector<ExportPiece> exportRecipe(OnnxFile &file, const Leaves &leaves,
                                      const GraphImporter &imported,
                                      std::vector<char> &blob,
                                      Reporter &reporter);

} // namespace lwcc

#endif // LWCC_FRONTEND_ONNXEXPORT_H
