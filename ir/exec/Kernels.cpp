//===- Kernels.cpp - The runtime calls that exec may make -----------------===//

#include "ir/exec/Kernels.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSwitch.h"

using namespace lwcc::exec;

static const KernelSignature table[] = {
#define LWCC_KERNEL(name, results, operands) {#name, results, operands},
#include "ir/exec/Kernels.def"
};

llvm::ArrayRef<KernelSignature> lwcc::exec::kernelSignatures() { return table; }

const KernelSignature *lwcc::exec::findKernel(llvm::StringRef name) {
  auto *row = llvm::find_if(
      table, [&](const KernelSignature &k) { return k.name == name; });
  return row == std::end(table) ? nullptr : row;
}

bool lwcc::exec::mayLieElsewhere(llvm::StringRef kernel, unsigned operand) {
  if (kernel == "sgd")
    return operand >= 4; // the gradients
  return kernel == "transfer" || kernel == "sum" || kernel == "concat";
}

Sharing lwcc::exec::sharing(llvm::StringRef kernel, unsigned result,
                            unsigned operand) {
  // These read element i of their operands before they write element i of
  // their result. An update is in place: w_new is w, m_new is m.
  if (kernel == "map" || (kernel == "sum" && operand == 0))
    return Sharing::allowed;
  if ((kernel == "sgd" || kernel == "matmul_sgd") && result < 2 &&
      result == operand)
    return Sharing::required;
  return Sharing::forbidden;
}

bool lwcc::exec::isDefaultParameter(llvm::StringRef name,
                                    mlir::Attribute value) {
  using namespace mlir;
  if (auto flag = dyn_cast<BoolAttr>(value))
    return !flag.getValue();
  if (auto number = dyn_cast<IntegerAttr>(value))
    return (name == "group" && number.getInt() == 1) ||
           (name == "ignore_index" && number.getInt() == -100);
  if (auto list = dyn_cast<DenseI64ArrayAttr>(value)) {
    // Steps and dilations of a window are 1, borders 0.
    if (name == "pad")
      return llvm::all_of(list.asArrayRef(), [](int64_t v) { return v == 0; });
    if (name == "stride" || name == "dilation")
      return llvm::all_of(list.asArrayRef(), [](int64_t v) { return v == 1; });
  }
  return false;
}
