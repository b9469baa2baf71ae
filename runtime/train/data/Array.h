//===- Array.h - A typed array from a file ----------------------*- C++ -*-===//
//
// What the readers of data files (Npy, Idx) give: little-endian elements in
// row-major order, without a meaning yet.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_RUNTIME_TRAIN_DATA_ARRAY_H
#define LWCC_RUNTIME_TRAIN_DATA_ARRAY_H

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace lwcc::rt::train {

struct ElementType {
  char kind = 'u'; ///< numpy's: 'u' unsigned, 'i' signed, 'f' float, 'b' bool
  int bytes = 1;

  bool operator==(const ElementType &) const = default;
  /// "uint8", "float32", ...
  std::string name() const;
};

struct Array {
  std::string path; ///< for messages
  ElementType type;
  std::vector<int64_t> dims;
  const char *data = nullptr;
  std::shared_ptr<const void> owner; ///< of the memory behind data

  int64_t bytesPerItem() const; ///< of everything after the first dimension
};

/// NumPy's .npy, format 1 to 3, memory-mapped. Throws Error: what was found,
/// what was expected.
Array readNpy(const std::string &path);

/// MNIST's IDX, unsigned bytes, memory-mapped; unpacked if the name ends in
/// .gz.
Array readIdx(const std::string &path);

} // namespace lwcc::rt::train

#endif // LWCC_RUNTIME_TRAIN_DATA_ARRAY_H
