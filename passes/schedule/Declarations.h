//===- Declarations.h - What a program declares -----------------*- C++ -*-===//
//
// The part of ToExec that stands before the sequences: an exec.program with its
// devices, lanes, kernels and buffers. Which values share a buffer was decided
// by StorageMap; what runs is the business of ToExec.cpp.
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

/// Where an op runs, and where a value lies.
Place placeOf(mlir::Operation *op);
Place placeOf(mlir::Value value);
/// A type in memory: the place that it carries in `sharded` has become the
/// buffer's device.
mlir::RankedTensorType plainType(mlir::Type type);

/// Buffers stand before kernels, kernels before sequences.
class Declarations {
public:
  /// Makes the program, with a sequence without calls for each function, its
  /// devices and lanes, and the buffers that outlive a step.
  Declarations(mlir::ModuleOp module, llvm::ArrayRef<mlir::func::FuncOp> funcs);

  mlir::FlatSymbolRefAttr kernelFor(train::MapOp map);
  /// A buffer for a value of the function, or for the tile of one that it is;
  /// `tensor` is what the whole is called.
  exec::BufferOp createBuffer(mlir::Value value, Role role,
                              llvm::StringRef tensor, Place place,
                              mlir::FlatSymbolRefAttr parent = {},
                              int64_t offset = -1);
  mlir::FlatSymbolRefAttr laneOf(Place place) const {
    return mlir::FlatSymbolRefAttr::get(context, lanes.at(place));
  }
  bool hasManyDevices() const { return devices.size() > 1; }
  /// Memory that is given, by StorageMap's key.
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
  /// A buffer that the trainer knows: a global tensor, or the part of one that
  /// `attributes` describes (Train.h).
  exec::BufferOp createKnown(mlir::Location loc, Role role,
                             llvm::StringRef name, mlir::Type type, Place place,
                             mlir::DictionaryAttr attributes);
  llvm::StringRef deviceOf(Place place) const {
    return devices.at(place.device());
  }

  mlir::ModuleOp module;
  llvm::ArrayRef<mlir::func::FuncOp> funcs;
  mlir::MLIRContext *context;
  mlir::OpBuilder declarations; ///< before the sequences
  exec::ProgramOp program;
  mlir::Operation *firstKernel = nullptr;
  Namer namer;
  std::map<DeviceId, std::string> devices;
  std::map<Place, std::string> lanes;
  llvm::DenseMap<mlir::Attribute, exec::BufferOp> known;
  /// By expression, number of inputs and types of elements.
  llvm::MapVector<std::tuple<llvm::StringRef, size_t, mlir::Attribute>,
                  mlir::FlatSymbolRefAttr>
      kernels;
};

} // namespace lwcc

#endif // LWCC_PASSES_SCHEDULE_DECLARATIONS_H
