//===- Movement.cpp - Data movement and the machine's own transfers -------===//

#include "OpsCheck.h"
#include "runtime/core/HostCopy.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>

using namespace lwcc;
using namespace lwcc::check;
using rt::DType;
using rt::Layout;
using rt::Tensor;

static void checkTranspose(Bench &bench, const Dims &dims,
                           const std::vector<int64_t> &perm) {
  bench.clear();
  Host x = random(dims);
  Dims to;
  for (int64_t p : perm)
    to.push_back(dims[p]);
  Host y(to);
  forEach(to, [&](const Dims &o) {
    Dims i(dims.size());
    for (size_t d = 0; d < perm.size(); ++d)
      i[perm[d]] = o[d];
    y.at(o) = x.at(i);
  });
  Tensor tx = bench.input(x), ty = bench.output(to);
  bench.run([&](rt::Lane &lane) { transpose(lane, ty, tx, {.perm = perm}); });
  bench.expect("transpose", ty, y);
}

/// Low rows are taken more often; some numbers are of no row. `tables`: one for
/// each sample.
static void checkEmbedding(Bench &bench, int64_t rows, int64_t columns,
                           const Dims &places, bool tables = false) {
  bench.clear();
  Dims dims = {rows, columns};
  if (tables)
    dims.insert(dims.begin(), places[0]);
  Host table = random(dims), at = randomInts(places, -1, 11);
  Dims taken = places;
  taken.push_back(columns);
  Host dy = random(taken), y(taken), dtable(table.dims);
  for (double &number : at.v)
    if (number > 2)
      number = draw(-rows - 1, rows);
  for (int64_t i = 0; i < at.elements(); ++i) {
    const auto number = static_cast<int64_t>(at.v[i]);
    const int64_t row = number < 0 ? number + rows : number;
    const bool isRow = row >= 0 && row < rows;
    const int64_t first = tables ? i / places[1] * rows : 0;
    for (int64_t c = 0; c < columns; ++c) {
      y.v[i * columns + c] = isRow ? table.v[(first + row) * columns + c] : NAN;
      if (isRow)
        dtable.v[(first + row) * columns + c] += dy.v[i * columns + c];
    }
  }
  Tensor ttable = bench.input(table), tat = bench.input(at),
         tdy = bench.input(dy), ty = bench.output(taken),
         tdtable = bench.output(table.dims);
  bench.run([&](rt::Lane &lane) {
    embedding(lane, ty, ttable, tat);
    embedding_grad(lane, tdtable, tdy, tat);
  });
  bench.expect("embedding", ty, y);
  bench.expect("embedding_grad", tdtable, dtable);
}

static void checkReshape(Bench &bench, const Dims &from, const Dims &to,
                         DType type) {
  bench.clear();
  Host x = randomInts(from, 0, 200), y = x;
  y.dims = to;
  Tensor tx = bench.input(x, type), ty = bench.output(to, type);
  bench.run([&](rt::Lane &lane) { reshape(lane, ty, tx); });
  bench.expect("reshape", ty, y);
}

/// With `parts`, the pieces to join lie inside larger tensors.
static void checkConcat(Bench &bench, const Dims &dims, int64_t axis,
                        const std::vector<int64_t> &sizes, bool parts) {
  bench.clear();
  Dims whole = dims;
  whole[axis] = 0;
  for (int64_t size : sizes)
    whole[axis] += size;
  Host y = random(whole);
  std::vector<Host> pieces;
  rt::Tensors inputs, outputs;
  int64_t begin = 0;
  for (int64_t size : sizes) {
    Dims part = dims;
    part[axis] = size;
    Host piece(part);
    forEach(part, [&](const Dims &i) {
      Dims o = i;
      o[axis] += begin;
      piece.at(i) = y.at(o);
    });
    begin += size;
    Host around(part);
    const Dims first(part.size(), parts ? 1 : 0);
    for (size_t d = 0; d < part.size(); ++d)
      around.dims[d] += 2 * first[d];
    around = random(around.dims);
    forEach(part, [&](const Dims &i) {
      Dims o = i;
      for (size_t d = 0; d < o.size(); ++d)
        o[d] += first[d];
      around.at(o) = piece.at(i);
    });
    inputs.push_back(
        rt::windowOf(bench.input(around), first.data(), part.data()));
    // The second piece is one that nobody reads.
    outputs.push_back(outputs.size() == 1 ? Tensor{} : bench.output(part));
    pieces.push_back(piece);
  }
  Tensor ty = bench.output(whole);
  bench.run([&](rt::Lane &lane) {
    concat(lane, ty, inputs, {.axis = axis});
    split(lane, outputs, ty, {.axis = axis, .sizes = sizes});
  });
  bench.expect("concat", ty, y);
  for (size_t i = 0; i < pieces.size(); ++i)
    if (outputs[i])
      bench.expect("split", outputs[i], pieces[i]);
}

