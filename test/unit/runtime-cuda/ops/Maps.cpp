//===- Maps.cpp - Generated elementwise kernels ---------------------------===//
//
// Kernels as codegen prints them. Compiled by g++ for the CPU runtime and, as
// Maps.cu, by nvcc for the CUDA runtime.
//
//===----------------------------------------------------------------------===//

#include "OpsCheck.h"
#include "runtime/emit/Generated.h"

#include <algorithm>
#include <cmath>

namespace lwcc::rt::kernels {
namespace {

// Named as programs name theirs: after the functions of layers.
// NOLINTBEGIN(readability-identifier-naming)
struct relu {
  static constexpr int inputs = 1;
  static constexpr bool indexed = false;
  LWCC_HD static float at(const StepScalars &, uint64_t, float x0) {
    return max(x0, 0.0f);
  }
};
struct scale_shift {
  static constexpr int inputs = 3;
  static constexpr bool indexed = false;
  LWCC_HD static float at(const StepScalars &, uint64_t, float x0, float x1,
                          float x2) {
    return x0 * x1 + x2;
  }
};
struct dropout {
  static constexpr int inputs = 1;
  static constexpr bool indexed = true;
  LWCC_HD static float at(const StepScalars &s, uint64_t i, float x0) {
    return x0 * dropout_mask(s, i, 0.5f, 123u);
  }
};
struct noise {
  static constexpr int inputs = 0;
  static constexpr bool indexed = true;
  LWCC_HD static float at(const StepScalars &s, uint64_t i) {
    return random_normal(s, i, 77u) + random_uniform(s, i, 123u);
  }
};
struct mixed {
  static constexpr int inputs = 3;
  static constexpr bool indexed = false;
  using Elements = MapElements<int32_t, uint8_t, int32_t, float>;
  LWCC_HD static float at(const StepScalars &, uint64_t, float x0, float x1,
                          float x2) {
    return (x0 - x1) * x2;
  }
};
struct constant {
  static constexpr int inputs = 0;
  static constexpr bool indexed = false;
  LWCC_HD static float at(const StepScalars &, uint64_t) { return 0.25f; }
};
struct functions {
  static constexpr int inputs = 2;
  static constexpr bool indexed = false;
  LWCC_HD static float at(const StepScalars &, uint64_t, float x0, float x1) {
    return exp(x0) + log(abs(x1) + 1.0f) + sqrt(abs(x0)) + tanh(x1) + erf(x0) +
           pow(abs(x0), 1.5f) + floor(x1) + min(x0, x1) + sigmoid(x0) +
           tan(x0 / 3.0f) + asin(x0 / 4.0f) + acos(x1 / 4.0f) + atan(x0) +
           sinh(x1) + cosh(x0) + asinh(x0) + acosh(abs(x1) + 1.5f) +
           atanh(x0 / 4.0f) + fmod(x0, 7.0f) +
           (x0 < x1 && x0 > -2.0f ? 1.0f : 0.0f);
  }
};
// NOLINTEND(readability-identifier-naming)

} // namespace
} // namespace lwcc::rt::kernels

using namespace lwcc;
using namespace lwcc::check;
using rt::Tensor;
namespace kernels = lwcc::rt::kernels;

/// The element of `x` that broadcasts to index `o`.
static double broadcast(const Host &x, const Dims &o) {
  Dims i(x.dims.size());
  for (size_t d = 0; d < i.size(); ++d)
    i[d] = x.dims[d] == 1 ? 0 : o[o.size() - i.size() + d];
  return x.at(i);
}

