//===- Elements.h - In which types a kernel's tensors are stored *- C++ -*-===//
//
// A generated elementwise kernel computes in float32. Its inputs and its result
// may be stored in other types: it says so with
//
//   using Elements = MapElements<float, int32_t, uint8_t>; // y, x0, x1
//
// and both launchers (cpu/Map.h, cuda/Map.cuh) load and store them. A kernel
// that says nothing has float32 throughout.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_RUNTIME_CORE_ELEMENTS_H
#define LWCC_RUNTIME_CORE_ELEMENTS_H

#include "runtime/core/HostDevice.h"
#include "runtime/core/Tensor.h"

#include <algorithm>
#include <cstdint>
#include <tuple>
#include <type_traits>

namespace lwcc::rt {

template <typename T>
constexpr DType dtypeOf() {
  if constexpr (std::is_same_v<T, float>)
    return DType::f32;
  else if constexpr (std::is_same_v<T, int32_t>)
    return DType::i32;
  else {
    static_assert(std::is_same_v<T, uint8_t>, "a type of Tensor.h");
    return DType::u8;
  }
}

/// The types of a kernel's result and of its inputs.
template <typename Y, typename... Xs>
struct MapElements {
  using Result = Y;
  template <size_t K>
  using Input = std::tuple_element_t<K, std::tuple<Xs...>>;
  static constexpr int inputs = sizeof...(Xs);
  static constexpr DType types[] = {dtypeOf<Y>(), dtypeOf<Xs>()...};
};

namespace detail {
template <int Inputs>
struct AllFloats {
  using Result = float;
  template <size_t>
  using Input = float;
  static constexpr int inputs = Inputs;
  static constexpr DType types[Inputs + 1] = {}; // f32, the first of them
};

template <typename F, typename = void>
struct ElementsIn {
  using type = AllFloats<F::inputs>;
};
template <typename F>
struct ElementsIn<F, std::void_t<typename F::Elements>> {
  using type = typename F::Elements;
  static_assert(type::inputs == F::inputs);
};
} // namespace detail

template <typename F>
using ElementsOf = typename detail::ElementsIn<F>::type;

/// Whether these are tensors of the types that a kernel is compiled for.
template <typename F, typename Inputs>
bool haveElementsOf(const Tensor &y, const Inputs &xs) {
  const DType *types = ElementsOf<F>::types;
  return y.type == types[0] && xs.size() == F::inputs &&
         std::equal(xs.begin(), xs.end(), types + 1,
                    [](const Tensor &x, DType type) { return x.type == type; });
}

/// The value that is stored for a result: of integers the part before the
/// point, the nearest there is, 0 for NaN.
template <typename T>
LWCC_HD T storedAs(float value) {
  if constexpr (std::is_same_v<T, float>) {
    return value;
  } else {
    // Not of std::numeric_limits: device code may not call its functions.
    constexpr uint64_t half = uint64_t(1) << (8 * sizeof(T) - 1);
    constexpr T high =
        static_cast<T>(std::is_signed_v<T> ? half - 1 : half + (half - 1));
    constexpr T low = static_cast<T>(std::is_signed_v<T> ? -high - 1 : 0);
    return value >= static_cast<float>(high)  ? high
           : value > static_cast<float>(low)  ? static_cast<T>(value)
           : value <= static_cast<float>(low) ? low
                                              : T(0);
  }
}

} // namespace lwcc::rt

#endif // LWCC_RUNTIME_CORE_ELEMENTS_H
