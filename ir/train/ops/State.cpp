//===- State.cpp - Constants ----------------------------------------------===//
//
// Constants. A constant becomes a literal of a map, or a fill; it is no runtime
// call. Parameters, reads and writes have no verifier or gradient of their own:
// the rules of a whole module check them (passes/verify).
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