static void checkPad(Bench &bench, const Dims &from, const Dims &to,
                     const std::vector<int64_t> &low) {
  bench.clear();
  Host x = random(from), y(to, 1.5);
  forEach(from, [&](const Dims &i) {
    Dims o = i;
    for (size_t d = 0; d < o.size(); ++d) {
      o[d] += low[d];
      if (o[d] < 0 || o[d] >= to[d])
        return;
    }
    y.at(o) = x.at(i);
  });
  Tensor tx = bench.input(x), ty = bench.output(to);
  bench.run(
      [&](rt::Lane &lane) { pad(lane, ty, tx, {.low = low, .value = 1.5f}); });
  bench.expect("pad", ty, y);
}

static void checkSlice(Bench &bench, const Dims &from, const Dims &to,
                       const std::vector<int64_t> &start,
                       const std::vector<int64_t> &step) {
  bench.clear();
  Host x = random(from), y(to), dy = random(to), dx(from);
  forEach(to, [&](const Dims &o) {
    Dims i = o;
    for (size_t d = 0; d < o.size(); ++d)
      i[d] = start[d] + o[d] * step[d];
    y.at(o) = x.at(i);
    dx.at(i) = dy.at(o);
  });
  Tensor tx = bench.input(x), tdy = bench.input(dy), ty = bench.output(to),
         tdx = bench.output(from);
  bench.run([&](rt::Lane &lane) {
    slice(lane, ty, tx, {.start = start, .step = step});
    slice_grad(lane, tdx, tdy, {.start = start, .step = step});
  });
  bench.expect("slice", ty, y);
  bench.expect("slice_grad", tdx, dx);
}

void check::checkMovement(Bench &bench) {
  checkTranspose(bench, {3, 4}, {1, 0});
  checkTranspose(bench, {2, 8, 3, 4}, {0, 2, 3, 1});
  checkTranspose(bench, {2, 3, 4, 5}, {3, 1, 0, 2});
  checkTranspose(bench, {2, 3, 4, 5, 2}, {4, 0, 3, 1, 2});
  checkEmbedding(bench, 12, 5, {3, 7});
  checkEmbedding(bench, 40, 130, {4, 90});
  checkEmbedding(bench, 700, 64, {2, 33});
  checkEmbedding(bench, 12, 1, {1, 300});
  checkEmbedding(bench, 12, 5, {3, 7}, /*tables=*/true);
  checkEmbedding(bench, 40, 130, {4, 90}, /*tables=*/true);
  for (DType type : {DType::f32, DType::i32, DType::u8}) {
    checkReshape(bench, {2, 8, 3, 4}, {2, 96}, type);
    checkReshape(bench, {2, 96}, {2, 8, 3, 4}, type);
    checkReshape(bench, {4, 3, 2, 2}, {3, 4, 2, 2}, type);
    checkReshape(bench, {6, 4}, {3, 8}, type);
    checkReshape(bench, {2, 12, 5, 5}, {2, 3, 4, 25}, type);
  }
  for (bool parts : {false, true}) {
    checkConcat(bench, {2, 0, 5, 5}, 1, {8, 4, 16}, parts);
    checkConcat(bench, {2, 0, 5, 5}, 1, {3, 1, 5}, parts);
    checkConcat(bench, {2, 4, 0, 3}, 2, {1, 2, 4}, parts);
    checkConcat(bench, {0, 7}, 0, {2, 3, 1}, parts);
  }
  checkPad(bench, {2, 3, 5, 4}, {2, 3, 8, 9}, {0, 0, 1, 2});
  checkPad(bench, {2, 3, 5, 4}, {2, 4, 3, 7}, {0, 1, -1, 2});
  checkPad(bench, {5}, {3}, {-9});
  checkSlice(bench, {4, 6, 5, 7}, {2, 3, 5, 2}, {1, 0, 0, 6}, {2, 2, 1, -3});
  checkSlice(bench, {9, 8}, {9, 4}, {0, 4}, {1, 1});
  checkSlice(bench, {9}, {9}, {8}, {-1});
  // Rows of whole vectors that do not begin at one.
  checkSlice(bench, {9, 10}, {9, 8}, {0, 0}, {1, 1});
  for (const Dims &dims : {Dims{2, 3, 4, 5}, Dims{1000}, Dims{}}) {
    bench.clear();
    Tensor y = bench.output(dims);
    Tensor whole = bench.output(dims, DType::i32),
           bytes = bench.output(dims, DType::u8);
    bench.run([&](rt::Lane &lane) {
      fill(lane, y, {.value = 7.0f});
      fill(lane, whole, {.value = 7.0f});
      fill(lane, bytes, {.value = 7.0f});
    });
    bench.expect("fill of whole numbers", whole, Host(dims, 7));
    bench.expect("fill of bytes", bytes, Host(dims, 7));
    bench.expect("fill", y, Host(dims, 7));
  }
}

/// How a shape of other extents, and perhaps rank, has the same elements.
static Dims drawReshaped(const Dims &dims) {
  int64_t rest = 1;
  for (int64_t extent : dims)
    rest *= extent;
  Dims to(static_cast<size_t>(draw(rest == 1 ? 0 : 1, 5)), 1);
  for (int64_t prime = 2; rest > 1; ++prime)
    for (; rest % prime == 0; rest /= prime)
      to[static_cast<size_t>(draw(0, int64_t(to.size()) - 1))] *= prime;
  return to;
}

