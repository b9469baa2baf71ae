//===- OpsCheck.cpp - Every runtime operator against plain loops ----------===//
//
//   ops-check [--rounds=N] [--seed=N] [PART | --list]
//
// The bench and main; --list names the parts, a line each. Behind the chosen
// cases, each part draws N more rounds of them (0), from the seed (1). Exits
// with 0 if all comparisons hold, 1 if one fails or cannot be made, 77 if the
// backend has no device here, 2 for an unknown part.
//
//===----------------------------------------------------------------------===//

#include "OpsCheck.h"
#include "Parts.h"
#include "runtime/core/Error.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>

using namespace lwcc;
using namespace lwcc::check;
using rt::DType;
using rt::Tensor;

static constexpr int64_t arenaBytes = int64_t(64) << 20;

Host::Host(Dims dims, double value) : dims(std::move(dims)) {
  int64_t n = 1;
  for (int64_t extent : this->dims)
    n *= extent;
  v.assign(static_cast<size_t>(n), value);
}

int64_t Host::offset(const Dims &index) const {
  int64_t at = 0;
  for (size_t d = 0; d < dims.size(); ++d)
    at = at * dims[d] + index[d];
  return at;
}

static uint64_t randomState = 1;

/// A step of a linear congruential generator; its upper bits.
static uint32_t nextBits() {
  randomState = randomState * 6364136223846793005u + 1442695040888963407u;
  return static_cast<uint32_t>(randomState >> 33);
}

Host check::random(Dims dims, double low, double high) {
  Host host(std::move(dims));
  for (double &value : host.v)
    value = static_cast<float>(low + (high - low) * nextBits() / 2147483648.0);
  return host;
}

Host check::randomInts(Dims dims, int low, int high) {
  Host host(std::move(dims));
  for (double &value : host.v)
    value = low + static_cast<int>(nextBits() % uint32_t(high - low + 1));
  return host;
}

int64_t check::draw(int64_t low, int64_t high) {
  return low + static_cast<int64_t>(nextBits() % uint64_t(high - low + 1));
}

Dims check::drawDims(int64_t lowestRank, int64_t highestRank) {
  const int64_t largest[] = {1, 5000, 70, 17, 9, 6};
  Dims dims(static_cast<size_t>(draw(lowestRank, highestRank)));
  for (int64_t &extent : dims)
    extent = draw(1, largest[dims.size()]);
  return dims;
}

void check::forEach(const Dims &dims,
                    const std::function<void(const Dims &)> &f) {
  Dims index(dims.size(), 0);
  for (int64_t n = Host(dims).elements(); n > 0; --n) {
    f(index);
    for (size_t d = dims.size(); d-- > 0;) {
      if (++index[d] < dims[d])
        break;
      index[d] = 0;
    }
  }
}

//===----------------------------------------------------------------------===//
// The bench
//===----------------------------------------------------------------------===//

Bench::Bench(bool deterministic) : isDeterministic(deterministic) {
  rt::MachineSpec spec;
  spec.devices = {{arenaBytes}};
  spec.lanes = {{0, "main"}};
  rt::MachineOptions options;
  options.threads = 2;
  options.deterministic = deterministic;
  theMachine = rt::Machine::create(spec, options);
  used = arenaBytes;
  clear();
}

void Bench::clear() {
  theMachine->synchronize(); // what still runs has its tensors to the end
  if (placement)
    placement->nothing(theMachine->arena(0), used);
  used = 0;
}

Tensor Bench::place(const Dims &dims, DType type, int64_t shift) {
  Tensor tensor(theMachine->arena(0) + used + shift, type, dims.data(),
                static_cast<int>(dims.size()),
                dims.size() == 4 ? rt::Layout::nhwc : rt::Layout::dense);
  const int64_t gap = placement ? 256 : 0;
  used += (shift + tensor.bytes() + gap + 255) / 256 * 256;
  if (used > arenaBytes)
    throw rt::Error("the check needs more memory than its arena has");
  if (placement)
    placement->tensor(tensor.data, tensor.bytes());
  return tensor;
}

Tensor Bench::output(const Dims &dims, DType type) {
  return place(dims, type, placement ? placement->shift(type) : 0);
}

template <typename T>
static void writeAs(rt::Machine &machine, Tensor tensor, const Host &values) {
  std::vector<T> host(values.v.begin(), values.v.end());
  machine.write(tensor, 0, host.data());
}

Tensor Bench::input(const Host &values, DType type) {
  Tensor tensor = output(values.dims, type);
  if (type == DType::f32)
    writeAs<float>(*theMachine, tensor, values);
  else if (type == DType::i32)
    writeAs<int32_t>(*theMachine, tensor, values);
  else
    writeAs<uint8_t>(*theMachine, tensor, values);
  return tensor;
}

