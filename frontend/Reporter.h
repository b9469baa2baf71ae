//===- Reporter.h - Diagnostics about an ONNX file --------------*- C++ -*-===//
//
// Reports what is wrong with a file. A message names the node (or the file) as
// viewers such as Netron show it. Errors are counted; the import goes on after
// one, to report all of them, and fails at the end.
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

/// "a, b, c, ..." of more than three names.
std::string firstOf(llvm::ArrayRef<std::string> names);

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
