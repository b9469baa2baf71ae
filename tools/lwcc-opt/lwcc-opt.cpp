//===- lwcc-opt.cpp - Runs passes on a module -----------------------------===//
//
// mlir-opt with our two dialects and our passes: for tests and for looking.
//
//===----------------------------------------------------------------------===//

#include "ir/exec/Exec.h"
#include "ir/train/Train.h"
#include "passes/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "mlir/Transforms/Passes.h"

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  registry.insert<lwcc::train::TrainDialect, lwcc::exec::ExecDialect,
                  mlir::func::FuncDialect>();
  lwcc::registerLwccPasses();
  mlir::registerCanonicalizerPass();
  mlir::registerCSEPass();
  return mlir::asMainReturnCode(
      mlir::MlirOptMain(argc, argv, "lwcc optimizer driver\n", registry));
}
