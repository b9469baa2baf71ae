//===- HostTensor.h - A tensor known at compile time ------------*- C++ -*-===//
//
// The type of values that ConstantFolder.h computes with: integers, booleans
// and small float constants; and the decoding of ONNX's tensors in all their
// encodings. Weights do not become HostTensors: GraphImporter copies their
// bytes into the blob.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_FRONTEND_HOSTTENSOR_H
#define LWCC_FRONTEND_HOSTTENSOR_H

#include "ir/Size.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace onnx {
class TensorProto;
}

namespace lwcc {

using Shape = llvm::SmallVector<int64_t>;

/// Row-major strides of a shape that has an elementCount.
Shape stridesOf(llvm::ArrayRef<int64_t> shape);
/// Most dimensions of a tensor that is known at compile time: each node that
/// reads one copies its shape.
inline constexpr size_t maxKnownRank = 64;

/// "[2, 3]"; of very many dimensions the first few.
std::string printShape(llvm::ArrayRef<int64_t> shape);
/// The shape that numpy's broadcasting rule gives; none where the shapes do not
/// fit.
std::optional<Shape> broadcast(llvm::ArrayRef<int64_t> a,
                               llvm::ArrayRef<int64_t> b);

struct HostTensor {
  enum class Kind { integer, boolean, real };

  Kind kind = Kind::integer;
  Shape shape;
  std::vector<int64_t> integers; ///< integer and boolean
  std::vector<float> reals;      ///< real

  static HostTensor ofIntegers(llvm::ArrayRef<int64_t> values);
  static HostTensor scalar(int64_t value);
  static HostTensor scalar(float value);
  static HostTensor empty(Kind kind, llvm::ArrayRef<int64_t> shape);

  bool isReal() const { return kind == Kind::real; }
  int64_t size() const { return isReal() ? reals.size() : integers.size(); }
  double at(int64_t i) const { return isReal() ? reals[i] : integers[i]; }
  /// Whether all elements are one value (and there is at least one).
  bool isSplat() const;
  /// Appends element i of `other`, which has the same class of elements.
  void append(const HostTensor &other, int64_t i);
};

//===----------------------------------------------------------------------===//
// ONNX's tensors
//===----------------------------------------------------------------------===//

/// The kind of an ONNX element type; none for types that are not supported.
std::optional<HostTensor::Kind> elementKind(int32_t dataType);
/// "FLOAT16".
std::string elementTypeName(int32_t dataType);

/// Bytes of the stored form, if the type has elements of fixed size.
std::optional<int64_t> elementBytes(int32_t dataType);

/// Checks that type, extents and stored elements agree; returns what is wrong,
/// or an empty string. `raw` are the tensor's raw bytes if it has any (inline
/// or from another file).
std::string checkTensor(const onnx::TensorProto &tensor,
                        std::optional<llvm::StringRef> raw);

/// Decodes a checked tensor.
HostTensor decodeTensor(const onnx::TensorProto &tensor,
                        std::optional<llvm::StringRef> raw);
/// Writes a checked float tensor of any precision as float32.
void decodeFloats(const onnx::TensorProto &tensor,
                  std::optional<llvm::StringRef> raw, float *out);

} // namespace lwcc

#endif // LWCC_FRONTEND_HOSTTENSOR_H
