//===- Generated.h - Everything an emitted program includes -----*- C++ -*-===//
//
// The one header of a generated trainer: operators, machines and the kernel
// launcher of the target that is being compiled for, plus the rows of the
// tables that describe the program to the trainer.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_RUNTIME_EMIT_GENERATED_H
#define LWCC_RUNTIME_EMIT_GENERATED_H

#include "runtime/core/Machine.h"
#include "runtime/core/Math.h"
#include "runtime/core/Ops.h"
#include "runtime/core/Philox.h"
#include "runtime/core/Program.h"

#ifdef __CUDACC__
#include "runtime/cuda/Map.cuh"
#else
#include "runtime/cpu/Map.h"
#endif

namespace lwcc::rt {

// A printed program uses the names of lwcc::rt only.
using lwcc::ExportPiece;
using lwcc::Role;

/// Rank-4 tensors are stored channels-last, all others row-major.
inline Layout layoutOf(int rank) {
  return rank == 4 ? Layout::nhwc : Layout::dense;
}

/// Base of the struct that names a device's tensors.
class DeviceMemory {
public:
  DeviceMemory(Machine &machine, int64_t device)
      : arena(machine.arena(static_cast<int>(device))) {}

protected:
  using Dims = std::initializer_list<int64_t>;
  Tensor f32(int64_t offset, Dims dims) const {
    return view(offset, DType::f32, dims);
  }
  Tensor i32(int64_t offset, Dims dims) const {
    return view(offset, DType::i32, dims);
  }
  Tensor u8(int64_t offset, Dims dims) const {
    return view(offset, DType::u8, dims);
  }

