//===- Reporter.h - Diagnostics about an ONNX file --------------*- C++ -*-===//
//
// How the importer complains: every message is located at a node (or at the
// file) by a name that a person finds again in Netron, and counted, so that all
// mistakes of a file are reported before the import fails.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_FRONTEND_REPORTER_H
#define LWCC_FRONTEND_REPORTER_H

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Location.h"
#include "mlir/IR/MLIRContext.h"

#include <string>

namespace onnx {
class NodeProto;
}

namespace lwcc {

/// The node's name, or that of its first output where it has none.
llvm::StringRef layerName(const onnx::NodeProto &node);

class Reporter {
public:
  Reporter(mlir::MLIRContext *context, llvm::StringRef file)
      : context(context), file(file) {}

  mlir::Location at(const onnx::NodeProto &node) const;
  mlir::Location atFile() const;

  mlir::InFlightDiagnostic error(const onnx::NodeProto &node) {
    return error(at(node));
  }
  mlir::InFlightDiagnostic error() { return error(atFile()); }
  mlir::InFlightDiagnostic error(mlir::Location location) {
    ++errors;
    return mlir::emitError(location);
  }
  mlir::InFlightDiagnostic note() { return mlir::emitRemark(atFile()); }
  mlir::InFlightDiagnostic warning() { return mlir::emitWarning(atFile()); }

  mlir::LogicalResult result() const { return mlir::failure(errors != 0); }
  mlir::MLIRContext *getContext() const { return context; }

private:
  mlir::MLIRContext *context;
  std::string file;
  unsigned errors = 0;
};

} // namespace lwcc

#endif // LWCC_FRONTEND_REPORTER_H
