//===- MatMul.cpp - Matrix products -----------------------------*- C++ -*-===//
//
// Two calls of oneDNN share the work, each where it measured faster on the
// layers of AlexNet at 8 to 64 rows. A fully connected layer forward (b is
// transposed, a is not) is its matmul primitive, 1.4 to 1.8 times as fast, with
// the bias inside. Everything else is one or more sgemm, up to three times as
// fast for the gradients. sgemm needs one of a matrix's two strides to be 1;
// operands that have none (rank-4 tensors, which are channels-last) are packed
// into the lane's workspace first. Operands whose rows lie badly in caches are
// packed, too, some terms of the product at a time. What is left of bias and
// ReLU follows in one pass (Finish.h).
//
//===----------------------------------------------------------------------===//
#include "runtime/core/Error.h"
#include "runtime/cpu/Copy.h"
#include "runtime/cpu/Finish.h"
#include "runtime/cpu/Lane.h"
#include "runtime/cpu/Onednn.h"
#include "runtime/cpu/Parallel.h"

#include <atomic>
#include <cstring>
#include <dnnl.h>

namespace lwcc::rt {

namespace {
/// A batch of matrices op(t), which lie in `t` or, packed, in the workspace.
struct Matrices {
  Tensor t;
  bool transposed = false; ///< as the operator says
  bool packed = false;
  Tensor dense;         ///< packed: the row-major copy, data null
  int64_t offset = 0;   ///< packed: bytes into the workspace
  LoopNest<1> batches;  ///< start of each matrix
  int64_t leading = 1;  ///< stride that is not 1
  bool columns = false; ///< the first of the two dimensions has stride 1

  Matrices(Tensor tensor, bool transposed, int64_t &workspace)
      : t(tensor), transposed(transposed) {
    if (!setStrides(t))
      pack(Tensor(nullptr, t.type, t.dim.data(), t.rank, Layout::dense),
           workspace);
  }

  /// Packs the operand as `to`, which is row-major but for the distance of what
  /// its first dimension counts.
  void pack(const Tensor &to, int64_t &workspace) {
    assert(!packed);
    packed = true;
    dense = to;
    [[maybe_unused]] bool usable = setStrides(dense);
    assert(usable && "a row-major matrix has a stride of 1");
    offset = workspace;
    workspace +=
        (dense.dim[0] * dense.stride[0] * sizeOf(dense.type) + 255) / 256 * 256;
  }

  /// Packs a matrix, some rows at a time, with its rows a cache line farther
  /// apart.
  void spreadRows(int64_t rows, int64_t &workspace) {
    constexpr int64_t line = 16; // floats
    Tensor to(nullptr, t.type, {std::min(rows, t.dim[0]), t.dim[1]},
              Layout::dense);
    to.stride[0] += line;
    pack(to, workspace);
  }

  bool setStrides(const Tensor &at) {
    int r = at.rank - 2, c = at.rank - 1;
    batches = logicalNest(at);
    batches.rank -= 2;
    // A dimension of extent 1 may have any stride.
    if (at.stride[c] == 1 || at.dim[c] == 1) {
      columns = false;
      leading = at.dim[r] == 1 ? at.dim[c] : at.stride[r];
      if (leading >= at.dim[c])
        return true;
    }
    if (at.stride[r] == 1 || at.dim[r] == 1) {
      columns = true;
      leading = at.dim[c] == 1 ? at.dim[r] : at.stride[c];
      return leading >= at.dim[r];
    }
    return false;
  }

  float *base(char *workspace) const {
    return packed ? reinterpret_cast<float *>(workspace + offset)
                  : t.as<float>();
  }
  Tensor packedAt(char *workspace) const {
    Tensor at = dense;
    at.data = workspace + offset;
    return at;
  }
  /// Rows [begin, end) of the matrix, packed.
  float *packRows(int threads, char *workspace, int64_t begin,
                  int64_t end) const {
    Tensor to = packedAt(workspace), from = t;
    to.dim[0] = from.dim[0] = end - begin;
    from.data = t.as<float>() + begin * t.stride[0];
    copyTensor(threads, to, from);
    return to.as<float>();
  }
  /// The distance of neighbours along the first dimension and the second.
  int64_t stride(int dimension) const {
    return columns == (dimension == 0) ? 1 : leading;
  }
  float *matrix(float *base, int64_t batch) const {
    int64_t at[1];
    offsetsAt(batches, batch, at);
    return base + at[0];
  }
};

/// c [m, n] = op(a) [m, k] * op(b) [k, n], `batch` times.
struct Product {
  Matrices c, a, b;
  int64_t batch = 1, m = 0, n = 0, k = 0;
  Tensor bias = {};
  bool relu = false;
  /// So many terms are added at a time, and what of an operand belongs to them
  /// is packed; 0: all.
  int64_t terms = 0;

