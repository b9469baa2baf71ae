//===- Call.cpp - Runtime calls as costs look at them ---------------------===//

#include "passes/plan/model/Call.h"
#include "ir/exec/Readers.h"
#include "ir/train/Train.h"

#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace lwcc;
using namespace lwcc::plan;

Work plan::workOf(const Call &call, double bytesRead, double bytesMade) {
  if (call.kernel && call.kernel->selects())
    bytesRead = std::min(bytesRead, bytesMade);
  train::Arithmetic arithmetic;
  if (call.kernel)
    arithmetic = call.kernel->arithmetic(
        {call.tile.results, call.tile.operands, call.parameter});
  Work work;
  work.bytes = bytesRead + bytesMade;
  work.flops = arithmetic.flops;
  work.m = arithmetic.m;
  work.n = arithmetic.n;
  work.k = arithmetic.k;
  return work;
}

std::string plan::keyOf(const Call &call) {
  std::string text = call.name.str();
  llvm::raw_string_ostream os(text);
  if (!call.expression.empty())
    os << " " << call.expression;
  for (StringRef name :
       call.kernel ? call.kernel->pricedFields() : ArrayRef<StringRef>()) {
    Attribute value = call.parameter(name);
    if (!value || value == call.kernel->defaultOf(value.getContext(), name))
      continue;
    os << " " << name << "=";
    if (auto list = dyn_cast<DenseI64ArrayAttr>(value))
      llvm::interleave(list.asArrayRef(), os, "x");
    else if (auto flag = dyn_cast<BoolAttr>(value))
      os << flag.getValue();
    else if (auto number = dyn_cast<IntegerAttr>(value))
      os << number.getInt();
  }
  auto print = [&](const std::optional<tiling::Box> &box) {
    if (!box)
      return;
    os << " ";
    llvm::interleave(
        *box, os, [&](tiling::Interval axis) { os << axis.size(); }, "x");
  };
  for (const std::optional<tiling::Box> &result : call.tile.results)
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

static double bytesOf(Type type, const std::optional<tiling::Box> &box) {
  return (box ? tiling::volume(*box) : 0) *
         static_cast<double>(train::elementBytes(type));
}

template <typename Function>
static auto withCall(Operation *op, const train::Tile &tile,
                     Function function) {
  auto map = dyn_cast<train::MapOp>(op);
  auto parameter = [op](StringRef name) {
    return op->getInherentAttr(name).value_or(nullptr);
  };
  return function(Call{op->getName().stripDialect(),
                       op->getName().getInterface<train::KernelOpInterface>(),
                       map ? map.getExpr() : StringRef(), parameter, tile});
}

Work plan::workOf(Operation *op, const train::Tile &tile) {
  double read = 0, made = 0;
  for (auto [type, box] : llvm::zip_equal(op->getOperandTypes(), tile.operands))
    read += bytesOf(type, box);
  for (auto [type, box] : llvm::zip_equal(op->getResultTypes(), tile.results))
    made += bytesOf(type, box);
  return withCall(op, tile,
                  [&](const Call &call) { return workOf(call, read, made); });
}

std::string plan::keyOf(Operation *op, const train::Tile &tile) {
  return withCall(op, tile, [](const Call &call) { return keyOf(call); });
}

Work plan::workOfRelu(Value result, const tiling::Box &box, bool withKey) {
  train::Tile tile;
  tile.operands = {box};
  tile.results = {box};
  Call call{"map", nullptr, shard::reluExpression, nullptr, tile};
  double bytes = bytesOf(result.getType(), box);
  Work work = workOf(call, bytes, bytes);
  if (withKey)
    work.key = keyOf(call);
  return work;
}

static Place placeOf(Value value) {
  auto place = dyn_cast_or_null<train::PlaceAttr>(
      cast<RankedTensorType>(value.getType()).getEncoding());
  return place ? place.getValue() : Place();
}

std::optional<PricedCall> plan::describe(Operation *op, bool withKey) {
  if (isa<train::ReadOp, train::WriteOp>(op) || !takesCall(op))
    return std::nullopt;
  PricedCall priced;
  priced.device = placeOf(op->getResult(0)).on(Lane());
  train::Tile tile;
  for (Value operand : op->getOperands()) {
    auto box = tiling::wholeOf(
        cast<RankedTensorType>(operand.getType()).getShape().vec());
    tile.operands.push_back(box);
    // What need not be copied is read where it lies.
    Value source = operand;
    while (auto transfer = source.getDefiningOp<train::TransferOp>()) {
      if (!isReadElsewhere(transfer))
        break;
      source = transfer.getX();
    }
    if (Place place = placeOf(source); place.device() != priced.device.device())
      priced.remote.push_back(
          {place.on(Lane()), bytesOf(operand.getType(), box)});
  }
  for (Value result : op->getResults())
    tile.results.push_back(tiling::wholeOf(
        cast<RankedTensorType>(result.getType()).getShape().vec()));
  priced.work = workOf(op, tile);
  if (withKey)
    priced.work.key = keyOf(op, tile);
  return priced;
}

//===----------------------------------------------------------------------===//
// Calls of programs
//===----------------------------------------------------------------------===//

PricedCall plan::describe(exec::CallOp op, SymbolTable &symbols) {
  PricedCall priced;
  train::Tile tile;
  SmallVector<bool> elsewhere;
  double read = 0, made = 0;
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
        tiling::wholeOf(buffer.getTensorType().getShape().vec()));
    read += static_cast<double>(buffer.getBytes());
    exec::DeviceOp device = deviceOf(buffer.getDevice());
    elsewhere.push_back(device != here);
    if (device != here)
      priced.remote.push_back(
          {placeOf(device), static_cast<double>(buffer.getBytes())});
  }
  for (Attribute attribute : op.getOuts())
    if (exec::BufferOp buffer = bufferOf(attribute)) {
      tile.results.push_back(
          tiling::wholeOf(buffer.getTensorType().getShape().vec()));
      made += static_cast<double>(buffer.getBytes());
    }
  StringRef expression;
  if (auto kernel = op.getKernelAttr())
    expression = symbols.lookup<exec::KernelOp>(kernel.getAttr()).getExpr();
  auto parameter = [&](StringRef name) {
    return op.getParamsAttr() ? op.getParamsAttr().get(name) : Attribute();
  };
  Call call{op.getCallee(), train::findKernel(op.getContext(), op.getCallee()),
            expression,     parameter,
            tile,           elsewhere};
  priced.work = workOf(call, read, made);
  priced.work.key = keyOf(call);
  return priced;
}
