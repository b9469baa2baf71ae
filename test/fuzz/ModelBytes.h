//===- ModelBytes.h - Bytes as a model to import ----------------*- C++ -*-===//
//
// Imports a model from bytes in memory: importOnnx takes a path, and gets that
// of a memory file.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_TEST_FUZZ_MODELBYTES_H
#define LWCC_TEST_FUZZ_MODELBYTES_H

#include "frontend/Import.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/MLIRContext.h"

#include <string>
#include <sys/mman.h>
#include <unistd.h>

namespace lwcc::fuzz {

/// Imports with a batch of 2, so that the values of a model stay small, or with
/// the file's own where the model has no other. Discards diagnostics.
inline mlir::FailureOr<ImportedModel>
importBytes(const uint8_t *data, size_t size, mlir::MLIRContext &context) {
  context.getDiagEngine().registerHandler([](mlir::Diagnostic &) {});
  int file = memfd_create("model", MFD_CLOEXEC);
  if (file < 0)
    return mlir::failure();
  mlir::FailureOr<ImportedModel> model = mlir::failure();
  if (write(file, data, size) == ssize_t(size)) {
    const std::string path = "/proc/self/fd/" + std::to_string(file);
    ImportOptions options;
    options.batch = 2;
    model = importOnnx(path, options, &context);
    if (failed(model)) {
      options.batch = 0;
      model = importOnnx(path, options, &context);
    }
  }
  close(file);
  return model;
}

} // namespace lwcc::fuzz

#endif // LWCC_TEST_FUZZ_MODELBYTES_H