  /// Of `k` terms, added to what is in c or not. False if oneDNN refuses.
  bool multiply(float *cAt, float *aAt, float *bAt, int64_t k,
                bool add = false) const {
    const float beta = add ? 1.0f : 0.0f;
    bool ta = a.transposed != a.columns, tb = b.transposed != b.columns;
    // sgemm writes row-major results; a column-major one is the transposed
    // product of the transposed matrices.
    dnnl_status_t status =
        c.columns
            ? dnnl_sgemm(tb ? 'N' : 'T', ta ? 'N' : 'T', n, m, k, 1.0f, bAt,
                         b.leading, aAt, a.leading, beta, cAt, c.leading)
            : dnnl_sgemm(ta ? 'T' : 'N', tb ? 'T' : 'N', m, n, k, 1.0f, aAt,
                         a.leading, bAt, b.leading, beta, cAt, c.leading);
    return status == dnnl_success;
  }
  bool multiplyByTerms(CpuLane &lane, char *workspace) const;
  void run(CpuLane &lane) const;
};
} // namespace

bool Product::multiplyByTerms(CpuLane &lane, char *workspace) const {
  bool done = true;
  for (int64_t begin = 0; begin < k; begin += terms) {
    const int64_t end = std::min(begin + terms, k);
    auto at = [&](const Matrices &operand, int dimension) {
      return operand.packed
                 ? operand.packRows(lane.threads, workspace, begin, end)
                 : operand.t.as<float>() + begin * operand.stride(dimension);
    };
    done &= multiply(c.t.as<float>(), at(a, a.transposed ? 0 : 1),
                     at(b, b.transposed ? 1 : 0), end - begin, begin > 0);
  }
  return done;
}

void Product::run(CpuLane &lane) const {
  char *workspace = lane.workspace();
  if (terms > 0) {
    if (!multiplyByTerms(lane, workspace))
      throw Error("oneDNN's matrix product failed");
    if (bias || relu)
      finish(lane.threads, c.t, bias, relu);
    return;
  }
  for (const Matrices *operand : {&a, &b})
    if (operand->packed)
      copyTensor(lane.threads, operand->packedAt(workspace), operand->t);
  float *cBase = c.base(workspace), *aBase = a.base(workspace),
        *bBase = b.base(workspace);
  std::atomic<bool> failed = false; // no exceptions out of parallel loops
  auto one = [&](int64_t i) {
    if (!multiply(c.matrix(cBase, i), a.matrix(aBase, i),
                  b.t.rank == 2 ? bBase : b.matrix(bBase, i), k))
      failed = true;
  };
  // Small products in one thread each, else all threads in each product.
  if (batch >= lane.threads && lane.threads > 1) {
    parallelFor(lane.threads, batch, 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i)
        one(i);
    });
  } else {
    for (int64_t i = 0; i < batch; ++i)
      one(i);
  }
  if (failed)
    throw Error("oneDNN's matrix product failed");
  if (c.packed)
    copyTensor(lane.threads, c.t, c.packedAt(workspace));
  if (bias || relu)
    finish(lane.threads, c.t, bias, relu);
}

/// Whether sgemm reads an operand in columns whose elements lie multiples of
/// 2 KiB apart, which share a few sets of a cache, and often enough: it was
/// half as fast for 1024 columns (oneDNN 3.2 with AVX-512, an arena of huge
/// pages). Packing them costs a tenth, and less where what is packed is read
/// from the nearer cache. `reuse` is how many rows or columns the other operand
/// has.
static bool sharesCacheSets(const Product &product, const Matrices &operand,
                            int64_t reuse) {
  constexpr int64_t apart = 512, rows = 256, mostReuse = 1024;
  return operand.t.rank == 2 && !operand.packed && !operand.columns &&
         !product.c.columns && operand.leading % apart == 0 &&
         product.k >= rows && reuse < mostReuse;
}

