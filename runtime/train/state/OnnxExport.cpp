//===- OnnxExport.cpp - The model with its trained values -----------------===//

#include "runtime/train/state/OnnxExport.h"

#include "runtime/train/files/OutputFiles.h"
#include "runtime/train/state/GlobalTensors.h"

#include <algorithm>
#include <cassert>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace lwcc::rt::train {

void exportOnnx(const std::string &path, const Program &program,
                Machine &machine) {
  std::unordered_map<std::string_view, const GlobalTensor *> tensors;
  for (const StateTensor &state : program.state)
    tensors.emplace(state.tensor.name, &state.tensor);
  writeAtomically(path, [&](FileWriter &file) {
    std::vector<char> host;
    for (const ExportPiece &piece : program.onnxExport) {
      if (piece.state.empty()) {
        assert(piece.offset + piece.bytes <= program.blobBytes);
        file.write(program.blob + piece.offset, piece.bytes);
        continue;
      }
      const GlobalTensor &tensor = *tensors.at(piece.state);
      assert(bytesOf(tensor) == piece.bytes && "the file holds all of it");
      host.resize(std::max<size_t>(host.size(), piece.bytes));
      readGlobal(machine, tensor, host.data());
      file.write(host.data(), piece.bytes);
    }
  });
}

} // namespace lwcc::rt::train
