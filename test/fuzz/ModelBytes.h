//===- ModelBytes.h - Bytes as a model to import ----------------*- C++ -*-===//
//
// importOnnx takes a path. The bytes get one without touching the disk.
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

/// Imports at a batch of 2, so that what a file asks for stays small. Nothing
/// is printed: what is said about a broken file is of no interest here.
inline mlir::FailureOr<ImportedModel>
importBytes(const uint8_t *data, size_t size, mlir::MLIRContext &context) {
  context.getDiagEngine().registerHandler([](mlir::Diagnostic &) {});
  int file = memfd_create("model", MFD_CLOEXEC);
  if (file < 0)
    return mlir::failure();
  mlir::FailureOr<ImportedModel> model = mlir::failure();
  if (write(file, data, size) == ssize_t(size)) {
    ImportOptions options;
    options.batch = 2;
    model =
        importOnnx("/proc/self/fd/" + std::to_string(file), options, &context);
  }
  close(file);
  return model;
}

} // namespace lwcc::fuzz

#endif // LWCC_TEST_FUZZ_MODELBYTES_H
