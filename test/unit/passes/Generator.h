//===- Generator.h - The state of the program generator ---------*- C++ -*-===//
//
// The state of ProgramGenerator.h's generator, private to ProgramGenerator.cpp
// (programs and buffers) and RandomCalls.cpp (the calls of sequences).
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_TEST_UNIT_PASSES_GENERATOR_H
#define LWCC_TEST_UNIT_PASSES_GENERATOR_H

#include "ir/exec/Exec.h"

#include <random>

namespace lwcc::test {

using Dims = llvm::SmallVector<int64_t>;

/// Makes one program.
class Generator {
public:
  Generator(mlir::MLIRContext *context, unsigned seed, bool onlyMovements)
      : onlyMovements(onlyMovements), builder(context), calls(context),
        random(seed) {}
  mlir::OwningOpRef<mlir::ModuleOp> make();

private:
  void declareMachine();
  void declareKernels();
  void declareState();
  void fillSequence(mlir::StringRef name, int count, bool training);

  // Random calls, one function per kind of operand or result.
  void anyKernel();
  void elementwise();
  void randomNumbers();
  void inPlace();
  void movement();
  void twoViews();
  void parts();
  void oneHot();
  void pooling();
  void transferOfSeveral();
  void update();
  void foldIntoLoss();
  void save(exec::BufferOp value);
  void saveAll();

  void randomMovement();
  void randomCall(bool training);

  int below(int n) { return static_cast<int>(random() % n); }
  std::string deviceName(int d) { return "gpu" + std::to_string(d); }
  Dims dims() {
    Dims result;
    for (int rank = 1 + below(4); rank > 0; --rank)
      result.push_back(1 + below(rank > 2 ? 2 : 4));
    return result;
  }

  exec::BufferOp buffer(Role role, mlir::ArrayRef<int64_t> dims, int device,
                        mlir::Type element = {}, exec::BufferOp parent = {},
                        int64_t offset = -1);
  exec::BufferOp fresh(mlir::ArrayRef<int64_t> dims, int device = -1) {
    return buffer(Role::activation, dims, device < 0 ? below(devices) : device);
  }
  exec::BufferOp view(exec::BufferOp of, mlir::ArrayRef<int64_t> dims,
                      int64_t offset = 0) {
    return buffer(Role::activation, dims, deviceOf(of), {}, of, offset);
  }
  exec::BufferOp state(Role role, mlir::StringRef tensor,
                       mlir::ArrayRef<int64_t> dims,
                       mlir::ArrayRef<int64_t> begin,
                       mlir::ArrayRef<int64_t> whole, int device,
                       mlir::Type element = {});
  int deviceOf(exec::BufferOp buffer) {
    return buffer.getDevice().back() - '0'; // gpu0, gpu1, ...
  }
  static mlir::ArrayRef<int64_t> shape(exec::BufferOp buffer) {
    return mlir::cast<mlir::RankedTensorType>(buffer.getType()).getShape();
  }
  static mlir::Attribute ref(exec::BufferOp b) {
    return b ? mlir::Attribute(mlir::FlatSymbolRefAttr::get(b.getSymNameAttr()))
             : mlir::Attribute();
  }
  exec::BufferOp anyValue() { return values[below(values.size())]; }
  /// Fills a buffer, so that later calls can read it.
  void compute(exec::BufferOp result);
  /// A value with these extents, new if there is none.
  exec::BufferOp valueLike(mlir::ArrayRef<int64_t> dims);

  /// Appends a call on the device of its results. Operands on other devices are
  /// transferred first, unless the kernel may read them there.
  void emit(mlir::StringRef callee, mlir::ArrayRef<exec::BufferOp> ins,
            mlir::ArrayRef<exec::BufferOp> outs,
            mlir::DictionaryAttr params = {}, mlir::StringRef kernel = {});
  void append(mlir::StringRef callee, mlir::StringRef lane,
              mlir::ArrayRef<exec::BufferOp> ins,
              mlir::ArrayRef<exec::BufferOp> outs,
              mlir::DictionaryAttr params = {}, mlir::StringRef kernel = {});
  std::string anyLane(int device) {
    return lanes[device + devices * below(lanesOf(device))];
  }
  static constexpr LaneKind copyLanes[] = {LaneKind::in, LaneKind::sync};
  std::string anyCopyLane(int device) {
    return deviceName(device) + "." +
           laneKindName(copyLanes[below(std::size(copyLanes))]).str();
  }
  int lanesOf(int device) {
    return (static_cast<int>(lanes.size()) - device + devices - 1) / devices;
  }
  mlir::DictionaryAttr
  with(mlir::ArrayRef<std::pair<mlir::StringRef, mlir::Attribute>> fields) {
    llvm::SmallVector<mlir::NamedAttribute> list;
    for (auto [name, value] : fields)
      list.push_back(builder.getNamedAttr(name, value));
    return builder.getDictionaryAttr(list);
  }
  mlir::Attribute list(mlir::ArrayRef<int64_t> items) {
    return builder.getDenseI64ArrayAttr(items);
  }

  const bool onlyMovements;
  mlir::OpBuilder builder, calls;
  std::mt19937 random;
  int devices = 1, count = 0;
  std::vector<std::string> lanes;
  exec::BufferOp loss, metric;
  std::vector<exec::BufferOp> scalars, labels; ///< by device

  /// A trained parameter, and its optimizer state.
  struct Trained {
    std::vector<exec::BufferOp> weights, momenta; ///< one per part or copy
    bool copies = false;
    bool updated = false;
  };
  std::vector<Trained> trained;
  exec::BufferOp statistic;
  std::vector<exec::BufferOp> persistent; ///< f32, readable
  std::vector<exec::BufferOp> values;     ///< f32, of this sequence
  llvm::DenseSet<mlir::Attribute> unread; ///< values of this sequence
};

} // namespace lwcc::test

#endif // LWCC_TEST_UNIT_PASSES_GENERATOR_H
