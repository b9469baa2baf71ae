//===- State.cpp - Constants ----------------------------------------------===//
//
// What is no call: a constant is a literal of a map, or a fill. Parameters, and
// their reads and writes, have neither a verifier nor a gradient of their own;
// what concerns a whole module is checked per form (passes/verify).
//
//===----------------------------------------------------------------------===//

#include "ir/train/ops/Family.h"

using namespace mlir;
using namespace lwcc;
using namespace lwcc::tiling;
using namespace lwcc::train;
using namespace lwcc::train::family;

LogicalResult ConstantOp::verify() {
  if (isa<SplatElementsAttr>(getValue()))
    return success();
  return emitOpError() << "has elements that differ; expected a splat";
}

OpFoldResult ConstantOp::fold(FoldAdaptor) { return getValue(); }
