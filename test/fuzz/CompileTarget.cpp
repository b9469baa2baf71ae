//===- CompileTarget.cpp - ONNX bytes, compiled to exec -------------------===//

#include "ir/exec/Exec.h"
#include "passes/Pipeline.h"
#include "test/fuzz/ModelBytes.h"
#include "test/fuzz/Targets.h"

int lwcc::fuzz::compileModel(const uint8_t *data, size_t size) {
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
