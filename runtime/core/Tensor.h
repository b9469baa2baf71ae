//===- Tensor.h - A typed, strided view of device memory --------*- C++ -*-===//
//
// The one data type that every runtime operator takes. A Tensor owns nothing;
// it names memory inside a device's arena. Shapes are the ONNX (logical) ones,
// so a batch of images is always [n, c, h, w]; where the elements lie is the
// business of the strides. A rank-4 tensor is stored channels-last (Layout::
// nhwc), every other rank row-major (Layout::dense).
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_RUNTIME_CORE_TENSOR_H
#define LWCC_RUNTIME_CORE_TENSOR_H

#include <array>
#include <cassert>
#include <cstdint>
#include <initializer_list>

namespace lwcc::rt {

enum class DType : uint8_t { f32, i32, u8 };

inline int64_t sizeOf(DType type) { return type == DType::u8 ? 1 : 4; }

enum class Layout : uint8_t { dense, nhwc };

inline constexpr int maxRank = 8;

/// A view of `rank` dimensions; strides are in elements. The default Tensor
/// stands for an absent optional operand or for a result nobody needs.
struct Tensor {
  void *data = nullptr;
  DType type = DType::f32;
  int rank = 0;
  std::array<int64_t, maxRank> dim = {};
  std::array<int64_t, maxRank> stride = {};

  Tensor() = default;
  Tensor(void *data, DType type, std::initializer_list<int64_t> dims,
         Layout layout)
      : Tensor(data, type, dims.begin(), static_cast<int>(dims.size()),
               layout) {}
  Tensor(void *data, DType type, const int64_t *dims, int rank, Layout layout)
      : data(data), type(type), rank(rank) {
    assert(rank <= maxRank && "tensor rank above the runtime's limit");
    assert((layout == Layout::dense || rank == 4) && "nhwc needs rank 4");
    for (int d = 0; d < rank; ++d)
      dim[d] = dims[d];
    int64_t next = 1;
    auto place = [&](int d) {
      stride[d] = next;
      next *= dim[d];
    };
    if (layout == Layout::nhwc) {
      for (int d : {1, 3, 2, 0})
        place(d);
    } else {
      for (int d = rank - 1; d >= 0; --d)
        place(d);
    }
  }

  explicit operator bool() const { return data != nullptr; }
  int64_t elements() const {
    int64_t n = 1;
    for (int d = 0; d < rank; ++d)
      n *= dim[d];
    return n;
  }
  int64_t bytes() const { return elements() * sizeOf(type); }
  template <typename T>
  T *as() const {
    return static_cast<T *>(data);
  }
};

/// The part of a tensor that begins at element `begin`, where it lies.
inline Tensor windowOf(Tensor whole, const int64_t *begin,
                       const int64_t *dims) {
  int64_t offset = 0;
  for (int d = 0; d < whole.rank; ++d) {
    offset += begin[d] * whole.stride[d];
    whole.dim[d] = dims[d];
  }
  whole.data = static_cast<char *>(whole.data) + offset * sizeOf(whole.type);
  return whole;
}

} // namespace lwcc::rt

#endif // LWCC_RUNTIME_CORE_TENSOR_H