  /// Tensors of micro-batches: the n-th lies where digit n of `places` says.
  /// Digits are 0 to 9, then a to z.
  Tensors f32(const int64_t *offsets, const char *places, Dims dims) const {
    return views(offsets, DType::f32, places, dims);
  }
  Tensors i32(const int64_t *offsets, const char *places, Dims dims) const {
    return views(offsets, DType::i32, places, dims);
  }
  Tensors u8(const int64_t *offsets, const char *places, Dims dims) const {
    return views(offsets, DType::u8, places, dims);
  }

private:
  Tensor view(int64_t offset, DType type, Dims dims) const {
    return {arena + offset, type, dims,
            layoutOf(static_cast<int>(dims.size()))};
  }
  Tensors views(const int64_t *offsets, DType type, const char *places,
                Dims dims) const {
    Tensors tensors;
    for (; *places; ++places) {
      int place = *places <= '9' ? *places - '0' : *places - 'a' + 10;
      tensors.push_back(view(offsets[place], type, dims));
    }
    return tensors;
  }
  char *arena;
};

/// The structs of all devices, by their numbers.
template <typename Device>
std::vector<Device> everyDevice(Machine &machine, int64_t count) {
  std::vector<Device> devices;
  for (int64_t i = 0; i < count; ++i)
    devices.emplace_back(machine, i);
  return devices;
}

/// A number that comes `count` times in a row.
struct Run {
  int64_t number, count;
};

/// A table of numbers, given as runs; used like an array.
template <int64_t size>
class RunTable {
public:
  RunTable(std::initializer_list<Run> runs) {
    int64_t at = 0;
    for (Run run : runs)
      for (int64_t n = 0; n < run.count; ++n)
        numbers[at++] = run.number;
  }
  operator const int64_t *() const { return numbers; }

private:
  int64_t numbers[size] = {};
};

/// The numbers from begin to before end, of several such ranges.
inline std::vector<int64_t>
ranges(std::initializer_list<std::pair<int64_t, int64_t>> some) {
  std::vector<int64_t> numbers;
  for (auto [begin, end] : some)
    for (int64_t number = begin; number < end; ++number)
      numbers.push_back(number);
  return numbers;
}

/// The numbers of the devices but i.
inline std::vector<int64_t> others(int64_t count, int64_t i) {
  std::vector<int64_t> numbers;
  for (int64_t k = 0; k < count; ++k)
    if (k != i)
      numbers.push_back(k);
  return numbers;
}
/// The numbers of all devices.
inline std::vector<int64_t> everybody(int64_t count) {
  return others(count, -1);
}
/// The numbers below `count`.
inline std::vector<int64_t> upTo(int64_t count) { return others(count, -1); }

/// The tensors that `tensorOf` makes of these numbers.
template <typename TensorOf>
Tensors each(const std::vector<int64_t> &numbers, TensorOf tensorOf) {
  Tensors tensors;
  for (int64_t k : numbers)
    tensors.push_back(tensorOf(k));
  return tensors;
}

/// The part of a tensor that begins at an element, where it lies.
inline Tensor part(const Tensor &whole, std::initializer_list<int64_t> begin,
                   std::initializer_list<int64_t> dims) {
  return windowOf(whole, begin.begin(), dims.begin());
}

/// Elements [begin, end) of a tensor's first dimension.
inline Tensor rows(const Tensor &whole, int64_t begin, int64_t end) {
  std::array<int64_t, maxRank> first = {begin}, dims = whole.dim;
  dims[0] = end - begin;
  return windowOf(whole, first.data(), dims.data());
}

/// Extents, or a tile's first index, of up to maxRank dimensions.
struct RowDims {
  int rank = 0;
  int64_t d[maxRank] = {};
  constexpr RowDims() = default;
  constexpr RowDims(std::initializer_list<int64_t> dims) {
    for (int64_t extent : dims)
      d[rank++] = extent;
  }
  std::vector<int64_t> vector() const { return {d, d + rank}; }
};

struct StateRow {
  const char *name;
  Role role;
  DType type;
  RowDims dims;
  Init init;
  Init fresh;
};

/// A tile of state tensor number `state`, on each of so many devices from one
/// on.
struct ShardRow {
  int state;
  int device, devices;
  int64_t offset;
  RowDims begin;
  RowDims dims;
};

inline TensorRef refOf(int device, int64_t offset, DType type,
                       const RowDims &dims) {
  return {device, offset, type, dims.vector(), layoutOf(dims.rank)};
}

inline void addTile(GlobalTensor &tensor, TensorRef ref,
                    std::vector<int64_t> begin) {
  tensor.shards.push_back({std::move(ref), std::move(begin)});
}

/// Gives each of devices [begin, end), of which a node has so many, these
/// lanes. Their names get the device's in front.
inline void addLanes(MachineSpec &machine, int begin, int end, int ofNode,
                     const std::vector<LaneSpec> &lanes) {
  for (int device = begin; device < end; ++device)
    for (LaneSpec lane : lanes) {
      const int node = device / ofNode;
      lane.device = device;
      lane.name = (node ? "node" + std::to_string(node) + "." : "") + "gpu" +
                  std::to_string(device % ofNode) + "." + lane.name;
      machine.lanes.push_back(lane);
    }
}

template <size_t N, size_t M>
std::vector<StateTensor> stateTensors(const StateRow (&rows)[N],
                                      const ShardRow (&shards)[M]) {
  std::vector<StateTensor> state;
  for (const StateRow &row : rows)
    state.push_back(
        {{row.name, row.dims.vector(), {}}, row.role, row.init, row.fresh});
  for (const ShardRow &row : shards)
    for (int i = 0; i < row.devices; ++i)
      state[row.state].tensor.shards.push_back(
          {refOf(row.device + i, row.offset, rows[row.state].type, row.dims),
           row.begin.vector()});
  return state;
}

constexpr Init blobAt(int64_t offset) { return {Init::blob, offset}; }
constexpr Init constantOf(float value) { return {Init::constant, 0, value}; }
constexpr Init normalOf(float mean, float deviation) {
  return {Init::normal, 0, mean, deviation};
}
constexpr Init uniformIn(float low, float high) {
  return {Init::uniform, 0, low, high};
}

} // namespace lwcc::rt

#endif // LWCC_RUNTIME_EMIT_GENERATED_H
