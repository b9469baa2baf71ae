//===- HostTensor.cpp - A tensor known at compile time --------------------===//

#include "frontend/HostTensor.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/bit.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/raw_ostream.h"

#include <cmath>

#include <onnx/onnx_pb.h>

using namespace lwcc;
using namespace llvm;
using onnx::TensorProto;

//===----------------------------------------------------------------------===//
// Shapes
//===----------------------------------------------------------------------===//

Shape lwcc::stridesOf(ArrayRef<int64_t> shape) {
  Shape strides(shape.size(), 1);
  for (int64_t d = int64_t(shape.size()) - 2; d >= 0; --d)
    strides[d] = strides[d + 1] * shape[d + 1];
  return strides;
}

std::string lwcc::printShape(ArrayRef<int64_t> shape) {
  std::string text;
  raw_string_ostream os(text);
  const size_t shown = shape.size() > maxKnownRank ? 4 : shape.size();
  os << '[';
  interleaveComma(shape.take_front(shown), os);
  if (shown < shape.size())
    os << ", ... (" << shape.size() << " dimensions)";
  os << ']';
  return text;
}

std::optional<Shape> lwcc::broadcast(ArrayRef<int64_t> a, ArrayRef<int64_t> b) {
  Shape result(std::max(a.size(), b.size()), 1);
  for (auto [i, extent] : enumerate(reverse(result))) {
    int64_t ea = i < a.size() ? a[a.size() - 1 - i] : 1;
    int64_t eb = i < b.size() ? b[b.size() - 1 - i] : 1;
    if (ea != eb && ea != 1 && eb != 1)
      return std::nullopt;
    extent = ea == 1 ? eb : ea;
  }
  return result;
}

//===----------------------------------------------------------------------===//
// HostTensor
//===----------------------------------------------------------------------===//

HostTensor HostTensor::empty(Kind kind, ArrayRef<int64_t> shape) {
  HostTensor tensor;
  tensor.kind = kind;
  tensor.shape.assign(shape.begin(), shape.end());
  return tensor;
}

HostTensor HostTensor::ofIntegers(ArrayRef<int64_t> values) {
  HostTensor tensor = empty(Kind::integer, {int64_t(values.size())});
  tensor.integers.assign(values.begin(), values.end());
  return tensor;
}

HostTensor HostTensor::scalar(int64_t value) {
  HostTensor tensor = empty(Kind::integer, {});
  tensor.integers.push_back(value);
  return tensor;
}

HostTensor HostTensor::scalar(float value) {
  HostTensor tensor = empty(Kind::real, {});
  tensor.reals.push_back(value);
  return tensor;
}

bool HostTensor::isSplat() const {
  return isReal() ? !reals.empty() && all_equal(reals)
                  : !integers.empty() && all_equal(integers);
}

void HostTensor::append(const HostTensor &other, int64_t i) {
  if (isReal())
    reals.push_back(other.reals[i]);
  else
    integers.push_back(other.integers[i]);
}

//===----------------------------------------------------------------------===//
// ONNX's tensors
//===----------------------------------------------------------------------===//

std::optional<HostTensor::Kind> lwcc::elementKind(int32_t dataType) {
  switch (dataType) {
  case TensorProto::FLOAT:
  case TensorProto::DOUBLE:
  case TensorProto::FLOAT16:
  case TensorProto::BFLOAT16:
    return HostTensor::Kind::real;
  case TensorProto::BOOL:
    return HostTensor::Kind::boolean;
  case TensorProto::INT8:
  case TensorProto::INT16:
  case TensorProto::INT32:
  case TensorProto::INT64:
  case TensorProto::UINT8:
  case TensorProto::UINT16:
  case TensorProto::UINT32:
  case TensorProto::UINT64:
    return HostTensor::Kind::integer;
  default:
    return std::nullopt;
  }
}

std::string lwcc::elementTypeName(int32_t dataType) {
  // Types that are newer than the protobuf definitions that we are built with.
  static constexpr StringLiteral newer[] = {
      "FLOAT8E4M3FN", "FLOAT8E4M3FNUZ", "FLOAT8E5M2", "FLOAT8E5M2FNUZ",
      "UINT4",        "INT4",           "FLOAT4E2M1"};
  if (dataType >= 17 && dataType < 17 + int32_t(std::size(newer)))
    return newer[dataType - 17].str();
  if (TensorProto::DataType_IsValid(dataType))
    return TensorProto::DataType_Name(TensorProto::DataType(dataType));
  return "number " + std::to_string(dataType);
}

std::optional<int64_t> lwcc::elementBytes(int32_t dataType) {
  switch (dataType) {
  case TensorProto::DOUBLE:
  case TensorProto::INT64:
  case TensorProto::UINT64:
    return 8;
  case TensorProto::FLOAT:
  case TensorProto::INT32:
  case TensorProto::UINT32:
    return 4;
  case TensorProto::FLOAT16:
  case TensorProto::BFLOAT16:
  case TensorProto::INT16:
  case TensorProto::UINT16:
    return 2;
  case TensorProto::BOOL:
  case TensorProto::INT8:
  case TensorProto::UINT8:
    return 1;
  default:
    return std::nullopt;
  }
}

