//===- OnnxValues.h - Numbers and attributes that break models --*- C++ -*-===//
//
// What OnnxMutator.cpp puts into tensors and attributes: what arithmetic on
// them may not survive, and words that operators know.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_TEST_FUZZ_ONNXVALUES_H
#define LWCC_TEST_FUZZ_ONNXVALUES_H

#include "frontend/OnnxOpTable.h"

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <string>

#include <onnx/onnx_pb.h>

namespace lwcc::fuzz {

using onnx::AttributeProto;
using onnx::NodeProto;
using onnx::TensorProto;

class OnnxValues {
protected:
  explicit OnnxValues(unsigned seed) : random(seed) {}

  size_t below(size_t count) { return count ? random() % count : 0; }

  template <typename Field>
  auto *pick(Field *field) {
    return field->empty() ? nullptr : field->Mutable(int(below(field->size())));
  }
  template <typename T, size_t n>
  const T &oneOf(const T (&list)[n]) {
    return list[below(n)];
  }

  int64_t number() {
    static const int64_t numbers[] = {0,
                                      1,
                                      2,
                                      3,
                                      -1,
                                      -2,
                                      7,
                                      64,
                                      1 << 20,
                                      int64_t(1) << 24,
                                      INT32_MAX,
                                      int64_t(INT32_MAX) + 1,
                                      int64_t(1) << 40,
                                      int64_t(1) << 45,
                                      int64_t(1) << 62,
                                      std::numeric_limits<int64_t>::max(),
                                      std::numeric_limits<int64_t>::min()};
    return oneOf(numbers);
  }

  float real() {
    static const float reals[] = {0.0f,     1.0f,      -1.0f, 0.5f,  1e38f,
                                  INFINITY, -INFINITY, NAN,   1e-40f};
    return oneOf(reals);
  }

  /// What an attribute of some operator may say, or no one.
  std::string word() {
    static const char *const words[] = {"linear",
                                        "cubic",
                                        "nearest",
                                        "align_corners",
                                        "asymmetric",
                                        "tf_crop_and_resize",
                                        "round_prefer_ceil",
                                        "not_larger",
                                        "SAME_UPPER",
                                        "SAME_LOWER",
                                        "VALID",
                                        "edge",
                                        "reflect",
                                        "wrap",
                                        "CRD",
                                        "bij,bjk->bik",
                                        "i...,i->...",
                                        "ii->i",
                                        "sum",
                                        "none",
                                        "mul",
                                        "max",
                                        "tanh",
                                        "bidirectional",
                                        "reverse",
                                        "Tanh",
                                        "Affine",
                                        "?"};
    return oneOf(words);
  }

  /// A few numbers, as axes, shapes, indices and conditions are.
  void fill(TensorProto &tensor) {
    tensor.clear_raw_data();
    const size_t count = below(5);
    if (count != 1 || below(2))
      tensor.add_dims(int64_t(count));
    if (below(4) == 0) {
      tensor.set_data_type(TensorProto::FLOAT);
      for (size_t i = 0; i < count; ++i)
        tensor.add_float_data(real());
    } else if (below(4) == 0) {
      tensor.set_data_type(TensorProto::BOOL);
      for (size_t i = 0; i < count; ++i)
        tensor.add_int32_data(int(below(2)));
    } else {
      tensor.set_data_type(TensorProto::INT64);
      for (size_t i = 0; i < count; ++i)
        tensor.add_int64_data(below(4) ? int64_t(below(4)) - 1 : number());
    }
  }

  /// One of those that the operator's row has, if it has any.
  AttributeProto *addAttribute(NodeProto &node) {
    AttributeProto *attribute = node.add_attribute();
    attribute->set_name("axis");
    attribute->set_type(AttributeProto::INT);
    const OnnxOp *row = findOnnxOp(node.op_type());
    auto specs = row ? attributesOf(*row) : llvm::SmallVector<AttributeSpec>();
    if (specs.empty())
      return attribute;
    const AttributeSpec &spec = specs[below(specs.size())];
    attribute->set_name(spec.name.str());
    attribute->set_type(spec.type == "I"   ? AttributeProto::INTS
                        : spec.type == "f" ? AttributeProto::FLOAT
                        : spec.type == "F" ? AttributeProto::FLOATS
                        : spec.type == "s" ? AttributeProto::STRING
                        : spec.type == "S" ? AttributeProto::STRINGS
                        : spec.type == "t" ? AttributeProto::TENSOR
                        : spec.type == "g" ? AttributeProto::GRAPH
                                           : AttributeProto::INT);
    return attribute;
  }

  /// False if it is of no type that is changed here.
  bool changeValue(AttributeProto &attribute) {
    switch (attribute.type()) {
    case AttributeProto::INT:
      attribute.set_i(number());
      break;
    case AttributeProto::FLOAT:
      attribute.set_f(real());
      break;
    case AttributeProto::INTS:
      if (attribute.ints_size() && below(3))
        attribute.set_ints(int(below(attribute.ints_size())), number());
      else
        attribute.add_ints(number());
      break;
    case AttributeProto::FLOATS:
      attribute.add_floats(real());
      break;
    case AttributeProto::STRING:
      attribute.set_s(word());
      break;
    case AttributeProto::STRINGS:
      attribute.add_strings(word());
      break;
    case AttributeProto::TENSOR:
      if (attribute.has_t())
        changeTensor(*attribute.mutable_t());
      else
        fill(*attribute.mutable_t());
      break;
    default:
      return false;
    }
    return true;
  }

  void changeTensor(TensorProto &tensor) {
    switch (below(6)) {
    case 0:
      if (tensor.dims_size())
        tensor.set_dims(int(below(tensor.dims_size())), number());
      break;
    case 1:
      tensor.add_dims(number());
      break;
    case 2:
      tensor.set_data_type(int(below(18)));
      break;
    default:
      if (tensor.int64_data_size())
        tensor.set_int64_data(int(below(tensor.int64_data_size())), number());
      else if (tensor.float_data_size())
        tensor.set_float_data(int(below(tensor.float_data_size())), real());
      else if (tensor.data_type() == TensorProto::INT64)
        changeRaw(tensor, number());
      else
        changeRaw(tensor, real());
    }
  }

  template <typename T>
  void changeRaw(TensorProto &tensor, T element) {
    std::string &raw = *tensor.mutable_raw_data();
    if (size_t count = raw.size() / sizeof(T))
      std::memcpy(&raw[below(count) * sizeof(T)], &element, sizeof(T));
  }

  std::minstd_rand random;
};

} // namespace lwcc::fuzz

#endif // LWCC_TEST_FUZZ_ONNXVALUES_H
