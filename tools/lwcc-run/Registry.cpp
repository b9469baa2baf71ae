//===- Registry.cpp - Runtime functions by name ---------------------------===//
//
// The names of functions and of their fields are generated from the records of
// the train dialect (Kernels.td), everything else follows from the functions'
// C++ types: nothing is to be written here for a new operator.
//
//===----------------------------------------------------------------------===//

#include "tools/lwcc-run/Registry.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "llvm/ADT/STLExtras.h"

#include <tuple>

using namespace mlir;
using namespace lwcc;
using lwcc::rt::Tensor;
using lwcc::rt::Tensors;

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

//===----------------------------------------------------------------------===//
// Calls
//===----------------------------------------------------------------------===//

namespace {

/// Sets the fields of a parameter struct that a call says.
class Fields {
public:
  explicit Fields(DictionaryAttr said) : said(said) {}

  template <typename T>
  void operator()(StringRef name, T &field) {
    if (Attribute value = said ? said.get(name) : Attribute()) {
      assign(value, field);
      ++found;
    }
  }
  /// Whether the function has all that were said.
  bool complete() const { return found == (said ? said.size() : 0); }

private:
  DictionaryAttr said;
  size_t found = 0;
};

/// Hands out the tensors and the parameters of a call in the order of the
/// function's arguments. `setFields` sets the fields of a struct.
template <typename SetFields>
struct Arguments {
  ArrayRef<Tensor> outs, ins;
  SetFields setFields;

  template <typename T>
  T take() {
    ArrayRef<Tensor> &list = outs.empty() ? ins : outs;
    if constexpr (std::is_same_v<T, Tensor>) {
      Tensor first = list.front();
      list = list.drop_front();
      return first;
    } else if constexpr (std::is_same_v<T, Tensors>) {
      Tensors all = list.vec();
      list = {};
      return all;
    } else {
      T params;
      setFields(params);
      return params;
    }
  }
};

template <typename SetFields, typename... Args>
void apply(void (*function)(rt::Lane &, Args...), rt::Lane &lane,
           Arguments<SetFields> arguments) {
  // Braces: evaluated from left to right.
  std::tuple<std::decay_t<Args>...> values{
      arguments.template take<std::decay_t<Args>>()...};
  std::apply([&](auto &...v) { function(lane, v...); }, values);
}

struct Row {
  StringRef name;
  Invoke call;
};

#define LWCC_FIELD(field) set(#field, params.field);
#define LWCC_CALL(function, fields)                                            \
  [](rt::Lane &lane, ArrayRef<Tensor> outs, ArrayRef<Tensor> ins,              \
     DictionaryAttr said) {                                                    \
    auto setFields = [said](auto &params) {                                    \
      Fields set(said);                                                        \
      fields;                                                                  \
      assert(set.complete() && "a field that the function does not have");     \
    };                                                                         \
    apply(&rt::function, lane,                                                 \
          Arguments<decltype(setFields)>{outs, ins, setFields});               \
  }
#define GET_Kernels_IMPL
#include "tools/lwcc-run/Kernels.inc"

} // namespace

Invoke lwcc::findInvoke(StringRef name) {
  const Row *row =
      llvm::find_if(Kernels, [&](const Row &row) { return row.name == name; });
  return row == std::end(Kernels) ? nullptr : row->call;
}
