//===- Translation.cpp - lwcc-translate --emit-cpp ------------------------===//

#include "codegen/EmitProgram.h"
#include "codegen/Translation.h"
#include "ir/train/Train.h"

#include "mlir/Tools/mlir-translate/Translation.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;

void lwcc::registerEmitCpp() {
  TranslateFromMLIRRegistration registration(
      "emit-cpp", "print an exec.program as C++",
      [](Operation *op, llvm::raw_ostream &out) -> LogicalResult {
        auto module = dyn_cast<ModuleOp>(op);
        auto programs = module ? module.getOps<exec::ProgramOp>()
                               : op->getRegion(0).getOps<exec::ProgramOp>();
        if (programs.empty())
          return op->emitError("holds no exec.program");
        FailureOr<std::string> text = emitProgram(*programs.begin());
        if (failed(text))
          return failure();
        out << *text;
        return success();
      },
      [](DialectRegistry &registry) {
        registry.insert<train::TrainDialect, exec::ExecDialect>();
      });
}
