//===- ConstantFolderTest.cpp - Evaluation at compile time ----------------===//

#include "frontend/ConstantFolder.h"

#include "gtest/gtest.h"

#include <limits>

using namespace lwcc;

namespace {
/// A node with integer attributes, evaluated.
struct Node {
  onnx::NodeProto proto;

  explicit Node(const char *op) {
    proto.set_op_type(op);
    proto.add_output("y");
  }
  Node &with(const char *name, int64_t value) {
    auto *attribute = proto.add_attribute();
    attribute->set_name(name);
    attribute->set_i(value);
    return *this;
  }
  Node &with(const char *name, std::initializer_list<int64_t> values) {
    auto *attribute = proto.add_attribute();
    attribute->set_name(name);
    for (int64_t value : values)
      attribute->add_ints(value);
    return *this;
  }
  std::optional<HostTensor> run(std::initializer_list<HostTensor> inputs) {
    std::vector<const HostTensor *> pointers;
    for (const HostTensor &input : inputs) {
      proto.add_input("x");
      pointers.push_back(&input);
    }
    return findOnnxOp(proto.op_type())
        ->fold(NodeView(proto, 20), pointers, error);
  }
  std::vector<int64_t> integers(std::initializer_list<HostTensor> inputs) {
    auto result = run(inputs);
    EXPECT_TRUE(result) << error;
    return result ? result->integers : std::vector<int64_t>();
  }
  std::string error;
};

HostTensor ints(std::initializer_list<int64_t> values) {
  return HostTensor::ofIntegers(values);
}
HostTensor iota(std::initializer_list<int64_t> shape) {
  HostTensor tensor = HostTensor::empty(HostTensor::Kind::integer, shape);
  for (int64_t i = 0; i < *elementCount(tensor.shape); ++i)
    tensor.integers.push_back(i);
  return tensor;
}
using Values = std::vector<int64_t>;
constexpr int64_t largest = std::numeric_limits<int64_t>::max();
constexpr int64_t smallest = std::numeric_limits<int64_t>::min();
} // namespace

TEST(ConstantFolder, integerArithmetic) {
  EXPECT_EQ(
      Node("Div").integers({ints({7, -7}), HostTensor::scalar(int64_t(2))}),
      (Values{3, -3}));
  EXPECT_EQ(
      Node("Mod").integers({ints({7, -7}), HostTensor::scalar(int64_t(3))}),
      (Values{1, 2}));
  EXPECT_EQ(Node("Mod").with("fmod", 1).integers(
                {ints({-7}), HostTensor::scalar(int64_t(3))}),
            Values{-1});
  EXPECT_EQ(Node("Equal").integers({ints({largest}), ints({largest - 1})}),
            Values{0});
  EXPECT_EQ(Node("Add").integers({ints({largest}), ints({1})}),
            Values{smallest});
}

TEST(ConstantFolder, divisionByZeroIsAnError) {
  Node zero("Div"), overflow("Div");
  EXPECT_FALSE(zero.run({ints({1}), ints({0})}));
  EXPECT_EQ(zero.error, "divides by zero");
  EXPECT_FALSE(overflow.run({ints({smallest}), ints({-1})}));
}

TEST(ConstantFolder, slicesWithAnyBounds) {
  HostTensor x = iota({5});
  auto slice = [&](int64_t start, int64_t end, int64_t step) {
    return Node("Slice").integers(
        {x, ints({start}), ints({end}), ints({0}), ints({step})});
  };
  EXPECT_EQ(slice(1, largest, 2), (Values{1, 3}));
  EXPECT_EQ(slice(-2, largest, 1), (Values{3, 4}));
  EXPECT_EQ(slice(largest, smallest, -2), (Values{4, 2, 0}));
  EXPECT_EQ(slice(3, -100, -1), (Values{3, 2, 1, 0}));
  EXPECT_EQ(slice(-100, 2, 1), (Values{0, 1}));
  EXPECT_EQ(slice(4, 1, 1), Values{});
  HostTensor none = iota({0});
  EXPECT_EQ(Node("Slice").integers(
                {none, ints({0}), ints({9}), ints({0}), ints({-1})}),
            Values{});
}

