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
#include <tuple>

namespace lwcc {

using PlaceKey = std::tuple<int64_t, int64_t, int64_t>; // node, gpu, lane

/// Where an op runs, and where a value lies.
PlaceKey placeOf(mlir::Operation *op);
PlaceKey placeOf(mlir::Value value);
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
  exec::BufferOp createBuffer(mlir::Location loc, exec::Role role,
                              llvm::StringRef name, mlir::Type type,
                              PlaceKey place,
                              mlir::FlatSymbolRefAttr parent = {},
                              int64_t offset = -1);
  mlir::FlatSymbolRefAttr laneOf(PlaceKey place) const {
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
  /// A buffer that the trainer knows: a global tensor, or the part of one that
  /// `attributes` describes (Train.h).
  exec::BufferOp createKnown(mlir::Location loc, exec::Role role,
                             llvm::StringRef name, mlir::Type type,
                             PlaceKey place, mlir::DictionaryAttr attributes);
  llvm::StringRef deviceOf(PlaceKey place) const {
    return devices.at({std::get<0>(place), std::get<1>(place)});
  }

  mlir::ModuleOp module;
  llvm::ArrayRef<mlir::func::FuncOp> funcs;
  mlir::MLIRContext *context;
  mlir::OpBuilder declarations; ///< before the sequences
  exec::ProgramOp program;
  mlir::Operation *firstKernel = nullptr;
  Namer namer;
  std::map<std::pair<int64_t, int64_t>, std::string> devices;
  std::map<PlaceKey, std::string> lanes;
  llvm::DenseMap<mlir::Attribute, exec::BufferOp> known;
  llvm::MapVector<std::pair<llvm::StringRef, size_t>, mlir::FlatSymbolRefAttr>
      kernels;
};

} // namespace lwcc

#endif // LWCC_PASSES_SCHEDULE_DECLARATIONS_H