/// Elements in the typed field that ONNX prescribes for the data type.
static int64_t typedCount(const TensorProto &tensor) {
  switch (tensor.data_type()) {
  case TensorProto::FLOAT:
    return tensor.float_data_size();
  case TensorProto::DOUBLE:
    return tensor.double_data_size();
  case TensorProto::INT64:
    return tensor.int64_data_size();
  case TensorProto::UINT32:
  case TensorProto::UINT64:
    return tensor.uint64_data_size();
  default:
    return tensor.int32_data_size();
  }
}

std::string lwcc::checkTensor(const TensorProto &tensor,
                              std::optional<StringRef> raw) {
  Shape shape(tensor.dims().begin(), tensor.dims().end());
  std::optional<int64_t> count = elementCount(shape);
  if (!count || shape.size() > maxKnownRank)
    return "has the impossible shape " + printShape(shape);
  std::optional<int64_t> bytes = elementBytes(tensor.data_type());
  if (!bytes)
    return "has the unsupported element type " +
           elementTypeName(tensor.data_type());
  if (tensor.has_segment())
    return "is stored in segments, which no exporter writes";
  if (raw) {
    if (int64_t(raw->size()) == *count * *bytes)
      return "";
    return "holds " + std::to_string(raw->size()) + " bytes; its shape " +
           printShape(shape) + " needs " + std::to_string(*count * *bytes);
  }
  if (typedCount(tensor) == *count)
    return "";
  return "holds " + std::to_string(typedCount(tensor)) +
         " elements; its shape " + printShape(shape) + " needs " +
         std::to_string(*count);
}

static float halfToFloat(uint16_t bits) {
  int exponent = (bits >> 10) & 31, mantissa = bits & 1023;
  float magnitude;
  if (exponent == 31)
    magnitude = mantissa ? NAN : INFINITY;
  else if (exponent == 0)
    magnitude = std::ldexp(float(mantissa), -24);
  else
    magnitude = std::ldexp(float(mantissa + 1024), exponent - 25);
  return bits & 0x8000 ? -magnitude : magnitude;
}

static float bfloatToFloat(uint16_t bits) {
  return bit_cast<float>(uint32_t(bits) << 16);
}

/// Calls write(i, value) for every element, decoded from little-endian bytes.
template <typename T, typename Write>
static void eachRaw(StringRef raw, Write write) {
  for (size_t i = 0, n = raw.size() / sizeof(T); i < n; ++i)
    write(i, support::endian::read<T, endianness::little>(raw.data() +
                                                          i * sizeof(T)));
}

void lwcc::decodeFloats(const TensorProto &tensor, std::optional<StringRef> raw,
                        float *out) {
  switch (tensor.data_type()) {
  case TensorProto::FLOAT:
    if (raw) // float32 little-endian: the weights' common case
      copy(*raw, reinterpret_cast<char *>(out));
    else
      copy(tensor.float_data(), out);
    return;
  case TensorProto::DOUBLE:
    if (raw)
      eachRaw<double>(*raw, [&](size_t i, double v) { out[i] = float(v); });
    else
      copy(tensor.double_data(), out);
    return;
  default: {
    assert(elementKind(tensor.data_type()) == HostTensor::Kind::real);
    auto convert = tensor.data_type() == TensorProto::FLOAT16 ? halfToFloat
                                                              : bfloatToFloat;
    if (raw)
      eachRaw<uint16_t>(*raw,
                        [&](size_t i, uint16_t v) { out[i] = convert(v); });
    else
      for (int32_t bits : tensor.int32_data())
        *out++ = convert(uint16_t(bits));
  }
  }
}

HostTensor lwcc::decodeTensor(const TensorProto &tensor,
                              std::optional<StringRef> raw) {
  Shape shape(tensor.dims().begin(), tensor.dims().end());
  HostTensor result =
      HostTensor::empty(*elementKind(tensor.data_type()), shape);
  int64_t count = *elementCount(shape);
  if (result.isReal()) {
    result.reals.resize(count);
    decodeFloats(tensor, raw, result.reals.data());
    return result;
  }
  result.integers.resize(count);
  auto write = [&](size_t i, auto value) {
    result.integers[i] = int64_t(value);
  };
  if (!raw) {
    auto all = [&](const auto &field) {
      for (auto [i, value] : enumerate(field))
        write(i, value);
    };
    switch (tensor.data_type()) {
    case TensorProto::INT64:
      all(tensor.int64_data());
      break;
    case TensorProto::UINT32:
    case TensorProto::UINT64:
      all(tensor.uint64_data());
      break;
    default:
      all(tensor.int32_data());
    }
    return result;
  }
  switch (tensor.data_type()) {
  case TensorProto::INT64:
    eachRaw<int64_t>(*raw, write);
    break;
  case TensorProto::UINT64:
    eachRaw<uint64_t>(*raw, write);
    break;
  case TensorProto::INT32:
    eachRaw<int32_t>(*raw, write);
    break;
  case TensorProto::UINT32:
    eachRaw<uint32_t>(*raw, write);
    break;
  case TensorProto::INT16:
    eachRaw<int16_t>(*raw, write);
    break;
  case TensorProto::UINT16:
    eachRaw<uint16_t>(*raw, write);
    break;
  case TensorProto::INT8:
    eachRaw<int8_t>(*raw, write);
    break;
  default: // UINT8, BOOL
    eachRaw<uint8_t>(*raw, write);
  }
  return result;
}
