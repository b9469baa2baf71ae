//===- VerifyForm.cpp - Which rules a form keeps --------------------------===//
//
// The pass lwcc-verify-form: says which rules of FormRules.h hold in which
// form. Of the form `exec` it checks the outline (E1, and that memory is
// planned); the ops' own verifiers check E2, and exec-verify-schedule the rest.
//
//===----------------------------------------------------------------------===//

#include "ir/exec/Exec.h"
#include "passes/Passes.h"
#include "passes/verify/FormRules.h"

#include "llvm/ADT/StringSwitch.h"

namespace lwcc {
#define GEN_PASS_DEF_VERIFYFORM
#include "passes/Passes.h.inc"
} // namespace lwcc

using namespace mlir;
using namespace lwcc;
using namespace lwcc::forms;

void FormRules::exec() {
  SmallVector<exec::ProgramOp> programs(module.getOps<exec::ProgramOp>());
  for (Operation &op : *module.getBody())
    if (!isa<exec::ProgramOp>(op))
      broken(&op, "E1") << "'" << op.getName() << "' beside the program";
  if (programs.size() != 1) {
    broken(module, "E1") << "there are " << programs.size()
                         << " programs, not one";
    return;
  }
  exec::ProgramOp program = programs.front();
  for (StringRef name : {trainStepFunc, evaluateFunc})
    if (!isa_and_nonnull<exec::SequenceOp>(
            SymbolTable::lookupSymbolIn(program, name)))
      broken(program, "E1") << "there is no sequence @" << name;
  for (auto buffer : program.getBody().getOps<exec::BufferOp>())
    if (!buffer.getViewOf() && static_cast<int64_t>(buffer.getOffset()) < 0)
      broken(buffer, "E3") << "@" << buffer.getSymName()
                           << " has no place in memory";
}

LogicalResult lwcc::verifyForm(ModuleOp module, StringRef form) {
  FormRules rules(module);
  using Check = void (FormRules::*)();
  auto checks =
      llvm::StringSwitch<std::vector<Check>>(form)
          .Case("imported", {&FormRules::imported})
          .Case("differentiated", {&FormRules::differentiated})
          .Case("planned", {&FormRules::differentiated, &FormRules::planned})
          .Case("sharded", {&FormRules::differentiated, &FormRules::planned,
                            &FormRules::sharded})
          .Case("scheduled", {&FormRules::differentiated, &FormRules::planned,
                              &FormRules::sharded, &FormRules::scheduled})
          .Case("exec", {&FormRules::exec})
          .Default({});
  if (checks.empty())
    return module.emitError("unknown form '")
           << form
           << "'; known: imported differentiated planned sharded scheduled "
              "exec";
  rules.sizes();
  for (Check check : checks)
    (rules.*check)();
  return success(rules.ok);
}

namespace {
struct VerifyForm : lwcc::impl::VerifyFormBase<VerifyForm> {
  using VerifyFormBase::VerifyFormBase;

  void runOnOperation() override {
    if (failed(verifyForm(getOperation(), form)))
      return signalPassFailure();
    markAllAnalysesPreserved();
  }
};
} // namespace
