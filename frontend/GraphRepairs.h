//===- GraphRepairs.h - What exporters do to a graph is undone --*- C++ -*-===//
//
// In the model itself, so that the import (GraphImporter.h) and the exported
// file (OnnxExport.h) agree. Several names of one initializer become one name.
// Running statistics that exporters made one tensor for several layers become a
// tensor for each layer. So do parameters that PyTorch's older exporter made
// one since their values are equal, such as biases of zeros.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_FRONTEND_GRAPHREPAIRS_H
#define LWCC_FRONTEND_GRAPHREPAIRS_H

#include "frontend/OnnxReader.h"

namespace lwcc {

void repairGraph(onnx::GraphProto &graph);

/// Makes parameters of their own again of those that the exporter joined, and
/// notes which. Parameters that the module itself ties stay tied: they are no
/// constants, or the file was exported for training, where equal values are
/// stored several times.
void separateEqualParameters(OnnxFile &file, Reporter &reporter);

/// Removes the elements of a repeated field of which the predicate holds. The
/// others keep their order.
template <typename Field, typename Predicate>
void eraseFrom(Field &field, Predicate predicate) {
  int kept = 0;
  for (int i = 0; i < field.size(); ++i)
    if (!predicate(field[i])) {
      if (kept != i)
        field.SwapElements(kept, i);
      ++kept;
    }
  field.DeleteSubrange(kept, field.size() - kept);
}

} // namespace lwcc

#endif // LWCC_FRONTEND_GRAPHREPAIRS_H
