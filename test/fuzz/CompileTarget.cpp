//===- CompileTarget.cpp - ONNX bytes, compiled to exec -------------------===//

#include "ir/exec/Exec.h"
#include "passes/Passes.h"
#include "passes/Pipeline.h"
#include "test/fuzz/ModelBytes.h"
#include "test/fuzz/Targets.h"

#include "mlir/Transforms/Passes.h"

int lwcc::fuzz::compileModel(const uint8_t *data, size_t size) {
  static const bool registered = [] {
    registerLwccPasses();
    mlir::registerCanonicalizerPass();
    mlir::registerCSEPass();
    return true;
  }();
  (void)registered;
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  context.loadDialect<exec::ExecDialect>();
  mlir::FailureOr<ImportedModel> model = importBytes(data, size, context);
  if (failed(model))
    return 0;
  PipelineOptions options;
  options.target = "cpu";
  (void)runPipeline(*model->module, options);
  return 0;
}
