//===- GraphRepairs.h - What exporters do to a graph is undone --*- C++ -*-===//
//
// Two things, in the model itself, so that the import (GraphImporter.h) and the
// exported file (OnnxExport.h) agree. Several names of one initializer become
// one name. Running statistics that exporters made one tensor for several
// layers become a tensor for each layer.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_FRONTEND_GRAPHREPAIRS_H
#define LWCC_FRONTEND_GRAPHREPAIRS_H

#include "onnx/onnx_pb.h"

namespace lwcc {

void repairGraph(onnx::GraphProto &graph);

} // namespace lwcc

#endif // LWCC_FRONTEND_GRAPHREPAIRS_H