Tensor Bench::scalars(const rt::StepScalars &values) {
  Tensor tensor = place({int64_t(sizeof(values))}, DType::u8, 0);
  theMachine->write(tensor, 0, &values);
  return tensor;
}

void Bench::run(const std::function<void(rt::Lane &)> &body) {
  rt::Sequence *sequence =
      theMachine->record("check", [&] { body(theMachine->lane(0)); });
  theMachine->run(sequence);
  theMachine->synchronize();
}

template <typename T>
static void readAs(rt::Machine &machine, Tensor tensor, Host &values) {
  std::vector<T> host(values.v.size());
  machine.read(tensor, 0, host.data());
  values.v.assign(host.begin(), host.end());
}

Host Bench::read(Tensor tensor) {
  Host host(Dims(tensor.dim.begin(), tensor.dim.begin() + tensor.rank));
  if (tensor.type == DType::f32)
    readAs<float>(*theMachine, tensor, host);
  else if (tensor.type == DType::i32)
    readAs<int32_t>(*theMachine, tensor, host);
  else
    readAs<uint8_t>(*theMachine, tensor, host);
  return host;
}

void Bench::expect(const std::string &what, Tensor result, const Host &expected,
                   double tolerance, double magnitude) {
  ++checks;
  Host got = read(result);
  double largest = magnitude, worst = 0;
  size_t at = 0;
  for (size_t i = 0; i < expected.v.size(); ++i) {
    double a = got.v[i], b = expected.v[i];
    if (std::isfinite(b))
      largest = std::max(largest, std::fabs(b));
    bool bothNan = std::isnan(a) && std::isnan(b);
    double distance = bothNan || a == b ? 0 : std::fabs(a - b);
    if (!(distance <= worst)) {
      worst = std::isnan(distance) ? INFINITY : distance;
      at = i;
    }
  }
  if (got.v.size() == expected.v.size() &&
      worst <= std::max(tolerance * largest, 1e-7))
    return;
  ++failures;
  std::printf("FAILED %s: element %zu is %.9g, expected %.9g (largest %.3g)\n",
              what.c_str(), at, got.v[at], expected.v[at], largest);
}

void Bench::expectSame(const std::string &what, Tensor one, Tensor other) {
  if (!isDeterministic)
    return;
  ++checks;
  if (read(one).v == read(other).v)
    return;
  ++failures;
  std::printf("FAILED %s: other bits in a second call\n", what.c_str());
}

//===----------------------------------------------------------------------===//
// main
//===----------------------------------------------------------------------===//

namespace {
struct Family {
  const char *name;
  void (*check)(Bench &);
  void (*draw)(Bench &); ///< or none
};
} // namespace

int main(int argc, char **argv) {
  // What runs in a program is what is checked; who wants to know more says so.
  setenv("LWCC_GRAPH", "1", /*overwrite=*/0);
  const Family all[] = {
      {"machine", checkMachine, nullptr},
      {"maps", checkMaps, drawMap},
      {"movement", checkMovement, drawMovement},
      {"products", checkProducts, drawProduct},
      {"attention", checkAttention, drawAttention},
      {"convolutions", checkConvolutions, drawConvolution},
      {"pooling", checkPooling, drawPooling},
      {"normalization", checkNormalization, drawNormalization},
      {"losses", checkLosses, drawLoss},
      {"optimizer", checkOptimizer, drawOptimizer}};
  int rounds = 0;
  uint64_t seed = 1;
  const char *only = nullptr;
  for (int i = 1; i < argc; ++i) {
    if (std::strcmp(argv[i], "--list") == 0) {
      for (const Family &family : all)
        std::puts(family.name);
      return 0;
    }
    if (std::strncmp(argv[i], "--rounds=", 9) == 0)
      rounds = std::atoi(argv[i] + 9);
    else if (std::strncmp(argv[i], "--seed=", 7) == 0)
      seed = std::strtoull(argv[i] + 7, nullptr, 10);
    else
      only = argv[i];
  }
  std::vector<Part> parts;
  for (bool deterministic : {false, true})
    for (const Family &family : all) {
      if (only && std::strcmp(only, family.name) != 0)
        continue;
      auto run = [=, isFirst = parts.empty()] {
        Bench bench(deterministic);
        if (isFirst)
          std::printf("%s\n", bench.machine().describe().c_str());
        family.check(bench);
        randomState = seed;
        for (int round = 0; family.draw && round < rounds; ++round)
          family.draw(bench);
        return Counts{bench.checks, bench.failures};
      };
      parts.push_back(
          {family.name + std::string(deterministic ? " (deterministic)" : ""),
           run});
    }
  if (parts.empty()) {
    std::fprintf(stderr, "ops-check: no part is called %s; there are:", only);
    for (const Family &family : all)
      std::fprintf(stderr, " %s", family.name);
    std::fprintf(stderr, "\n");
    return 2;
  }
  return runParts(parts);
}
