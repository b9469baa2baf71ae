//===- Call.cpp - Runtime calls as costs look at them ---------------------===//

#include "passes/plan/model/Call.h"
#include "ir/exec/Kernels.h"
#include "ir/train/Train.h"

#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace lwcc;
using namespace lwcc::plan;
using shard::Box;

static double volume(const std::optional<Box> &box) {
  return box ? shard::volume(*box) : 0;
}

static double extent(const std::optional<Box> &box, size_t d) {
  return box ? static_cast<double>((*box)[d].size()) : 0;
}

Work plan::workOf(const Call &call, double bytes) {
  Work work;
  work.bytes = bytes;
  auto product = [&](double m, double n, double k) {
    work.m = m;
    work.n = n;
    work.k = k;
    work.flops = 2 * m * n * k;
  };
  // `positions` counts the pixels of images [n, c, h, w] in all samples, `taps`
  // the products that weights [o, i, y, x] contribute to one pixel.
  auto positions = [](const std::optional<Box> &images) {
    return volume(images) / extent(images, 1);
  };
  auto taps = [](const std::optional<Box> &weights) {
    return volume(weights) / extent(weights, 0);
  };
  const auto &in = call.tile.operands;
  const auto &out = call.tile.results;
  if (call.kernel == "conv") {
    product(positions(out[0]), extent(out[0], 1), taps(in[1]));
  } else if (call.kernel == "conv_grad_input") {
    // The sums run over the output channels instead of the input's.
    product(positions(in[0]), taps(in[1]), extent(in[1], 0));
    work.flops *= extent(in[0], 1) / extent(in[1], 0);
  } else if (call.kernel == "conv_grad_weight") {
    product(extent(out[0], 0), taps(out[0]), positions(in[0]));
  } else if (call.kernel == "matmul") {
    size_t rank = out[0]->size(), inner = in[0]->size() - 1;
    auto transposed = dyn_cast_or_null<BoolAttr>(call.parameter("transpose_a"));
    double columns = extent(out[0], rank - 1);
    product(
        volume(out[0]) / columns, columns,
        extent(in[0], transposed && transposed.getValue() ? inner - 1 : inner));
  } else if (call.kernel == "matmul_sgd") {
    // The gradient of the operand, if it is made, takes as much as the
    // weight's.
    product(extent(in[0], 0), extent(in[0], 1), extent(in[4], 0));
    work.flops *= out.size() > 2 ? 2 : 1;
  }
  return work;
}

std::string plan::keyOf(const Call &call) {
  std::string text = call.kernel.str();
  llvm::raw_string_ostream os(text);
  if (!call.expression.empty())
    os << " " << call.expression;
  for (StringRef name :
       {"kernel", "stride", "dilation", "group", "transpose_a", "transpose_b",
        "axis", "axes", "mean", "permutation"}) {
    Attribute value = call.parameter(name);
    if (!value || exec::isDefaultParameter(name, value))
      continue;
    os << " " << name << "=";
    if (auto list = dyn_cast<DenseI64ArrayAttr>(value))
      llvm::interleave(list.asArrayRef(), os, "x");
    else if (auto flag = dyn_cast<BoolAttr>(value))
      os << flag.getValue();
    else if (auto number = dyn_cast<IntegerAttr>(value))
      os << number.getInt();
  }
  auto print = [&](const std::optional<Box> &box) {
    if (!box)
      return;
    os << " ";
    llvm::interleave(
        *box, os, [&](shard::Interval axis) { os << axis.size(); }, "x");
  };
  for (const std::optional<Box> &result : call.tile.results)
    print(result);
  os << " <";
  for (auto [i, operand] : llvm::enumerate(call.tile.operands)) {
    print(operand);
    if (i < call.elsewhere.size() && call.elsewhere[i])
      os << "@";
  }
  return text;
}

//===----------------------------------------------------------------------===//
// Ops and their tiles
//===----------------------------------------------------------------------===//

static double bytesOf(Type type, const std::optional<Box> &box) {
  return volume(box) *
         cast<RankedTensorType>(type).getElementType().getIntOrFloatBitWidth() /
         8;
}

template <typename Function>
static auto withCall(Operation *op, const shard::Tile &tile,
                     Function function) {
  auto map = dyn_cast<train::MapOp>(op);
  auto parameter = [op](StringRef name) {
    return op->getInherentAttr(name).value_or(nullptr);
  };
  return function(Call{op->getName().stripDialect(),
                       map ? map.getExpr() : StringRef(), parameter, tile});
}

Work plan::workOf(Operation *op, const shard::Tile &tile) {
  double bytes = 0;
  for (auto [type, box] : llvm::zip_equal(op->getOperandTypes(), tile.operands))
    bytes += bytesOf(type, box);
  for (auto [type, box] : llvm::zip_equal(op->getResultTypes(), tile.results))
    bytes += bytesOf(type, box);
  return withCall(op, tile,
                  [&](const Call &call) { return workOf(call, bytes); });
}

std::string plan::keyOf(Operation *op, const shard::Tile &tile) {
  return withCall(op, tile, [](const Call &call) { return keyOf(call); });
}

//===----------------------------------------------------------------------===//
// Calls of programs
//===----------------------------------------------------------------------===//

PricedCall plan::describe(exec::CallOp op, SymbolTable &symbols) {
  PricedCall priced;
  shard::Tile tile;
  SmallVector<bool> elsewhere;
  double bytes = 0;
  auto deviceOf = [&](StringRef name) {
    return symbols.lookup<exec::DeviceOp>(name);
  };
  auto placeOf = [](exec::DeviceOp device) {
    return Place{static_cast<int64_t>(device.getNode()),
                 static_cast<int64_t>(device.getGpu())};
  };
  exec::DeviceOp here =
      deviceOf(symbols.lookup<exec::LaneOp>(op.getLane()).getDevice());
  priced.device = placeOf(here);
  auto bufferOf = [&](Attribute attribute) -> exec::BufferOp {
    auto name = dyn_cast<FlatSymbolRefAttr>(attribute);
    return name ? symbols.lookup<exec::BufferOp>(name.getAttr()) : nullptr;
  };
  for (Attribute attribute : op.getIns()) {
    exec::BufferOp buffer = bufferOf(attribute);
    if (!buffer)
      continue;
    tile.operands.push_back(
        shard::wholeOf(buffer.getTensorType().getShape().vec()));
    bytes += static_cast<double>(buffer.getBytes());
    exec::DeviceOp device = deviceOf(buffer.getDevice());
    elsewhere.push_back(device != here);
    if (device != here)
      priced.remote.push_back(
          {placeOf(device), static_cast<double>(buffer.getBytes())});
  }
  for (Attribute attribute : op.getOuts())
    if (exec::BufferOp buffer = bufferOf(attribute)) {
      tile.results.push_back(
          shard::wholeOf(buffer.getTensorType().getShape().vec()));
      bytes += static_cast<double>(buffer.getBytes());
    }
  StringRef expression;
  if (auto kernel = op.getKernelAttr())
    expression = symbols.lookup<exec::KernelOp>(kernel.getAttr()).getExpr();
  auto parameter = [&](StringRef name) {
    return op.getParamsAttr() ? op.getParamsAttr().get(name) : Attribute();
  };
  Call call{op.getCallee(), expression, parameter, tile, elsewhere};
  priced.work = workOf(call, bytes);
  priced.work.key = keyOf(call);
  return priced;
}
