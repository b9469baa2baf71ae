//===- Declarations.h - What a program declares -----------------*- C++ -*-===//
//
// Makes everything of an exec.program that stands before its sequences:
// devices, lanes, buffers and kernels. The constructor declares what the module
// determines (persistent buffers); ToExec.cpp asks for the transient buffers
// and kernels that its calls need.
//
// Does not decide which values share a buffer (StorageMap), nor which calls
// there are (ToExec.cpp). How symbols are called: Names.h.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_PASSES_SCHEDULE_DECLARATIONS_H
#define LWCC_PASSES_SCHEDULE_DECLARATIONS_H

#include "ir/exec/Exec.h"
#include "ir/train/Train.h"
#include "passes/schedule/Names.h"

#include "llvm/ADT/MapVector.h"

#include <map>

namespace lwcc {

/// The place of an op (its only tile's) and of a value (its type's encoding);
/// the first lane of the first device if they say none.
Place placeOf(mlir::Operation *op);
Place placeOf(mlir::Value value);
/// The type without the place, which in `exec` is the device of the buffer.
mlir::RankedTensorType plainType(mlir::Type type);

/// Keeps the order of declarations: buffers before kernels, kernels before
/// sequences.
class Declarations {
public:
  /// Makes the program with one empty sequence per function, its devices and
  /// lanes, and the persistent buffers.
  Declarations(mlir::ModuleOp module, llvm::ArrayRef<mlir::func::FuncOp> funcs);

  mlir::FlatSymbolRefAttr kernelFor(train::MapOp map);
  /// Declares a buffer for a value, which may be one tile of a tensor; `tensor`
  /// is the name of the whole tensor.
  exec::BufferOp createBuffer(mlir::Value value, Role role,
                              llvm::StringRef tensor, Place place,
                              mlir::FlatSymbolRefAttr parent = {},
                              int64_t offset = -1);
  mlir::FlatSymbolRefAttr laneOf(Place place) const { return lanes.at(place); }
  bool hasManyDevices() const { return devices.size() > 1; }
  /// The persistent buffer of given memory; `key` is StorageMap's identity of
  /// it.
  exec::BufferOp given(mlir::Attribute key) const { return known.lookup(key); }
  exec::ProgramOp getProgram() const { return program; }

private:
  void createProgram();
  void createDevicesAndLanes();
  void createParameters();
  void createInputsAndResults();
  exec::BufferOp createBuffer(mlir::Location loc, Role role,
                              llvm::StringRef tensor, train::TileAttr tile,
                              mlir::Type type, Place place,
                              mlir::FlatSymbolRefAttr parent, int64_t offset);
  /// Declares a buffer that the trainer fills or reads: a whole tensor, or the
  /// part of one that `attributes` describes (`train.tensor`, `train.dims`,
  /// `train.begin`; Train.h).
  exec::BufferOp createKnown(mlir::Location loc, Role role,
                             llvm::StringRef name, mlir::Type type, Place place,
                             mlir::DictionaryAttr attributes);
  mlir::FlatSymbolRefAttr deviceOf(Place place) const {
    return devices.at(place.device());
  }
  mlir::TypeAttr plainTypeOf(mlir::Type type) {
    mlir::TypeAttr &known = plainTypes[type];
    return known ? known : known = mlir::TypeAttr::get(plainType(type));
  }

  mlir::ModuleOp module;
  llvm::ArrayRef<mlir::func::FuncOp> funcs;
  mlir::MLIRContext *context;
  mlir::OpBuilder declarations; ///< inserts before the sequences
  exec::ProgramOp program;
  mlir::Operation *firstKernel = nullptr;
  Namer namer;
  std::map<DeviceId, mlir::FlatSymbolRefAttr> devices;
  std::map<Place, mlir::FlatSymbolRefAttr> lanes;
  llvm::DenseMap<mlir::Type, mlir::TypeAttr> plainTypes;
  llvm::DenseMap<mlir::Attribute, exec::BufferOp> known;
  /// By expression, number of inputs and types of elements.
  llvm::MapVector<std::tuple<llvm::StringRef, size_t, mlir::Attribute>,
                  mlir::FlatSymbolRefAttr>
      kernels;
};

} // namespace lwcc

#endif // LWCC_PASSES_SCHEDULE_DECLARATIONS_H
