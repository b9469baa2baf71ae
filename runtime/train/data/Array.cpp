//===- Array.cpp - Typed elements of a file -------------------------------===//

#include "runtime/train/data/Array.h"

namespace lwcc::rt::train {

std::string ElementType::name() const {
  if (kind == 'b')
    return "bool";
  const char *family = kind == 'f' ? "float" : kind == 'i' ? "int" : "uint";
  return family + std::to_string(bytes * 8);
}

int64_t Array::bytesPerItem() const {
  int64_t bytes = type.bytes;
  for (size_t d = 1; d < dims.size(); ++d)
    bytes *= dims[d];
  return bytes;
}

int64_t integerAt(ElementType type, const char *data, int64_t index) {
  const bool isSigned = type.kind == 'i';
  switch (type.bytes) {
  case 1:
    return isSigned ? int64_t(loadAt<int8_t>(data, index))
                    : int64_t(loadAt<uint8_t>(data, index));
  case 2:
    return isSigned ? int64_t(loadAt<int16_t>(data, index))
                    : int64_t(loadAt<uint16_t>(data, index));
  case 4:
    return isSigned ? int64_t(loadAt<int32_t>(data, index))
                    : int64_t(loadAt<uint32_t>(data, index));
  default:
    return loadAt<int64_t>(data, index);
  }
}

int64_t elementsOf(const std::vector<int64_t> &dims) {
  int64_t elements = 1;
  for (int64_t dim : dims)
    elements *= dim;
  return elements;
}

Outside findOutside(const Array &array, int64_t end,
                    std::optional<int64_t> allowed) {
  Outside outside;
  const int64_t count = elementsOf(array.dims);
  for (int64_t i = 0; i < count; ++i) {
    const int64_t value = integerAt(array.type, array.data, i);
    if ((value < 0 || value >= end) && value != allowed &&
        outside.count++ == 0) {
      outside.firstAt = i;
      outside.firstValue = value;
    }
  }
  return outside;
}

} // namespace lwcc::rt::train
