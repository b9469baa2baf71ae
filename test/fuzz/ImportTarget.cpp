//===- ImportTarget.cpp - ONNX bytes, imported ----------------------------===//

#include "test/fuzz/ModelBytes.h"
#include "test/fuzz/Targets.h"

int lwcc::fuzz::importModel(const uint8_t *data, size_t size) {
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  (void)importBytes(data, size, context);
  return 0;
}
