//===- Init.cpp - First values of the model's state -----------------------===//

#include "runtime/train/state/Init.h"

#include "runtime/core/Philox.h"
#include "runtime/train/state/GlobalTensors.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <cstring>
#include <map>
#include <system_error>
#include <thread>

namespace lwcc::rt::train {

static void normalPair(uint32_t a, uint32_t b, double out[2]) {
  constexpr double scale = 1.0 / 4294967296.0; // 2^-32
  constexpr double twoPi = 6.28318530717958647692;
  double radius = std::sqrt(-2.0 * std::log((double(a) + 1.0) * scale));
  double angle = twoPi * (double(b) * scale);
  out[0] = radius * std::cos(angle);
  out[1] = radius * std::sin(angle);
}

void drawRandom(const Init &init, const std::string &name, uint64_t seed,
                int64_t first, int64_t count, float *out) {
  assert(first % 4 == 0 && "blocks hold four elements");
  uint32_t stream = streamOf(name);
  for (int64_t at = 0; at < count; at += 4) {
    Philox4 bits = philox(seed, uint64_t(first + at) / 4, stream, 0);
    float values[4];
    if (init.kind == Init::uniform) {
      for (int i = 0; i < 4; ++i)
        values[i] = init.a + uniformOf(bits.v[i]) * (init.b - init.a);
    } else {
      double normals[4];
      normalPair(bits.v[0], bits.v[1], normals);
      normalPair(bits.v[2], bits.v[3], normals + 2);
      for (int i = 0; i < 4; ++i)
        values[i] = static_cast<float>(double(init.a) + init.b * normals[i]);
    }
    std::copy_n(values, std::min<int64_t>(4, count - at), out + at);
  }
}

/// The same numbers for any number of threads.
static void drawParallel(const Init &init, const std::string &name,
                         uint64_t seed, int64_t count, float *out) {
  // Below this many elements a thread costs more than it saves.
  constexpr int64_t grain = 1 << 16;
  int64_t threads = std::clamp<int64_t>(std::thread::hardware_concurrency(), 1,
                                        (count + grain - 1) / grain + 1);
  int64_t chunk = (count / threads + 4) / 4 * 4;
  auto draw = [&](int64_t first) {
    drawRandom(init, name, seed, first, std::min(chunk, count - first),
               out + first);
  };
  std::vector<std::jthread> team; // are waited for where it ends
  for (int64_t first = chunk; first < count; first += chunk)
    try {
      team.emplace_back(draw, first);
    } catch (const std::system_error &) {
      draw(first); // without another thread it only takes longer
    }
  draw(0);
}

static void fillConstant(const Init &init, DType type, int64_t count,
                         void *out) {
  switch (type) {
  case DType::f32:
    std::fill_n(static_cast<float *>(out), count, init.a);
    return;
  case DType::i32:
    std::fill_n(static_cast<int32_t *>(out), count, int32_t(init.a));
    return;
  case DType::u8:
    std::fill_n(static_cast<uint8_t *>(out), count, uint8_t(init.a));
    return;
  }
}

void initializeState(Machine &machine, const Program &program, uint64_t seed,
                     bool fresh,
                     const std::function<bool(const StateTensor &)> &wanted) {
  std::vector<char> host; // aligned to every element type, as new memory is
  for (const StateTensor &state : program.state) {
    if (!wanted(state))
      continue;
    const GlobalTensor &tensor = state.tensor;
    bool trained = isWeight(state.role) || state.role == Role::statistic;
    const Init &init = fresh && trained ? state.fresh : state.init;
    int64_t count = elementsOf(tensor);
    host.resize(std::max<size_t>(host.size(), bytesOf(tensor)));
    switch (init.kind) {
    case Init::blob:
      assert(init.offset + bytesOf(tensor) <= program.blobBytes);
      // Copied, since the blob aligns nothing.
      std::memcpy(host.data(), program.blob + init.offset, bytesOf(tensor));
      break;
    case Init::constant:
      fillConstant(init, typeOf(tensor), count, host.data());
      break;
    case Init::normal:
    case Init::uniform:
      assert(typeOf(tensor) == DType::f32 && "random numbers are floats");
      drawParallel(init, tensor.name, seed, count,
                   reinterpret_cast<float *>(host.data()));
      break;
    }
    writeGlobal(machine, tensor, host.data());
  }
}

void startAverages(Machine &machine, const Program &program) {
  std::map<std::string, const GlobalTensor *> averages;
  for (const StateTensor &state : program.state)
    if (state.role == Role::average)
      averages[state.tensor.name] = &state.tensor;
  std::vector<char> host;
  for (const StateTensor &state : program.state) {
    auto average =
        averages.find(std::string(state.tensor.name) + averageSuffix);
    if (average == averages.end())
      continue;
    host.resize(std::max<size_t>(host.size(), bytesOf(state.tensor)));
    readGlobal(machine, state.tensor, host.data());
    writeGlobal(machine, *average->second, host.data());
  }
}

} // namespace lwcc::rt::train
