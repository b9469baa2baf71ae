//===- GraphImporter.h - An ONNX graph becomes a train module ---*- C++ -*-===//
//
// Walks the nodes once, in the file's order. The batch is a number by now, and
// so are all shapes. A node whose inputs are known is evaluated; any other
// becomes train ops. A node that reads the result of one that failed fails
// without a message: each mistake is reported once, and all of them are.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_FRONTEND_GRAPHIMPORTER_H
#define LWCC_FRONTEND_GRAPHIMPORTER_H

#include "frontend/ControlFlow.h"
#include "frontend/OnnxOpTable.h"
#include "frontend/Parameters.h"

#include "mlir/IR/OwningOpRef.h"
#include "llvm/ADT/StringSet.h"

#include <map>
#include <memory>
#include <variant>

namespace lwcc {

/// Uniform random numbers on their way to becoming a dropout mask, which
/// exporters sometimes spell out: RandomUniformLike, Less(keep), Cast,
/// Div(keep), Mul.
struct Noise {
  Shape shape;
  const onnx::NodeProto *origin; ///< what draws them
  std::optional<double> keep;    ///< probability of 1; none: still uniform
  double scale = 1;              ///< what a kept element is multiplied with
  double shift = 0;              ///< what was added to uniform numbers
  bool isShared = false;         ///< several nodes read them
};

/// The part of a mask's elements that is 0.
float ratioOf(const Noise &mask);

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
  /// The shape of a tensor; none for sequences and failures.
  std::optional<Shape> shape() const;
};

/// Where a parameter's bytes lie in the blob (Import.h), and what they are
/// copied from.
struct StoredWeight {
  int64_t offset;
  std::variant<const Leaf *, HostRef> source;
};

class NodeImporter;

class GraphImporter {
public:
  /// `rebatch` is the batch that a file of fixed batch was written for, if
  /// --batch asks for another one, else 0. Reshape targets that contain the old
  /// batch as a number are adapted.
  GraphImporter(const OnnxGraph &graph, Leaves &leaves, Reporter &reporter,
                int64_t batch, int64_t rebatch);

  /// Imports all nodes. Fails after reporting every mistake.
  mlir::LogicalResult run();

  mlir::OwningOpRef<mlir::ModuleOp> module;
  std::vector<StoredWeight> weights;
  int64_t blobBytes = 0;
  /// Names of parameters by the ONNX values that they stand for.
  llvm::StringMap<std::string> parameters;
  /// Shapes of all values, by name.
  llvm::StringMap<Shape> shapes;
  /// A Mul node that turned out to be a dropout: which input is its data, and
  /// what they are multiplied by besides (1, unless they were divided by the
  /// probability to be kept before).
  struct SpelledDropout {
    unsigned data;
    float factor;
  };
  llvm::DenseMap<const onnx::NodeProto *, SpelledDropout> dropouts;
  /// What is known of the Ifs and Loops. They have no results here.
  Decisions decisions;

private:
  friend class NodeImporter;

  void importNode(const onnx::NodeProto &node);
  /// Adds a tensor to the bytes of the program. Reports and returns false if
  /// the tensor, or the sum, is above the limit of ir/Size.h.
  bool admit(mlir::Value value, mlir::Location location);
  /// Adds to the elements that evaluation read and made. Reports and returns
  /// false above the limit of ConstantFolder.h.
  bool spend(int64_t elements, const onnx::NodeProto &node);
  bool evaluate(NodeView view, const OnnxOp &op,
                llvm::ArrayRef<const Imported *> inputs);
  /// The value of an input. A tensor that the file stores becomes a value when
  /// it is first asked for.
  const Imported *lookup(llvm::StringRef name);
  /// Imports a node that draws random numbers (ImportRandom.cpp).
  mlir::LogicalResult importRandom(NodeImporter &node,
                                   llvm::ArrayRef<const Imported *> inputs);
  /// Imports a node of a spelled-out dropout. Nothing if it is none: then the
  /// random numbers must be drawn as they stand.
  std::optional<mlir::LogicalResult>
  importNoise(NodeImporter &node, llvm::ArrayRef<const Imported *> inputs);
  /// Says which nodes draw.
  void noteNoise();
  mlir::Value draw(const Noise &noise);
  mlir::Value draw(const onnx::NodeProto &origin, llvm::ArrayRef<int64_t> shape,
                   llvm::StringRef expression);
  bool isWhole(NodeView node, llvm::ArrayRef<const Imported *> inputs,
               int i) const;
  bool isAbsorbed(NodeView node, llvm::ArrayRef<const Imported *> inputs);
  void define(llvm::StringRef name, Imported value);
  /// The value as a tensor known at compile time; null if it is not known.
  HostRef hostOf(const Imported &value, bool evenTrainable);
  /// The value as a float tensor of the program; null after reporting.
  mlir::Value liveOf(const Imported &value, llvm::StringRef name,
                     const onnx::NodeProto &user);
  /// The one train.read of a parameter; made when it is first asked for.
  mlir::Value readParameter(llvm::StringRef name, llvm::ArrayRef<int64_t> shape,
                            std::variant<Leaf *, HostRef> source,
                            const onnx::NodeProto &user);
  void beginFunction();
  void finishFunction();
  void warnAboutLostNoGrad();
  void writeBuffers();
  /// Makes the program take images with channels second
  /// (ChannelsLastInputs.cpp).
  void bringChannelsSecond(llvm::ArrayRef<mlir::Value> heads);
  bool isChannelsLast(mlir::Value input, llvm::StringRef name,
                      llvm::ArrayRef<mlir::Value> heads);
  /// Makes batch normalizations of Keras' formulas (SpelledBatchNorm.cpp).
  void restoreBatchNorms();
  /// Something for each sample, as a loss takes it: the value that an output of
  /// the graph is. Null after reporting.
  mlir::Value headOf(llvm::StringRef output);
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
  llvm::StringMap<int> readers;       ///< how many nodes read a value
  llvm::StringMap<mlir::Value> draws; ///< by what draws, and the expression
  std::vector<std::string> drawingNodes;
  llvm::StringSet<> whole;            ///< integers and booleans of data
  bool amongWhole = false;            ///< the node reads some of them
  llvm::StringMap<mlir::Value> reads; ///< by ONNX value
  llvm::DenseMap<mlir::Operation *, Leaf *> leafOfRead;
  /// What reads a known tensor: a constant, or one parameter, under whatever
  /// names the file reads it.
  std::map<HostRef, mlir::Value> hostReads;
  std::map<HostRef, HostRef> wholes; ///< as floats
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
