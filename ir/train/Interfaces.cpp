//===- Interfaces.cpp - What is asked of a train op -----------------------===//

#include "ir/train/Interfaces.h"

#include "llvm/ADT/SmallVectorExtras.h"

using namespace mlir;
using namespace lwcc;
using namespace lwcc::train;

#include "ir/train/TrainInterfaces.cpp.inc"

static constexpr StringLiteral dialectName = "train";

const Kernel *train::findKernel(MLIRContext *context, StringRef name) {
  auto op = RegisteredOperationName::lookup((dialectName + "." + name).str(),
                                            context);
  return op ? op->getInterface<KernelOpInterface>() : nullptr;
}

SmallVector<StringRef> train::kernelNames(MLIRContext *context) {
  SmallVector<StringRef> names;
  for (RegisteredOperationName op :
       context->getRegisteredOperationsByDialect(dialectName))
    if (op.getInterface<KernelOpInterface>())
      names.push_back(op.stripDialect());
  return names;
}

Movement train::movementOf(Operation *op) {
  const Kernel *kernel = op->getName().getInterface<KernelOpInterface>();
  if (!kernel)
    return {};
  auto typesOf = [](TypeRange types) {
    return llvm::map_to_vector<4>(
        types, [](Type type) { return cast<RankedTensorType>(type); });
  };
  auto results = typesOf(op->getResultTypes());
  auto operands = typesOf(op->getOperandTypes());
  auto field = [op](StringRef name) {
    return op->getInherentAttr(name).value_or(Attribute());
  };
  return kernel->movement({results, operands, field});
}

static Sharing sharingOf(Operation *op, unsigned result, unsigned operand) {
  const Kernel *kernel = op->getName().getInterface<KernelOpInterface>();
  return kernel ? kernel->sharing(result, operand) : Sharing::forbidden;
}

std::optional<unsigned> train::tiedOperand(Operation *op, unsigned result) {
  for (unsigned operand = 0; operand < op->getNumOperands(); ++operand)
    if (sharingOf(op, result, operand) == Sharing::required)
      return operand;
  return std::nullopt;
}

bool train::mayOverwrite(Operation *op, unsigned result, unsigned operand) {
  return sharingOf(op, result, operand) == Sharing::allowed &&
         op->getResult(result).getType() == op->getOperand(operand).getType();
}
