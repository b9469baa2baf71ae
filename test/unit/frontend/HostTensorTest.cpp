//===- HostTensorTest.cpp - Reading ONNX's tensors ------------------------===//

#include "frontend/HostTensor.h"

#include "gtest/gtest.h"

#include <cmath>

#include <onnx/onnx_pb.h>

using namespace lwcc;
using onnx::TensorProto;

static std::vector<float> floatsOf(const TensorProto &tensor) {
  std::optional<llvm::StringRef> raw;
  if (tensor.has_raw_data())
    raw = tensor.raw_data();
  EXPECT_EQ(checkTensor(tensor, raw), "");
  return decodeTensor(tensor, raw).reals;
}

TEST(HostTensor, readsEveryFloatType) {
  TensorProto half;
  half.set_data_type(TensorProto::FLOAT16);
  half.add_dims(6);
  // 1, -2, 65504, the smallest subnormal, infinity, NaN
  for (int bits : {0x3C00, 0xC000, 0x7BFF, 0x0001, 0x7C00, 0x7E00})
    half.add_int32_data(bits);
  std::vector<float> values = floatsOf(half);
  EXPECT_EQ(values[0], 1.0f);
  EXPECT_EQ(values[1], -2.0f);
  EXPECT_EQ(values[2], 65504.0f);
  EXPECT_EQ(values[3], std::ldexp(1.0f, -24));
  EXPECT_TRUE(std::isinf(values[4]));
  EXPECT_TRUE(std::isnan(values[5]));

  TensorProto bfloat;
  bfloat.set_data_type(TensorProto::BFLOAT16);
  bfloat.add_dims(2);
  bfloat.set_raw_data(std::string("\x80\x3F\x00\xC0", 4));
  EXPECT_EQ(floatsOf(bfloat), (std::vector<float>{1.0f, -2.0f}));

  TensorProto wide;
  wide.set_data_type(TensorProto::DOUBLE);
  wide.add_double_data(0.1);
  EXPECT_EQ(floatsOf(wide), std::vector<float>{0.1f});
}

TEST(HostTensor, readsIntegersSigned) {
  TensorProto bytes;
  bytes.set_data_type(TensorProto::INT8);
  bytes.add_dims(2);
  bytes.set_raw_data(std::string("\xFF\x01", 2));
  EXPECT_EQ(decodeTensor(bytes, bytes.raw_data()).integers,
            (std::vector<int64_t>{-1, 1}));
}

TEST(HostTensor, refusesTensorsThatAreNotWhole) {
  TensorProto tensor;
  tensor.set_data_type(TensorProto::FLOAT);
  tensor.add_dims(2);
  tensor.add_dims(3);
  tensor.add_float_data(1);
  EXPECT_EQ(checkTensor(tensor, std::nullopt),
            "holds 1 elements; its shape [2, 3] needs 6");
  EXPECT_EQ(checkTensor(tensor, llvm::StringRef("abc")),
            "holds 3 bytes; its shape [2, 3] needs 24");
  tensor.add_dims(-1);
  EXPECT_EQ(checkTensor(tensor, std::nullopt),
            "has the impossible shape [2, 3, -1]");
  tensor.clear_dims();
  for (int i = 0; i < 4; ++i)
    tensor.add_dims(int64_t(1) << 31); // the product overflows
  EXPECT_EQ(checkTensor(tensor, std::nullopt).substr(0, 24),
            "has the impossible shape");
}

TEST(HostTensor, broadcastsAsNumpy) {
  EXPECT_EQ(broadcast({2, 1, 3}, {4, 1}), (Shape{2, 4, 3}));
  EXPECT_EQ(broadcast({}, {4, 1}), (Shape{4, 1}));
  EXPECT_FALSE(broadcast({2}, {3}));
}

TEST(ElementCount, IsCheckedAndCountsEmptyDimensionsAsOne) {
  EXPECT_EQ(elementCount({}), 1);
  EXPECT_EQ(elementCount({2, 3}), 6);
  EXPECT_EQ(elementCount({maxElements}), maxElements);
  EXPECT_EQ(elementCount({2, maxElements}), std::nullopt);
  // 2^64 wraps to 0, 2^74 to 0 as well.
  EXPECT_EQ(elementCount({int64_t(1) << 40, int64_t(1) << 24}), std::nullopt);
  EXPECT_EQ(elementCount({16777216, 4, 16777216, 16777216}), std::nullopt);
  EXPECT_EQ(elementCount({-1, 0}), std::nullopt);
  EXPECT_EQ(elementCount({0, 5}), 0);
  // Strides of an empty tensor are products of the other extents.
  EXPECT_EQ(elementCount({0, int64_t(1) << 40, int64_t(1) << 40}),
            std::nullopt);
}