/// Where the first input is as large as the result, in place as well.
static void checkBroadcast(Bench &bench, const Dims &dims, const Dims &first,
                           const Dims &second, const Dims &third) {
  bench.clear();
  Host a = random(first), b = random(second), c = random(third), y(dims);
  forEach(dims, [&](const Dims &o) {
    y.at(o) = broadcast(a, o) * broadcast(b, o) + broadcast(c, o);
  });
  Tensor ta = bench.input(a), tb = bench.input(b), tc = bench.input(c),
         ty = bench.output(dims);
  bench.run([&](rt::Lane &lane) {
    rt::map<kernels::scale_shift>(lane, ty, {ta, tb, tc});
    if (first == dims)
      rt::map<kernels::scale_shift>(lane, ta, {ta, tb, tc});
  });
  bench.expect("map with broadcasting", ty, y);
  if (first == dims)
    bench.expect("map in place", ta, y);
}

static void checkDropout(Bench &bench, const Dims &dims) {
  bench.clear();
  rt::StepScalars s;
  s.seed = 0x1234567890abcdefull;
  s.step = 7;
  Host x = random(dims), y(dims), drawn(dims);
  for (int64_t i = 0; i < x.elements(); ++i) {
    const auto index = static_cast<uint64_t>(i);
    y.v[i] = x.v[i] * rt::dropout_mask(s, index, 0.5f, 123u);
    drawn.v[i] = kernels::noise::at(s, index);
  }
  Tensor tx = bench.input(x), ty = bench.output(dims), ts = bench.scalars(s);
  bench.run(
      [&](rt::Lane &lane) { rt::map<kernels::dropout>(lane, ty, {tx}, ts); });
  bench.expect("map of the element's index", ty, y);
  bench.run([&](rt::Lane &lane) { rt::map<kernels::noise>(lane, ty, {}, ts); });
  bench.expect("map without inputs", ty, drawn);
}

static void checkElements(Bench &bench, const Dims &dims, const Dims &second) {
  bench.clear();
  Host a = randomInts(dims, 0, 255), b = randomInts(second, -100, 100),
       c = random(dims), y(dims);
  forEach(dims, [&](const Dims &o) {
    // Rounded as the kernel's product is, or a whole number is missed.
    y.at(o) =
        std::trunc(static_cast<float>((a.at(o) - broadcast(b, o)) * c.at(o)));
  });
  Tensor ta = bench.input(a, rt::DType::u8),
         tb = bench.input(b, rt::DType::i32), tc = bench.input(c),
         ty = bench.output(dims, rt::DType::i32);
  bench.run(
      [&](rt::Lane &lane) { rt::map<kernels::mixed>(lane, ty, {ta, tb, tc}); });
  bench.expect("map of integers and bytes", ty, y);
}

