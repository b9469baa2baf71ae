//===- Pooling.cpp - Maxima and means over windows ------------------------===//
//
// Values, indices and gradients; windows reach over the border, and one element
// is not a number.
//
//===----------------------------------------------------------------------===//

#include "OpsCheck.h"

#include <cmath>

using namespace lwcc;
using namespace lwcc::check;
using rt::DType;
using rt::Tensor;

namespace {
struct PoolCase {
  Dims x;
  rt::Pair kernel, stride, dilation;
  rt::Quad pad;
  bool ceil;
};
} // namespace

static void checkPool(Bench &bench, const PoolCase &k) {
  Dims y = {k.x[0], k.x[1], 0, 0};
  for (size_t d = 0; d < 2; ++d) {
    int64_t room = k.x[2 + d] + k.pad[d] + k.pad[2 + d] -
                   (k.kernel[d] - 1) * k.dilation[d] - 1;
    y[2 + d] = (room + (k.ceil ? k.stride[d] - 1 : 0)) / k.stride[d] + 1;
    // A window that starts behind the padded input is left out, as in PyTorch.
    if (k.ceil && (y[2 + d] - 1) * k.stride[d] >= k.x[2 + d] + k.pad[d])
      --y[2 + d];
  }
  bench.clear();
  Host x = randomInts(k.x, -9, 9), dy = random(y);
  x.v[x.v.size() / 2] = NAN;
  Host best(y, -INFINITY), tap(y), dxMax(k.x);
  Host mean(y), meanPad(y), dxAvg(k.x), dxPad(k.x);
  forEach(y, [&](const Dims &o) {
    double sum = 0;
    int64_t inside = 0, padded = 0;
    bool first = true;
    Dims winner;
    std::vector<Dims> taps;
    for (int64_t kh = 0; kh < k.kernel[0]; ++kh)
      for (int64_t kw = 0; kw < k.kernel[1]; ++kw) {
        int64_t ih = o[2] * k.stride[0] - k.pad[0] + kh * k.dilation[0];
        int64_t iw = o[3] * k.stride[1] - k.pad[1] + kw * k.dilation[1];
        padded += ih < k.x[2] + k.pad[2] && iw < k.x[3] + k.pad[3];
        if (ih < 0 || iw < 0 || ih >= k.x[2] || iw >= k.x[3])
          continue;
        ++inside;
        Dims i = {o[0], o[1], ih, iw};
        taps.push_back(i);
        double value = x.at(i);
        sum += value;
        if (first || value > best.at(o) || std::isnan(value)) {
          best.at(o) = value;
          tap.at(o) = static_cast<double>(kh * k.kernel[1] + kw);
          winner = i;
          first = false;
        }
      }
    if (!first)
      dxMax.at(winner) += dy.at(o);
    mean.at(o) = inside ? sum / inside : 0;
    meanPad.at(o) = padded ? sum / padded : 0;
    for (const Dims &i : taps) {
      dxAvg.at(i) += dy.at(o) / inside;
      dxPad.at(i) += dy.at(o) / padded;
    }
  });

  const DType indexType =
      k.kernel[0] * k.kernel[1] <= 256 ? DType::u8 : DType::i32;
  Tensor tx = bench.input(x), tdy = bench.input(dy);
  Tensor ty = bench.output(y), index = bench.output(y, indexType),
         tyOnly = bench.output(y), tdx = bench.output(k.x);
  Tensor avg = bench.output(y), avgPad = bench.output(y),
         avgDx = bench.output(k.x), avgDxPad = bench.output(k.x);
  rt::MaxPoolParams max;
  max.dilation = k.dilation;
  max.kernel = k.kernel;
  max.pad = k.pad;
  max.stride = k.stride;
  rt::AvgPoolParams average;
  average.dilation = k.dilation;
  average.kernel = k.kernel;
  average.pad = k.pad;
  average.stride = k.stride;
  rt::AvgPoolParams includePad = average;
  includePad.count_include_pad = true;
  bench.run([&](rt::Lane &lane) {
    max_pool(lane, ty, index, tx, max);
    max_pool(lane, tyOnly, {}, tx, max);
    max_pool_grad(lane, tdx, tdy, index, max);
    avg_pool(lane, avg, tx, average);
    avg_pool(lane, avgPad, tx, includePad);
    avg_pool_grad(lane, avgDx, tdy, average);
    avg_pool_grad(lane, avgDxPad, tdy, includePad);
  });
  bench.expect("max_pool", ty, best);
  bench.expect("max_pool without index", tyOnly, best);
  bench.expect("max_pool: index", index, tap);
  bench.expect("max_pool_grad", tdx, dxMax);
  bench.expect("avg_pool", avg, mean);
  bench.expect("avg_pool counting padding", avgPad, meanPad);
  bench.expect("avg_pool_grad", avgDx, dxAvg);
  bench.expect("avg_pool_grad counting padding", avgDxPad, dxPad);
}

void check::checkPooling(Bench &bench) {
  const PoolCase cases[] = {
      {{2, 8, 13, 13}, {3, 3}, {2, 2}, {1, 1}, {0, 0, 0, 0}, false},
      {{2, 3, 12, 11}, {2, 2}, {2, 2}, {1, 1}, {0, 0, 0, 0}, true},
      {{2, 12, 14, 14}, {3, 3}, {2, 2}, {1, 1}, {1, 1, 1, 1}, false},
      {{2, 5, 14, 15}, {3, 3}, {2, 2}, {1, 1}, {0, 0, 0, 0}, true},
      {{1, 4, 9, 9}, {3, 3}, {1, 1}, {1, 1}, {1, 1, 1, 1}, false},
      {{1, 4, 13, 12}, {3, 2}, {2, 3}, {2, 3}, {1, 1, 1, 0}, false},
      {{1, 2, 20, 20}, {17, 17}, {3, 3}, {1, 1}, {0, 0, 0, 0}, false},
      {{1, 4, 18, 17}, {17, 17}, {1, 1}, {1, 1}, {0, 0, 0, 0}, false},
      {{3, 16, 7, 7}, {7, 7}, {1, 1}, {1, 1}, {0, 0, 0, 0}, false}};
  for (const PoolCase &k : cases)
    checkPool(bench, k);
}

void check::drawPooling(Bench &bench) {
  PoolCase k;
  k.x = {draw(1, 3), draw(1, 20), draw(1, 14), draw(1, 14)};
  k.ceil = draw(0, 1);
  for (size_t d = 0; d < 2; ++d) {
    // A window that fits, and padding in which no window can lie.
    int64_t reach;
    do {
      k.kernel[d] = draw(1, draw(0, 9) == 0 ? 14 : 5);
      k.dilation[d] = draw(1, 3);
      k.stride[d] = draw(1, 4);
      reach = (k.kernel[d] - 1) * k.dilation[d];
      k.pad[d] = draw(0, k.kernel[d] / 2);
      k.pad[2 + d] = draw(0, k.kernel[d] / 2);
    } while (k.x[2 + d] + k.pad[d] + k.pad[2 + d] <= reach);
  }
  checkPool(bench, k);
}
