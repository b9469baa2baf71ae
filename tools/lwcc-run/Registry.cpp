//===- Registry.cpp - Runtime functions by name ---------------------------===//
//
// The functions come from Kernels.def and their C++ types, so that the only
// thing to write for a new operator is the list of its parameter struct's
// fields, if it has a struct of its own.
//
//===----------------------------------------------------------------------===//

#include "tools/lwcc-run/Registry.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "llvm/ADT/StringMap.h"

using namespace mlir;
using namespace lwcc;
using lwcc::rt::Tensor;
using lwcc::rt::Tensors;

//===----------------------------------------------------------------------===//
// Fields of the parameter structs
//===----------------------------------------------------------------------===//

template <typename F>
static void fields(rt::ConvParams &p, F f) {
  f("dilation", p.dilation);
  f("group", p.group);
  f("pad", p.pad);
  f("relu", p.relu);
  f("stride", p.stride);
}
template <typename F>
static void fields(rt::MatMulParams &p, F f) {
  f("relu", p.relu);
  f("transpose_a", p.transpose_a);
  f("transpose_b", p.transpose_b);
}
template <typename F>
static void fields(rt::MaxPoolParams &p, F f) {
  f("dilation", p.dilation);
  f("kernel", p.kernel);
  f("pad", p.pad);
  f("stride", p.stride);
}
template <typename F>
static void fields(rt::AvgPoolParams &p, F f) {
  f("count_include_pad", p.count_include_pad);
  f("dilation", p.dilation);
  f("kernel", p.kernel);
  f("pad", p.pad);
  f("stride", p.stride);
}
template <typename F>
static void fields(rt::BatchNormParams &p, F f) {
  f("epsilon", p.epsilon);
}
template <typename F>
static void fields(rt::LrnParams &p, F f) {
  f("alpha", p.alpha);
  f("beta", p.beta);
  f("bias", p.bias);
  f("size", p.size);
}
template <typename F>
static void fields(rt::SoftmaxParams &p, F f) {
  f("axis", p.axis);
  f("log", p.log);
}
template <typename F>
static void fields(rt::LossParams &p, F f) {
  f("ignore_index", p.ignore_index);
  f("sum", p.sum);
}
template <typename F>
static void fields(rt::LossWeightParams &p, F f) {
  f("classes", p.classes);
  f("ignore_index", p.ignore_index);
}
template <typename F>
static void fields(rt::OneHotParams &p, F f) {
  f("first_class", p.first_class);
  f("ignore_index", p.ignore_index);
}
template <typename F>
static void fields(rt::LabelRankParams &p, F f) {
  f("first_class", p.first_class);
}
template <typename F>
static void fields(rt::ReduceParams &p, F f) {
  f("axes", p.axes);
  f("mean", p.mean);
}
template <typename F>
static void fields(rt::TransposeParams &p, F f) {
  f("perm", p.perm);
}
template <typename F>
static void fields(rt::AxisParams &p, F f) {
  f("axis", p.axis);
}
template <typename F>
static void fields(rt::SplitParams &p, F f) {
  f("axis", p.axis);
  f("sizes", p.sizes);
}
template <typename F>
static void fields(rt::PadParams &p, F f) {
  f("low", p.low);
  f("value", p.value);
}
template <typename F>
static void fields(rt::SliceParams &p, F f) {
  f("start", p.start);
  f("step", p.step);
}
template <typename F>
static void fields(rt::FillParams &p, F f) {
  f("value", p.value);
}

//===----------------------------------------------------------------------===//
// Reading attributes
//===----------------------------------------------------------------------===//

static void assign(Attribute a, bool &v) { v = cast<BoolAttr>(a).getValue(); }
static void assign(Attribute a, int64_t &v) {
  v = cast<IntegerAttr>(a).getInt();
}
static void assign(Attribute a, float &v) {
  v = static_cast<float>(cast<FloatAttr>(a).getValueAsDouble());
}
static void assign(Attribute a, std::vector<int64_t> &v) {
  v = cast<DenseI64ArrayAttr>(a).asArrayRef().vec();
}
template <size_t N>
static void assign(Attribute a, std::array<int64_t, N> &v) {
  ArrayRef<int64_t> list = cast<DenseI64ArrayAttr>(a).asArrayRef();
  assert(list.size() == N && "parameter of another length");
  llvm::copy(list, v.begin());
}

namespace {
/// Hands out the tensors of a call in the order of the function's arguments.
struct Arguments {
  ArrayRef<Tensor> outs, ins;
  DictionaryAttr params;

  template <typename T>
  T take() {
    if constexpr (std::is_same_v<T, Tensor>) {
      ArrayRef<Tensor> &list = outs.empty() ? ins : outs;
      Tensor first = list.front();
      list = list.drop_front();
      return first;
    } else if constexpr (std::is_same_v<T, Tensors>) {
      ArrayRef<Tensor> &list = outs.empty() ? ins : outs;
      Tensors all = list.vec();
      list = {};
      return all;
    } else {
      T values;
      [[maybe_unused]] size_t found = 0;
      fields(values, [&](StringRef name, auto &field) {
        if (Attribute a = params ? params.get(name) : Attribute()) {
          assign(a, field);
          ++found;
        }
      });
      assert(found == (params ? params.size() : 0) &&
             "a parameter that the runtime function does not have");
      return values;
    }
  }
};
} // namespace

template <typename... Args>
static void apply(void (*function)(rt::Lane &, Args...), rt::Lane &lane,
                  Arguments arguments) {
  // Braces: evaluated from left to right.
  std::tuple<std::decay_t<Args>...> values{
      arguments.take<std::decay_t<Args>>()...};
  std::apply([&](auto &...v) { function(lane, v...); }, values);
}

template <auto Function>
static void invoke(rt::Lane &lane, ArrayRef<Tensor> outs, ArrayRef<Tensor> ins,
                   DictionaryAttr params) {
  apply(Function, lane, Arguments{outs, ins, params});
}

Invoke lwcc::findInvoke(StringRef name) {
  static const llvm::StringMap<Invoke> table = {
#define LWCC_GENERATED(name, results, operands)
#define LWCC_KERNEL(name, results, operands) {#name, &invoke<&rt::name>},
#include "ir/exec/Kernels.def"
  };
  return table.lookup(name);
}
