//===- Movement.cpp - Operators that only move data -------------*- C++ -*-===//
//
// Transpose, concat, split, slice, pad, repeat and reshape. Each becomes copies
// and fills of boxes (core/StridedCopy.h), which are determined when it is
// recorded.
//
//===----------------------------------------------------------------------===//
#include "runtime/core/SampleGroups.h"
#include "runtime/cpu/Copy.h"
#include "runtime/cpu/Lane.h"
#include "runtime/cpu/Parallel.h"

namespace lwcc::rt {

namespace {
/// The copies and fills of one operator.
struct Moves {
  struct Copy {
    LoopNest<2> nest;
    Tensor to, from;
  };
  struct Fill {
    Tensor to;
    float value;
  };
  std::vector<Fill> fills; ///< before the copies
  std::vector<Copy> copies;

  void copy(const Tensor &to, const Tensor &from) {
    if (to.elements() > 0)
      copies.push_back({copyNest(to, from), to, from});
  }
  void fill(const Tensor &to, float value) {
    if (to.elements() > 0)
      fills.push_back({to, value});
  }
  /// Fills what of `to` lies outside the box.
  void fillAround(const Tensor &to, const int64_t *begin, const int64_t *end,
                  float value) {
    forEachFrameBox(to, begin, end,
                    [&](const Tensor &box) { fill(box, value); });
  }

  void run(int threads) const {
    for (const Fill &f : fills)
      fillTensor(threads, f.to, f.value);
    for (const Copy &c : copies)
      runCopy(threads, c.nest, sizeOf(c.to.type), c.to.data, c.from.data);
  }

  void appendTo(Lane &lane, const char *op, const Tensors &results,
                const Tensors &read = {}) && {
    CpuLane &on = cpuLane(lane);
    on.append(
        op, results,
        [moves = std::move(*this), threads = on.threads] {
          moves.run(threads);
        },
        read);
  }
};
} // namespace

void transfer(Lane &lane, const Tensors &ys, const Tensors &xs) {
  assert(ys.size() == xs.size() && "one source for each target");
  Moves moves; // every device's memory is this process's
  for (size_t i = 0; i < ys.size(); ++i)
    moves.copy(ys[i], xs[i]);
  std::move(moves).appendTo(lane, "transfer", ys, xs);
}

void reshape(Lane &lane, Tensor y, Tensor x) {
  LoopNest<2> nest;
  if (reshapeNest(y, x, nest)) {
    Moves moves;
    if (y.elements() > 0)
      moves.copies.push_back({nest, y, x});
    std::move(moves).appendTo(lane, "reshape", {y});
    return;
  }
  // No loops are common to both shapes: find every element on both sides.
  CpuLane &on = cpuLane(lane);
  on.append(
      "reshape", {y},
      [to = logicalNest(y), from = logicalNest(x), y, x, threads = on.threads] {
        auto move = [&](int64_t begin, int64_t end) {
          for (int64_t i = begin; i < end; ++i) {
            int64_t t[1], f[1];
            offsetsAt(to, i, t);
            offsetsAt(from, i, f);
            if (sizeOf(y.type) == 1)
              y.as<uint8_t>()[t[0]] = x.as<uint8_t>()[f[0]];
            else
              y.as<uint32_t>()[t[0]] = x.as<uint32_t>()[f[0]];
          }
        };
        parallelFor(threads, y.elements(), 1024, move);
      });
}

void transpose(Lane &lane, Tensor y, Tensor x, const TransposeParams &params) {
  Moves moves;
  moves.copy(y, permuted(x, params.perm.data()));
  std::move(moves).appendTo(lane, "transpose", {y});
}

void concat(Lane &lane, Tensor y, const Tensors &xs, const AxisParams &params) {
  Moves moves;
  int64_t at = 0;
  for (const Tensor &x : xs) {
    moves.copy(alongAxis(y, params.axis, at, x.dim[params.axis]), x);
    at += x.dim[params.axis];
  }
  assert(at == y.dim[params.axis] && "operands do not fill the result");
  std::move(moves).appendTo(lane, "concat", {y}, xs);
}

void split(Lane &lane, const Tensors &ys, Tensor x, const SplitParams &params) {
  assert(ys.size() == params.sizes.size());
  Moves moves;
  int64_t at = 0;
  for (size_t i = 0; i < ys.size(); ++i) {
    if (ys[i])
      moves.copy(ys[i], alongAxis(x, params.axis, at, params.sizes[i]));
    at += params.sizes[i];
  }
  std::move(moves).appendTo(lane, "split", ys);
}

void pad(Lane &lane, Tensor y, Tensor x, const PadParams &params) {
  Moves moves;
  Overlap o = overlapOf(y, x, params.low.data());
  moves.fillAround(y, o.begin, o.end, params.value);
  moves.copy(o.inY, o.inX);
  std::move(moves).appendTo(lane, "pad", {y});
}

void slice(Lane &lane, Tensor y, Tensor x, const SliceParams &params) {
  Moves moves;
  moves.copy(y, sliced(x, y, params.start.data(), params.step.data()));
  std::move(moves).appendTo(lane, "slice", {y});
}

void repeat(Lane &lane, Tensor y, Tensor x, const GroupParams &params) {
  Moves moves;
  for (const GroupRun &run : groupRuns(y.dim[0], params.group, params.skip))
    moves.copies.push_back({repeatNest(y, x, run),
                            alongAxis(y, 0, run.begin, run.count * run.samples),
                            alongAxis(x, 0, run.first, run.count)});
  std::move(moves).appendTo(lane, "repeat", {y});
}

void slice_grad(Lane &lane, Tensor dx, Tensor dy, const SliceParams &params) {
  Moves moves;
  bool dense = true;
  int64_t end[maxRank] = {};
  for (int d = 0; d < dx.rank; ++d) {
    dense &= params.step[d] == 1;
    end[d] = params.start[d] + dy.dim[d];
  }
  if (dense)
    moves.fillAround(dx, params.start.data(), end, 0.0f);
  else
    moves.fill(dx, 0.0f);
  moves.copy(sliced(dx, dy, params.start.data(), params.step.data()), dy);
  std::move(moves).appendTo(lane, "slice_grad", {dx});
}

void fill(Lane &lane, Tensor y, const FillParams &params) {
  Moves moves;
  moves.fill(y, params.value);
  std::move(moves).appendTo(lane, "fill", {y});
}

} // namespace lwcc::rt
