//===- Array.h - A typed array from a file ----------------------*- C++ -*-===//
//
// What the readers of data files (Npy, Idx, TokenStream) give: little-endian
// elements in row-major order, without a meaning yet.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_RUNTIME_TRAIN_DATA_ARRAY_H
#define LWCC_RUNTIME_TRAIN_DATA_ARRAY_H

#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace lwcc::rt::train {

struct ElementType {
  char kind = 'u'; ///< numpy's: 'u' unsigned, 'i' signed, 'f' float, 'b' bool
  int bytes = 1;

  bool operator==(const ElementType &) const = default;
  /// "uint8", "float32", ...
  std::string name() const;
};

/// Element `index`. Files align their elements, but nothing guarantees it.
template <typename T>
T loadAt(const char *data, int64_t index) {
  T value;
  std::memcpy(&value, data + index * int64_t(sizeof(T)), sizeof(T));
  return value;
}

/// Element `index` of integers of any type; need not be aligned.
int64_t integerAt(ElementType type, const char *data, int64_t index);

/// How many elements a tensor of these extents has.
int64_t elementsOf(const std::vector<int64_t> &dims);

struct Array {
  std::string path; ///< for messages
  ElementType type;
  std::vector<int64_t> dims;
  const char *data = nullptr;
  std::shared_ptr<const void> owner; ///< of the memory behind data

  int64_t bytesPerItem() const; ///< of everything after the first dimension
  bool isIntegers() const { return type.kind == 'u' || type.kind == 'i'; }
};

/// Integers that are outside of a range.
struct Outside {
  int64_t count = 0, firstAt = 0, firstValue = 0;
};
/// Those of all elements that are not in [0, end), nor `allowed`.
Outside findOutside(const Array &array, int64_t end,
                    std::optional<int64_t> allowed = std::nullopt);

/// NumPy's .npy, format 1 to 3, memory-mapped. Throws Error: what was found,
/// what was expected.
Array readNpy(const std::string &path);
/// The same of a text that lies in memory; `path` is for messages.
Array parseNpy(const std::string &path, std::string_view text,
               std::shared_ptr<const void> owner);

/// MNIST's IDX, unsigned bytes, memory-mapped; unpacked if the name ends in
/// .gz.
Array readIdx(const std::string &path);

} // namespace lwcc::rt::train

#endif // LWCC_RUNTIME_TRAIN_DATA_ARRAY_H