void check::checkMaps(Bench &bench) {
  for (const Dims &dims : {Dims{}, Dims{1}, Dims{37}, Dims{2, 3, 4, 5},
                           Dims{2, 8, 3, 3}, Dims{3, 4, 5}}) {
    bench.clear();
    Host x = random(dims, -1, 1), y = x;
    x.v[0] = NAN;
    y.v[0] = NAN;
    for (double &value : y.v)
      value = std::isnan(value) ? value : std::max(value, 0.0);
    Tensor tx = bench.input(x), ty = bench.output(dims);
    bench.run([&](rt::Lane &lane) { rt::map<kernels::relu>(lane, ty, {tx}); });
    bench.expect("map", ty, y);
    checkDropout(bench, dims);

    bench.clear();
    Tensor tc = bench.output(dims);
    bench.run(
        [&](rt::Lane &lane) { rt::map<kernels::constant>(lane, tc, {}); });
    bench.expect("map without inputs", tc, Host(dims, 0.25));
  }
  checkDropout(bench, {2, 16, 7, 9});
  checkBroadcast(bench, {2, 8, 3, 5}, {2, 8, 3, 5}, {8, 1, 1}, {1, 8, 1, 1});
  checkBroadcast(bench, {2, 6, 3, 5}, {2, 6, 3, 5}, {6, 1, 1}, {1});
  checkBroadcast(bench, {2, 6, 3, 5}, {2, 6, 3, 5}, {2, 1, 3, 1}, {5});
  checkBroadcast(bench, {4, 12}, {4, 12}, {12}, {4, 1});
  checkBroadcast(bench, {4, 12}, {4, 12}, {}, {4, 12});
  checkBroadcast(bench, {3, 7, 5}, {3, 7, 5}, {7, 1}, {3, 1, 5});

  checkBroadcast(bench, {5, 6}, {6}, {5, 1}, {6});
  checkBroadcast(bench, {3, 5, 4}, {5, 1}, {4}, {3, 1, 1});

  checkElements(bench, {999}, {1});
  checkElements(bench, {4, 12}, {4, 12});
  checkElements(bench, {2, 8, 3, 5}, {8, 1, 1});

  bench.clear();
  Host a = random({999}, -3, 3), b = random({999}, -3, 3), y({999});
  for (size_t i = 0; i < a.v.size(); ++i) {
    double p = a.v[i], q = b.v[i];
    y.v[i] = std::exp(p) + std::log(std::fabs(q) + 1) +
             std::sqrt(std::fabs(p)) + std::tanh(q) + std::erf(p) +
             std::pow(std::fabs(p), 1.5) + std::floor(q) + std::min(p, q) +
             std::tan(p / 3) + std::asin(p / 4) + std::acos(q / 4) +
             std::atan(p) + std::sinh(q) + std::cosh(p) + std::asinh(p) +
             std::acosh(std::fabs(q) + 1.5) + std::atanh(p / 4) +
             std::fmod(p, 7) + 1 / (1 + std::exp(-p)) + (p < q && p > -2);
  }
  Tensor ta = bench.input(a), tb = bench.input(b), ty = bench.output({999});
  bench.run(
      [&](rt::Lane &lane) { rt::map<kernels::functions>(lane, ty, {ta, tb}); });
  bench.expect("map of every function", ty, y);
}

/// A kernel that draws random numbers gives a part of a tensor the numbers of
/// the elements that it has there in the whole.
static void checkDrawnPart(Bench &bench, const Dims &whole, const Dims &begin,
                           const Dims &dims) {
  bench.clear();
  rt::StepScalars s;
  s.seed = 99;
  s.step = 3;
  Host place(whole), x = random(dims), y(dims);
  for (int64_t i = 0; i < place.elements(); ++i)
    place.v[i] = static_cast<double>(i);
  forEach(dims, [&](const Dims &o) {
    Dims i = o;
    for (size_t d = 0; d < i.size(); ++d)
      i[d] += begin[d];
    y.at(o) = x.at(o) * rt::dropout_mask(s, static_cast<uint64_t>(place.at(i)),
                                         0.5f, 123u);
  });
  Tensor tx = bench.input(x), ty = bench.output(dims), ts = bench.scalars(s);
  bench.run([&](rt::Lane &lane) {
    rt::map<kernels::dropout>(lane, ty, {tx}, ts,
                              {.begin = begin, .dims = whole});
  });
  bench.expect("map of the element's index in the whole", ty, y);
}

/// Extents that broadcast to `dims`: some are 1, leading ones are left out.
static Dims drawBroadcast(const Dims &dims) {
  Dims to(dims.begin() + draw(0, int64_t(dims.size())), dims.end());
  for (int64_t &extent : to)
    extent = draw(0, 1) ? extent : 1;
  return to;
}

void check::drawMap(Bench &bench) {
  Dims dims = drawDims(0, 5);
  const Dims second = drawBroadcast(dims);
  const Dims first = draw(0, 1) ? dims : drawBroadcast(dims);
  checkBroadcast(bench, dims, first, second, drawBroadcast(dims));
  checkElements(bench, dims, second);
  dims = drawDims(1, 5);
  Dims begin, part;
  for (int64_t extent : dims) {
    begin.push_back(draw(0, extent - 1));
    part.push_back(draw(1, extent - begin.back()));
  }
  checkDropout(bench, dims);
  checkDrawnPart(bench, dims, begin, part);
}
