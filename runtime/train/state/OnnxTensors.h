//===- OnnxTensors.h - The initializers of an ONNX file ---------*- C++ -*-===//
//
// Reads the initializers of a model's main graph: their names, types, shapes,
// and where their elements lie, in the file or in another beside it (external
// data). A trainer has no protobuf, and needs of the format four messages:
// ModelProto, GraphProto, TensorProto and StringStringEntryProto. Everything
// else in the file is passed over. Decides nothing of what the tensors are for.
//
// Elements are found in raw_data, float_data and double_data. Tensors that keep
// theirs elsewhere have a null pointer, and so have those that are no real
// numbers. What has no FileType (strings, complex numbers) is passed over.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_RUNTIME_TRAIN_STATE_ONNXTENSORS_H
#define LWCC_RUNTIME_TRAIN_STATE_ONNXTENSORS_H

#include "runtime/train/files/Files.h"
#include "runtime/train/state/FileType.h"

#include <deque>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace lwcc::rt::train {

class OnnxTensors {
public:
  /// Throws Error naming the file, and the initializer if there is one to name.
  explicit OnnxTensors(const std::string &path);

  /// In the order of the file; without a name twice.
  const std::vector<FileTensor> &tensors() const { return found; }

private:
  struct Fields;
  void readGraph(std::string_view graph);
  void addTensor(std::string_view bytes);
  std::string_view elementsOf(const Fields &fields);
  std::string_view externalElements(const Fields &fields);

  std::string path;
  MappedFile file;
  std::map<std::string, MappedFile> external; ///< by location
  std::deque<std::string> joined; ///< elements that the file has in parts
  std::vector<FileTensor> found;
};

} // namespace lwcc::rt::train

#endif // LWCC_RUNTIME_TRAIN_STATE_ONNXTENSORS_H