/// The view of a batch of row-major matrices as one tall matrix.
static Tensor foldBatches(const Tensor &t) {
  return Tensor(t.data, t.type,
                {t.elements() / t.dim[t.rank - 1], t.dim[t.rank - 1]},
                Layout::dense);
}

static bool isRowMajor(const Tensor &t) {
  return t.stride ==
         Tensor(t.data, t.type, t.dim.data(), t.rank, Layout::dense).stride;
}

/// c = a * transposed b + bias as oneDNN's primitive; false where oneDNN has no
/// implementation for it that is better than sgemm.
static bool appendPrimitive(CpuLane &lane, const Tensor &c, const Tensor &a,
                            const Tensor &b, const Tensor &bias, bool relu) {
  using dnnl::memory;
  ThreadScope scope(lane.threads);
  memory::desc result = plainDesc(c), left = plainDesc(a);
  memory::desc right = plainDesc(b).permute_axes({1, 0}), offsets;
  if (bias)
    offsets = plainDesc(bias).reshape({1, bias.dim[0]});
  dnnl::matmul::primitive_desc pd(cpuEngine(), left, right, offsets, result,
                                  userScratchpad(), /*allow_empty=*/true);
  if (!pd || !std::strstr(pd.impl_info_str(), "brg"))
    return false;
  auto call = std::make_shared<OnednnCall>(lane, pd, dnnl::matmul(pd));
  call->input(DNNL_ARG_SRC, a, left, pd.src_desc());
  call->input(DNNL_ARG_WEIGHTS, b, right, pd.weights_desc());
  if (bias)
    call->input(DNNL_ARG_BIAS, bias, offsets, pd.bias_desc());
  call->output(DNNL_ARG_DST, c, result, pd.dst_desc());
  call->finish();
  lane.append("matmul", {c}, [=, threads = lane.threads] {
    call->run();
    if (relu)
      finish(threads, c, {}, true);
  });
  return true;
}

void matmul(Lane &lane, Tensor c, Tensor a, Tensor b, Tensor bias,
            const MatMulParams &params) {
  assert(c.rank >= 2 && a.rank == c.rank && (b.rank == c.rank || b.rank == 2));
  if (b.rank == 2 && c.rank > 2 && !params.transpose_a && isRowMajor(a) &&
      isRowMajor(c)) {
    a = foldBatches(a);
    c = foldBatches(c);
  }
  CpuLane &on = cpuLane(lane);
  if (c.rank == 2 && params.transpose_b && !params.transpose_a &&
      isRowMajor(a) && isRowMajor(b) && isRowMajor(c) &&
      appendPrimitive(on, c, a, b, bias, params.relu))
    return;
  int64_t workspace = 0;
  Product product{Matrices(c, false, workspace),
                  Matrices(a, params.transpose_a, workspace),
                  Matrices(b, params.transpose_b, workspace)};
  product.m = c.dim[c.rank - 2];
  product.n = c.dim[c.rank - 1];
  product.k = a.dim[params.transpose_a ? a.rank - 2 : a.rank - 1];
  for (int d = 0; d < c.rank - 2; ++d)
    product.batch *= c.dim[d];
  product.bias = bias;
  product.relu = params.relu;
  constexpr int64_t terms = 256;
  const bool plain = c.rank == 2 && !product.a.packed && !product.b.packed &&
                     !product.c.packed;
  for (Matrices *operand : {&product.a, &product.b}) {
    const bool isFirst = operand == &product.a;
    if (!plain || operand->transposed != isFirst ||
        !sharesCacheSets(product, *operand, isFirst ? product.n : product.m))
      continue;
    operand->spreadRows(terms, workspace);
    product.terms = terms;
  }
  on.needWorkspace(workspace);
  on.append("matmul", {c}, [product, &on] { product.run(on); });
}

} // namespace lwcc::rt
