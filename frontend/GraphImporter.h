//===- GraphImporter.h - An ONNX graph becomes a train module ---*- C++ -*-===//
//
// Walks the nodes once, in order, with the batch known, so that every shape is
// known as well: a node whose inputs are known is evaluated, any other becomes
// train ops. A value that could not be imported poisons its users silently, so
// that each mistake is reported once and all of them are.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_FRONTEND_GRAPHIMPORTER_H
#define LWCC_FRONTEND_GRAPHIMPORTER_H

#include "frontend/OnnxOpTable.h"
#include "frontend/Parameters.h"

#include "mlir/IR/OwningOpRef.h"
#include "llvm/ADT/StringSet.h"

#include <memory>
#include <variant>

namespace lwcc {

/// Random numbers on their way to becoming a dropout mask, which exporters
/// sometimes spell out: RandomUniformLike, Less(keep), Cast, Div(keep), Mul.
struct Noise {
  Shape shape;
  std::optional<double> keep; ///< probability of 1; none: still uniform
  double scale = 1;           ///< what a kept element is multiplied with
};

struct Imported;
using Sequence = std::shared_ptr<std::vector<Imported>>;
using HostRef = std::shared_ptr<const HostTensor>;

/// What an ONNX value is during the import; monostate: failed.
struct Imported : std::variant<std::monostate, mlir::Value, HostRef, Leaf *,
                               Noise, Sequence> {
  using variant::variant;
  template <typename T>
  const T *as() const {
    return std::get_if<T>(this);
  }
  /// Of a tensor; none for sequences and failures.
  std::optional<Shape> shape() const;
};

/// A parameter's place in the blob, and where its bytes come from.
struct StoredWeight {
  int64_t offset;
  std::variant<const Leaf *, HostRef> source;
};

class NodeImporter;

class GraphImporter {
public:
  /// `rebatch`: the batch that a static file is written for, if another one is
  /// asked for (baked targets of Reshape are adapted then); else 0.
  GraphImporter(const OnnxGraph &graph, Leaves &leaves, Reporter &reporter,
                int64_t batch, int64_t rebatch);

  /// Reports all mistakes.
  mlir::LogicalResult run();

  mlir::OwningOpRef<mlir::ModuleOp> module;
  std::vector<StoredWeight> weights;
  int64_t blobBytes = 0;
  /// Names of parameters by the ONNX values that they stand for.
  llvm::StringMap<std::string> parameters;
  /// Shapes of all values, by name.
  llvm::StringMap<Shape> shapes;
  /// Mul nodes that turned out to be dropouts, with their data input.
  llvm::DenseMap<const onnx::NodeProto *, unsigned> dropouts;

private:
  friend class NodeImporter;

  void importNode(const onnx::NodeProto &node);
  /// Counts a tensor of the program; reports and is false if it, or the program
  /// with it, is larger than any machine.
  bool admit(mlir::Value value, mlir::Location location);
  /// Counts elements that evaluation reads or makes; reports and is false once
  /// the file asks for more than is shape arithmetic.
  bool spend(int64_t elements, const onnx::NodeProto &node);
  bool evaluate(NodeView view, const OnnxOp &op,
                llvm::ArrayRef<const Imported *> inputs);
  /// The value of an input; binds what the file stores on its first use.
  const Imported *lookup(llvm::StringRef name);
  mlir::LogicalResult importNoise(NodeImporter &node,
                                  llvm::ArrayRef<const Imported *> inputs);
  bool isAbsorbed(NodeView node, llvm::ArrayRef<const Imported *> inputs);
  void define(llvm::StringRef name, Imported value);
  /// The value as a tensor that is known here; null if it is not.
  HostRef hostOf(const Imported &value, bool evenTrainable);
  /// The value as a float tensor of the program; null after reporting.
  mlir::Value liveOf(const Imported &value, llvm::StringRef name,
                     const onnx::NodeProto &user);
  /// The read of a parameter, which is made once.
  mlir::Value readParameter(llvm::StringRef name, llvm::ArrayRef<int64_t> shape,
                            std::variant<Leaf *, HostRef> source,
                            const onnx::NodeProto &user);
  void beginFunction();
  void finishFunction();
  void createParameters();

  const OnnxGraph &graph;
  Leaves &leaves;
  Reporter &reporter;
  int64_t batch, rebatch;
  mlir::OpBuilder builder;
  mlir::func::FuncOp function;
  mlir::Value labels, scalars;
  int64_t programBytes = 0, evaluated = 0;
  llvm::StringMap<Imported> values;
  llvm::StringSet<> needed;           ///< values that some node reads
  llvm::StringMap<mlir::Value> reads; ///< by ONNX value
  llvm::DenseMap<mlir::Operation *, Leaf *> leafOfRead;
  llvm::DenseMap<const HostTensor *, mlir::Value> constants;
  llvm::DenseMap<const Leaf *, HostRef> decoded;
  struct Parameter {
    std::string name; ///< symbol
    Shape shape;
    std::variant<Leaf *, HostRef> source;
  };
  std::vector<Parameter> used; ///< in the order of their first use
};

} // namespace lwcc

#endif // LWCC_FRONTEND_GRAPHIMPORTER_H
