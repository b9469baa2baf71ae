//===- OnnxExport.cpp - The model with its trained values -----------------===//

#include "runtime/train/state/OnnxExport.h"

#include "runtime/train/files/OutputFiles.h"
#include "runtime/train/state/GlobalTensors.h"

#include <algorithm>
#include <cassert>

namespace lwcc::rt::train {

void exportOnnx(const std::string &path, const Program &program,
                Machine &machine) {
  writeAtomically(path, [&](FileWriter &file) {
    std::vector<float> host;
    for (const ExportPiece &piece : program.onnxExport) {
      if (piece.state < 0) {
        assert(piece.offset + piece.bytes <= program.blobBytes);
        file.write(program.blob + piece.offset, piece.bytes);
        continue;
      }
      const GlobalTensor &tensor = program.state[piece.state].tensor;
      int64_t bytes = bytesOf(tensor);
      assert(bytes == piece.bytes && "the file holds the whole tensor");
      host.resize(std::max<size_t>(host.size(), (bytes + 3) / 4));
      readGlobal(machine, tensor, host.data());
      file.write(host.data(), bytes);
    }
  });
}

} // namespace lwcc::rt::train
