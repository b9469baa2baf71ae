//===- PipelineTest.cpp - What checks beside each other rely on -----------===//

#include "passes/Pipeline.h"
#include "frontend/Import.h"
#include "ir/exec/Exec.h"
#include "ir/train/Train.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include "gtest/gtest.h"

using namespace mlir;
using namespace lwcc;

namespace {

/// MLIR numbers ops when first asked for their order, which two checks that ask
/// at once survive only by luck: 20 of 240 compiles of LeNet-5 for 70 devices
/// on a busy machine did not.
TEST(PipelineTest, NumbersTheOpsBeforeChecksReadThemBesideEachOther) {
  MLIRContext context(MLIRContext::Threading::DISABLED);
  context
      .loadDialect<exec::ExecDialect, train::TrainDialect, func::FuncDialect>();
  FailureOr<ImportedModel> model =
      importOnnx(LWCC_TEST_INPUTS "/cnn.onnxtext", {}, &context);
  ASSERT_TRUE(succeeded(model));
  PipelineOptions options;
  options.strategy = "data";
  options.target = "cpu";
  options.gpus = 2;
  PipelineHooks hooks;
  int forms = 0;
  hooks.onForm = [&](llvm::StringRef form) {
    ++forms;
    model->module->walk([&](Block *block) {
      EXPECT_TRUE(block->empty() || block->isOpOrderValid()) << form.str();
    });
  };
  EXPECT_TRUE(succeeded(runPipeline(*model->module, options, hooks)));
  EXPECT_EQ(forms, static_cast<int>(pipelineForms().size()));
}

} // namespace