void check::drawMovement(Bench &bench) {
  Dims dims = drawDims(1, 5);
  std::vector<int64_t> perm;
  for (size_t d = 0; d < dims.size(); ++d)
    perm.insert(perm.begin() + draw(0, int64_t(d)), int64_t(d));
  checkTranspose(bench, dims, perm);

  dims = drawDims(0, 5);
  const DType types[] = {DType::f32, DType::i32, DType::u8};
  const Dims reshaped = drawReshaped(dims);
  checkReshape(bench, dims, reshaped, types[draw(0, 2)]);

  dims = drawDims(1, 5);
  std::vector<int64_t> sizes;
  for (int64_t count = draw(1, 5); count > 0; --count)
    sizes.push_back(draw(1, 6));
  const bool parts = draw(0, 1);
  checkConcat(bench, dims, draw(0, int64_t(dims.size()) - 1), sizes, parts);

  dims = drawDims(1, 5);
  Dims to = dims;
  std::vector<int64_t> low, start, step;
  for (int64_t &extent : to) {
    low.push_back(draw(-4, 4));
    extent = std::max<int64_t>(1, extent + draw(-4, 4));
  }
  checkPad(bench, dims, to, low);

  for (size_t d = 0; d < dims.size(); ++d) {
    const int64_t stride = draw(1, 3), most = (dims[d] - 1) / stride + 1;
    to[d] = draw(1, most);
    const int64_t first = draw(0, dims[d] - 1 - (to[d] - 1) * stride);
    const bool backward = draw(0, 1);
    start.push_back(backward ? first + (to[d] - 1) * stride : first);
    step.push_back(backward ? -stride : stride);
  }
  checkSlice(bench, dims, to, start, step);
}

/// Between values in logical order and memory in which they lie as a tensor
/// stores them.
static void copyStored(const rt::Tensor &like, void *stored, float *logical,
                       bool toStored) {
  Tensor there = like,
         here(logical, DType::f32, like.dim.data(), like.rank, Layout::dense);
  there.data = stored;
  toStored ? rt::copyOnHost(there, here) : rt::copyOnHost(here, there);
}

/// Transfers that do not wait, between runs; large ones go ahead of theirs.
void check::checkMachine(Bench &bench) {
  for (const Dims &dims :
       {Dims{4, 3, 6, 5}, Dims{4, 90}, Dims{8, 3, 40, 40}, Dims{300, 200}}) {
    bench.clear();
    rt::Machine &machine = bench.machine();
    Tensor x = bench.output(dims), y = bench.output(dims);
    const auto bytes = static_cast<size_t>(x.bytes());
    rt::Sequence *sequence = machine.record("copy", [&] {
      machine.lane(0).layer("copy", "forward");
      concat(machine.lane(0), y, {x}, {.axis = 0});
    });
    constexpr int runs = 5;
    machine.expectWrites(x, 0);
    Host expected[runs];
    void *sent[runs], *received[runs];
    int64_t tickets[runs];
    for (int i = 0; i < runs; ++i) {
      expected[i] = random(dims);
      std::vector<float> floats(expected[i].v.begin(), expected[i].v.end());
      sent[i] = machine.hostAlloc(x.bytes());
      received[i] = machine.hostAlloc(x.bytes());
      copyStored(x, sent[i], floats.data(), true);
      machine.writeAsync(x, 0, sent[i]);
      machine.run(sequence);
      tickets[i] = machine.readAsync(y, 0, received[i]);
    }
    for (int i = 0; i < runs; ++i) {
      machine.wait(tickets[i]);
      std::vector<float> floats(static_cast<size_t>(x.elements()));
      copyStored(y, received[i], floats.data(), false);
      machine.write(x, 0, floats.data());
      bench.expect("writeAsync, run, readAsync", x, expected[i]);
    }
    Tensor seen;
    machine.runObserved(sequence,
                        [&](const char *layer, const char *, const char *op,
                            const Tensor *results, int count) {
                          if (!std::strcmp(layer, "copy") &&
                              !std::strcmp(op, "concat") && count == 1)
                            seen = results[0];
                        });
    bench.expect("runObserved", seen ? seen : x, expected[runs - 1]);
    if (!seen) {
      ++bench.failures;
      std::printf("FAILED runObserved: the operator was not reported\n");
    }
    // x holds the last values still; y is computed anew.
    for (int i = 0; i < runs; ++i) {
      std::memset(received[0], 0, bytes);
      machine.write(y, 0, received[0]);
      const std::vector<rt::TracedCall> &calls = machine.runTraced(sequence);
      bench.expect("runTraced", y, expected[runs - 1]);
      if (calls.size() != 1 || std::strcmp(calls[0].op, "concat") ||
          calls[0].begin >= calls[0].end) {
        ++bench.failures;
        std::printf("FAILED runTraced: not one operator and its time\n");
      }
      machine.run(sequence);
    }
  }
}
