//===- SymbolicCall.h - A runtime call as groups of cells -------*- C++ -*-===//
//
// Says which cells one runtime call reads and writes in which groups
// (SymbolicProgram.h). A call whose extents or parameters do not fit its
// function becomes an opaque call: every result depends on all operands.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_TEST_UNIT_PASSES_SYMBOLICCALL_H
#define LWCC_TEST_UNIT_PASSES_SYMBOLICCALL_H

#include "SymbolicProgram.h"

#include "llvm/ADT/STLExtras.h"

#include <optional>

namespace lwcc::test {

/// Makes the groups of one call.
class Describer {
public:
  Describer(exec::CallOp call, exec::KernelOp kernel,
            llvm::ArrayRef<const View *> ins, llvm::ArrayRef<const View *> outs)
      : call(call), kernel(kernel), ins(ins), outs(outs),
        params(call.getParamsAttr()) {}

  Call describe() {
    for (const View *view : llvm::concat<const View *const>(ins, outs))
      if (view && !view->inside)
        result.mistake = "a call touches bytes outside its memory";
    if (!result.mistake.empty())
      return std::move(result);
    bool torn = overwritesItself();
    if (torn || !describeKnown()) {
      result = {};
      anything(torn);
    }
    return std::move(result);
  }

private:
  bool describeKnown();
  bool movement(llvm::StringRef callee);
  bool transfer();
  bool fill();
  bool concat();
  bool split();
  bool map();
  bool sum();
  bool update(size_t states);
  void anything(bool torn);
  bool overwritesItself();
  bool mayOverwrite(size_t out, size_t in);

  /// Makes each element of `y` a copy of the element of `x` at `from` its
  /// coordinates, or the constant `otherwise` where `from` returns none. False
  /// if an element of `x` does not exist.
  template <typename F>
  bool gather(const View &y, const View &x, double otherwise, F from);
  void copy(Cell to, Cell from) {
    result.ins.push_back(from);
    result.outs.push_back({to, 0});
    result.endGroup(0, /*copies=*/true);
  }
  void write(const View &to, Cell cell, double value);

  std::vector<int64_t> listOf(llvm::StringRef name) const {
    auto list = params ? params.getAs<mlir::DenseI64ArrayAttr>(name) : nullptr;
    return list ? list.asArrayRef().vec() : std::vector<int64_t>();
  }
  double numberOf(llvm::StringRef name) const {
    auto number = params ? params.getAs<mlir::FloatAttr>(name) : nullptr;
    return number ? number.getValueAsDouble() : 0;
  }
  int64_t axis(const View &of) const {
    auto number = params ? params.getAs<mlir::IntegerAttr>("axis") : nullptr;
    int64_t value = number ? number.getInt() : 0;
    return value >= 0 && value < of.type.getRank() ? value : -1;
  }

  exec::CallOp call;
  exec::KernelOp kernel;
  llvm::ArrayRef<const View *> ins, outs;
  mlir::DictionaryAttr params;
  Call result;
};

/// The row-major index of coordinates; nothing if they are outside.
std::optional<int64_t> indexOf(llvm::ArrayRef<int64_t> dims,
                               llvm::ArrayRef<int64_t> coordinates);

} // namespace lwcc::test

#endif // LWCC_TEST_UNIT_PASSES_SYMBOLICCALL_H
