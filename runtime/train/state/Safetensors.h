//===- Safetensors.h - Named tensors in a file ------------------*- C++ -*-===//
//
// The safetensors format: the length of the header (8 bytes, little endian),
// the header (JSON: name -> dtype, shape, data_offsets), then the elements,
// without holes. Reads and writes whole logical tensors, row-major; which
// tensors, and where they live on devices, is decided elsewhere.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_RUNTIME_TRAIN_STATE_SAFETENSORS_H
#define LWCC_RUNTIME_TRAIN_STATE_SAFETENSORS_H

#include "runtime/train/files/Files.h"
#include "runtime/train/files/OutputFiles.h"
#include "runtime/train/state/FileType.h"

#include <cstdint>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace lwcc::rt::train {

struct TensorEntry {
  std::string name;
  FileType type = FileType::f32;
  std::vector<int64_t> dims;
  int64_t begin = 0; ///< of its elements, from the end of the header
  int64_t bytes = 0;
};

/// Checks the whole header on opening; throws Error naming the file.
class SafetensorsFile {
public:
  explicit SafetensorsFile(const std::string &path);

  const std::vector<TensorEntry> &tensors() const { return entries; }
  const TensorEntry *find(const std::string &name) const;
  const char *data(const TensorEntry &entry) const {
    return file.data() + dataStart + entry.begin;
  }

private:
  void parseHeader(const std::string &path);

  MappedFile file;
  std::vector<TensorEntry> entries; ///< in the order of their data
  std::unordered_map<std::string, size_t> indexOf;
  int64_t dataStart = 0;
};

/// Writes the header at once, then one tensor after another.
class SafetensorsWriter {
public:
  /// Fills `begin` and `bytes` of the entries.
  SafetensorsWriter(
      const std::string &path, std::vector<TensorEntry> entries,
      const std::vector<std::pair<std::string, std::string>> &metadata);
  /// The elements of the next entry.
  void append(const void *elements);
  void finish();

private:
  FileWriter file;
  std::vector<TensorEntry> entries;
  size_t next = 0;
};

} // namespace lwcc::rt::train

#endif // LWCC_RUNTIME_TRAIN_STATE_SAFETENSORS_H
