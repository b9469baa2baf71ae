//===- Mix.cpp - Samples of a batch that are mixed ------------------------===//

#include "runtime/train/data/Mix.h"

#include "runtime/core/Philox.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>

namespace lwcc::rt::train {

namespace {
/// The numbers of one batch.
class Draws {
public:
  Draws(uint64_t seed, int64_t epoch, int64_t batch)
      : seed(seed), epoch(static_cast<uint32_t>(epoch)),
        block(static_cast<uint64_t>(batch) << 16) {}

  Philox4 next() { return philox(seed, block++, streamOf("mixing"), epoch); }
  /// Two numbers in (0, 1), of 53 bits each.
  std::array<double, 2> pair() {
    const Philox4 bits = next();
    auto number = [](uint32_t high, uint32_t low) {
      return (double(high >> 5) * 67108864.0 + double(low >> 6) + 0.5) *
             0x1p-53;
    };
    return {number(bits.v[0], bits.v[1]), number(bits.v[2], bits.v[3])};
  }

private:
  uint64_t seed;
  uint32_t epoch;
  uint64_t block;
};
} // namespace

/// A number that has the distribution Beta(alpha, alpha): up to 1 by Jöhnk's
/// method (Metrika 8, 1964), in logarithms, as powers of small alphas are 0;
/// above by Cheng's BB (CACM 21(4), 1978).
static double drawBeta(Draws &draws, double alpha) {
  if (alpha <= 1)
    while (true) {
      const auto [u, v] = draws.pair();
      const double x = std::log(u) / alpha, y = std::log(v) / alpha;
      const double larger = std::max(x, y);
      const double sum = larger + std::log1p(std::exp(-std::abs(x - y)));
      if (sum <= 0)
        return std::exp(x - sum);
    }
  const double beta =
      std::sqrt((2 * alpha - 2) / (2 * alpha * alpha - 2 * alpha));
  const double gamma = alpha + 1 / beta;
  while (true) {
    const auto [u, v] = draws.pair();
    const double odds = beta * std::log(u / (1 - u));
    const double w = alpha * std::exp(odds), z = u * u * v;
    const double r = gamma * odds - std::log(4.0);
    if (r + 2 * alpha * std::log(2 * alpha / (alpha + w)) >= std::log(z))
      return w / (alpha + w);
  }
}

Mixture Mixing::draw(uint64_t seed, int64_t epoch, int64_t batch,
                     const std::vector<int64_t> &dims) const {
  Draws draws(seed, epoch, batch);
  const Philox4 first = draws.next();
  const bool cuts = cutmix > 0 && (mixup <= 0 || uniformOf(first.v[0]) >= 0.5f);
  const double share = drawBeta(draws, cuts ? cutmix : mixup);
  if (!cuts)
    return {share, std::nullopt};
  // CutMix.make_params: the place is the box's centre, and the box is clipped.
  assert(dims.size() == 3 && "only images are cut");
  const int64_t height = dims[1], width = dims[2];
  auto below = [](int64_t count, uint32_t bits) {
    return static_cast<int64_t>(uint64_t(bits) * uint64_t(count) >> 32);
  };
  const int64_t x = below(width, first.v[1]), y = below(height, first.v[2]);
  const double half = 0.5 * std::sqrt(1 - share);
  const auto wide = static_cast<int64_t>(half * double(width)),
             tall = static_cast<int64_t>(half * double(height));
  const int64_t left = std::max<int64_t>(x - wide, 0),
                top = std::max<int64_t>(y - tall, 0);
  const int64_t right = std::min(x + wide, width),
                bottom = std::min(y + tall, height);
  const Crop box = {top, left, bottom - top, right - left};
  return {1 - double(box.height * box.width) / double(width * height), box};
}

void mixInputs(const Mixture &mixture, const std::vector<int64_t> &dims,
               const float *own, const float *other, float *mixed) {
  int64_t elements = 1;
  for (int64_t extent : dims)
    elements *= extent;
  if (!mixture.box) {
    const auto share = static_cast<float>(mixture.share),
               rest = static_cast<float>(1 - mixture.share);
    for (int64_t i = 0; i < elements; ++i)
      mixed[i] = other[i] * rest + own[i] * share;
    return;
  }
  std::copy(own, own + elements, mixed);
  const Crop &box = *mixture.box;
  for (int64_t channel = 0; channel < dims[0]; ++channel)
    for (int64_t row = box.top; row < box.top + box.height; ++row) {
      const int64_t at = (channel * dims[1] + row) * dims[2] + box.left;
      std::copy(other + at, other + at + box.width, mixed + at);
    }
}

void mixLabels(const Mixture &mixture, int32_t own, int32_t other,
               MixedLabel &mixed) {
  std::fill(mixed.shares.begin(), mixed.shares.end(), 0.0f);
  mixed.shares[other] += static_cast<float>(1 - mixture.share);
  mixed.shares[own] += static_cast<float>(mixture.share);
  // The first of equal ones, as torch.max has it.
  const float a = mixed.shares[own], b = mixed.shares[other];
  mixed.label = a > b ? own : b > a ? other : std::min(own, other);
}

} // namespace lwcc::rt::train