TEST(ConstantFolder, gathersAlongAnAxis) {
  HostTensor x = iota({2, 3});
  Node column("Gather");
  auto result =
      column.with("axis", 1).run({x, HostTensor::scalar(int64_t(-1))});
  EXPECT_EQ(result->shape, Shape{2});
  EXPECT_EQ(result->integers, (Values{2, 5}));
  Node outside("Gather");
  EXPECT_FALSE(outside.run({x, ints({2})}));
  EXPECT_EQ(outside.error, "index 2 is outside an extent of 2");
}

TEST(ConstantFolder, movesElements) {
  HostTensor x = iota({2, 3});
  EXPECT_EQ(Node("Transpose").integers({x}), (Values{0, 3, 1, 4, 2, 5}));
  EXPECT_EQ(Node("Concat").with("axis", 1).integers({x, iota({2, 1})}),
            (Values{0, 1, 2, 0, 3, 4, 5, 1}));
  EXPECT_EQ(Node("Expand").integers({iota({2, 1}), ints({1, 3})}),
            (Values{0, 0, 0, 1, 1, 1}));
  EXPECT_EQ(Node("Tile").integers({iota({2}), ints({2})}),
            (Values{0, 1, 0, 1}));
  EXPECT_EQ(Node("ReduceMax").with("axes", {0}).integers({x}),
            (Values{3, 4, 5}));
  EXPECT_EQ(Node("ReduceProd").integers({ints({2, 3, 4})}), Values{24});
  EXPECT_EQ(Node("Where").integers({ints({1, 0}), ints({5, 6}), ints({7, 8})}),
            (Values{5, 8}));
  EXPECT_EQ(Node("Range").integers({HostTensor::scalar(int64_t(5)),
                                    HostTensor::scalar(int64_t(0)),
                                    HostTensor::scalar(int64_t(-2))}),
            (Values{5, 3, 1}));
}

TEST(ConstantFolder, leavesWhatIsTooLarge) {
  Node expand("Expand");
  EXPECT_FALSE(expand.run({iota({1}), ints({1 << 30})}));
  EXPECT_EQ(expand.error, "");
}

TEST(ConstantFolder, reshapesByTheRules) {
  std::string error;
  EXPECT_EQ(reshapedShape({2, 3, 4}, {0, -1}, false, error), (Shape{2, 12}));
  EXPECT_EQ(reshapedShape({0, 3}, {0, 5}, true, error), (Shape{0, 5}));
  EXPECT_FALSE(reshapedShape({2, 3}, {-1, -1}, false, error));
  EXPECT_FALSE(reshapedShape({2, 3}, {4, -1}, false, error));
  EXPECT_FALSE(reshapedShape({2, 3}, {-2, 3}, false, error));
  EXPECT_EQ(flattenedShape({2, 3, 4}, -1, error), (Shape{6, 4}));
  EXPECT_EQ(flattenedShape({2, 3, 4}, 0, error), (Shape{1, 24}));
  EXPECT_EQ(unsqueezedShape({3}, {-1, 0}, error), (Shape{1, 3, 1}));
  EXPECT_EQ(squeezedShape({1, 3, 1}, std::nullopt, error), Shape{3});
  EXPECT_FALSE(squeezedShape({1, 3}, Shape{1}, error));
}

TEST(OnnxOpTable, isConsistent) {
  for (const OnnxOp &op : onnxOps()) {
    EXPECT_EQ(&op, findOnnxOp(op.name)) << "two rows for " << op.name.str();
    EXPECT_LE(op.minInputs, op.maxInputs);
    for (const AttributeSpec &spec : attributesOf(op))
      EXPECT_EQ(spec.type.size(), 1u) << op.name.str();
  }
}
