//===- NodeImporter.h - What an import function works with ------*- C++ -*-===//
//
// What an import function (OnnxOpTable.h) gets: one ONNX node with its
// attributes (NodeView) and inputs, which are values of the program or known at
// compile time. The function makes train ops through it, which carry the node's
// name and location, and reports through it what is wrong with the node.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_FRONTEND_NODEIMPORTER_H
#define LWCC_FRONTEND_NODEIMPORTER_H

#include "frontend/GraphImporter.h"
#include "frontend/OnnxOpTable.h"

#include "llvm/ADT/SmallPtrSet.h"

namespace lwcc {

class NodeImporter : public NodeView {
public:
  NodeImporter(GraphImporter &importer, const onnx::NodeProto &node,
               const OnnxOp &row, llvm::ArrayRef<const Imported *> inputs);

  const OnnxOp &row() const { return opRow; }
  mlir::Location loc() const { return location; }

  /// Reports what is wrong with the node. Returns failure.
  mlir::LogicalResult fail(const llvm::Twine &message);

  //===--- Inputs ---------------------------------------------------------===//

  /// A float tensor of the program; null after reporting.
  mlir::Value live(unsigned i);
  /// The same of an element of a sequence.
  mlir::Value live(const Imported &element, llvm::StringRef name) {
    return importer.liveOf(element, name, proto());
  }
  /// The shape of input i, whatever kind of tensor it is.
  llvm::ArrayRef<int64_t> shape(unsigned i);
  /// A tensor known at compile time; null if absent or not known.
  HostRef constant(unsigned i);
  /// Integers known at compile time, from an input or else an attribute. None
  /// if neither is there; a failure, reported, if the input is not known.
  mlir::FailureOr<std::optional<Shape>> integers(unsigned input,
                                                 llvm::StringRef attribute);
  /// A scalar known at compile time, from an input or else an attribute; NaN
  /// if neither is there. Fails like `integers`.
  mlir::FailureOr<double> scalar(unsigned input, llvm::StringRef attribute);
  /// The attribute `axis` for a tensor of this rank, counted from the front.
  /// Fails, reported, if the tensor has no such axis.
  mlir::FailureOr<int64_t> axis(int64_t absent, int64_t rank);
  /// Whether an input is absent, or known to be all zeros: exporters write a
  /// missing bias like that.
  bool isZero(unsigned i) const;
  /// Whether input i is integers or booleans that depend on the data.
  bool isWhole(unsigned i) const {
    return hasInput(i) && importer.whole.contains(input(i));
  }
  const Imported &raw(unsigned i) const { return *inputs[i]; }
  /// The program that wrote the file, as it calls itself.
  llvm::StringRef producer() const {
    return importer.graph.file->model.producer_name();
  }
  mlir::Value labels() const { return importer.labels; }
  mlir::Value scalars() const { return importer.scalars; }
  int64_t batch() const { return importer.batch; }
  int64_t rebatch() const { return importer.rebatch; }

  /// Gives a stored weight the initial value that PyTorch draws for a layer
  /// whose outputs sum over `fanIn` products.
  void setFreshUniform(mlir::Value weight, int64_t fanIn);
  void setFreshConstant(mlir::Value weight, double value);
  void setFreshNormal(mlir::Value weight, double deviation);
  /// The fan-in that `setFreshUniform` was called with for the weight of the
  /// matrix product that made `value`; 0 if it is none.
  int64_t fanInOf(mlir::Value value) const;

  //===--- Results --------------------------------------------------------===//

  /// Whether a node reads output i, or it is an output of the graph.
  bool isUsed(unsigned i) const {
    return hasOutput(i) && importer.needed.contains(output(i));
  }

  mlir::OpBuilder &builder() { return importer.builder; }
  mlir::RankedTensorType tensorOf(llvm::ArrayRef<int64_t> shape) {
    return train::tensorOf(location->getContext(), shape);
  }

  /// Makes an op for this node.
  template <typename Op, typename... Args>
  Op create(Args &&...args) {
    Op op = Op::create(builder(), location, std::forward<Args>(args)...);
    adopt(op);
    return op;
  }
  /// An elementwise function (ir/train/Elementwise.h); null after reporting
  /// that the shapes do not fit.
  mlir::Value
  map(llvm::StringRef fn, mlir::ValueRange inputs,
      llvm::ArrayRef<std::pair<llvm::StringRef, double>> params = {});
  mlir::Value splat(double value, llvm::ArrayRef<int64_t> shape = {});
  /// A tensor of floats that the program keeps and does not train; null after
  /// reporting.
  mlir::Value stored(HostTensor value);
  /// A result without elements, which is known whatever the data is: of
  /// integers if input 0 is.
  Imported emptyTensor(llvm::ArrayRef<int64_t> shape);
  /// The same elements in another shape (no op if it is the same).
  mlir::Value reshape(mlir::Value value, llvm::ArrayRef<int64_t> shape);
  mlir::LogicalResult reshapeTo(unsigned input,
                                const std::optional<Shape> &shape,
                                llvm::StringRef error);

  /// Makes `value` the node's output i. If an op of this node made it, that
  /// op's result gets the output's name.
  mlir::LogicalResult result(unsigned i, mlir::Value value);
  mlir::LogicalResult result(unsigned i, Imported value);
  /// Says which branch of an If is taken, or how often a Loop turns.
  void decide(int64_t decision) { importer.decisions[&proto()] = decision; }
  /// Counts elements that are read or made while compiling; false, reported, if
  /// these are too many.
  bool spend(int64_t elements) { return importer.spend(elements, proto()); }
  /// The same of a sequence, by its memory: those that a loop makes longer in
  /// each turn are all held.
  bool spendOnSequence(int64_t size) {
    return spend(size * int64_t(sizeof(Imported) / sizeof(int64_t)));
  }

private:
  void setFresh(mlir::Value weight, llvm::StringRef kind, double a, double b);
  void adopt(mlir::Operation *op);

  GraphImporter &importer;
  const OnnxOp &opRow;
  llvm::ArrayRef<const Imported *> inputs; ///< null: absent
  mlir::Location location;
  llvm::SmallVector<Shape> shapeStorage;
  llvm::SmallPtrSet<mlir::Operation *, 4> own; ///< ops made for this node
  unsigned tables = 0;  ///< tensors that `stored` has made
  bool refused = false; ///< one of them makes a tensor that is too large
};

/// Shape of a float tensor value.
llvm::ArrayRef<int64_t> shapeOf(mlir::Value value);

} // namespace lwcc

#endif // LWCC_FRONTEND_NODEIMPORTER_H
