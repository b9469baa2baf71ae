//===- OnnxExport.h - The model with its trained values ---------*- C++ -*-===//
//
// The compiler knows where in the ONNX file every initializer's bytes go
// (Program::onnxExport), so no protobuf is needed: literal pieces are copied,
// the others are read from the devices. The file appears when it is whole.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_RUNTIME_TRAIN_STATE_ONNXEXPORT_H
#define LWCC_RUNTIME_TRAIN_STATE_ONNXEXPORT_H

#include "runtime/core/Program.h"

#include <string>

namespace lwcc::rt::train {

void exportOnnx(const std::string &path, const Program &program,
                Machine &machine);

} // namespace lwcc::rt::train

#endif // LWCC_RUNTIME_TRAIN_STATE_ONNXEXPORT_H
