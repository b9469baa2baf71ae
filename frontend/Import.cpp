//===- Import.cpp - An ONNX file becomes a train module -------------------===//
//
// The steps of an import: open the file, find out what is trained, fix the
// batch, import the graph, write the blob. A file of fixed batch that is to run
// at another one is imported twice: first at its own batch, so that the shapes
// of both imports can be compared. They must differ in the batch alone.
//
//===----------------------------------------------------------------------===//

#include "frontend/Import.h"
#include "frontend/ClassicModels.h"
#include "frontend/ControlFlow.h"
#include "frontend/ExportDamage.h"
#include "frontend/GraphImporter.h"
#include "frontend/GraphRepairs.h"
#include "frontend/NodeImporter.h"
#include "frontend/OnnxExport.h"
#include "frontend/Parameters.h"
#include "frontend/WholeNumbers.h"

#include "ir/train/Losses.h"
#include "ir/train/Train.h"
#include "mlir/IR/Verifier.h"
#include "llvm/Support/Path.h"

#include <cstring>
#include <exception>

using namespace lwcc;
using namespace mlir;
using namespace llvm;
using onnx::NodeProto;

//===----------------------------------------------------------------------===//
// The batch
//===----------------------------------------------------------------------===//

namespace {
struct Batch {
  int64_t size = 0;
  int64_t ofFile = 0; ///< 0: dynamic
};
} // namespace

/// Checks an input; if its batch is open and nobody says another, notes that
/// unless `quiet`. Its batch; 0: open, or no input.
static int64_t checkInput(const onnx::ValueInfoProto &input,
                          const ImportOptions &options, Reporter &reporter,
                          bool quiet) {
  const auto &type = input.type().tensor_type();
  auto error = [&] {
    auto diagnostic = reporter.error();
    diagnostic << "input '" << input.name() << "' ";
    return diagnostic;
  };
  std::optional<HostTensor::Kind> kind = elementKind(type.elem_type());
  if (!input.type().has_tensor_type() || !kind ||
      kind == HostTensor::Kind::boolean) {
    error() << "has the element type " << elementTypeName(type.elem_type())
            << "; lwcc trains models of floats (images) or integers (tokens)";
    return 0;
  }
  if (!type.has_shape() || type.shape().dim_size() == 0) {
    error() << "has no shape; export the model with one";
    return 0;
  }
  for (int d = 0; d < type.shape().dim_size(); ++d) {
    const auto &dim = type.shape().dim(d);
    bool fixed = dim.has_dim_value();
    std::string name = dim.dim_param().empty() ? "?" : dim.dim_param();
    if (!fixed && d == 0 && options.batch == 0 && !quiet)
      reporter.note() << "input '" << input.name()
                      << "' leaves its batch open (dimension 0, '" << name
                      << "'): compiled for " << defaultBatch
                      << "; --batch=N chooses another";
    else if (!fixed && d != 0)
      error() << "has the dynamic dimension '" << name << "' (dimension " << d
              << "), which only an export can fix (--batch sets dimension 0): "
                 "export with a fixed size there";
    else if (fixed && (dim.dim_value() < 1 || dim.dim_value() > 1 << 24))
      error() << "has the extent " << dim.dim_value() << " in dimension " << d
              << "; " << (dim.dim_value() < 1 ? "at least 1" : "at most 2^24")
              << " is needed";
  }
  const auto &samples = type.shape().dim(0);
  return samples.has_dim_value() ? samples.dim_value() : 0;
}

/// Checks the model's inputs and decides the batch: the file's, --batch's, or
/// defaultBatch.
static std::optional<Batch> resolveBatch(const OnnxGraph &graph,
                                         const ImportOptions &options,
                                         Reporter &reporter) {
  Batch batch;
  const onnx::ValueInfoProto *first = nullptr; ///< that says a batch
  for (const onnx::ValueInfoProto *input : graph.inputs) {
    const bool quiet = input != graph.inputs.front();
    const int64_t own = checkInput(*input, options, reporter, quiet);
    if (own && !first) {
      first = input;
      batch.ofFile = own;
    } else if (own && own != batch.ofFile) {
      reporter.error()
          << "input '" << input->name() << "' has " << own
          << " in its first dimension, but input '" << first->name()
          << "' has a batch of " << batch.ofFile
          << "; an input gives something for each sample. What does not, such "
             "as a weight, has to be stored in the file: export with "
             "export_params=True, or make it a buffer of the module";
    }
  }
  if (options.batch < 0 || options.batch > 1 << 24)
    reporter.error() << "cannot be compiled for a batch of " << options.batch
                     << "; --batch must be at least 1";
  batch.size = options.batch  ? options.batch
               : batch.ofFile ? batch.ofFile
                              : defaultBatch;

  if (graph.labels) {
    const auto &labels = graph.labels->type().tensor_type();
    const auto &dims = labels.shape().dim();
    bool fixed = !dims.empty() && all_of(drop_begin(dims), [](const auto &dim) {
      return dim.has_dim_value() && dim.dim_value() > 0 &&
             dim.dim_value() <= 1 << 24;
    });
    if (elementKind(labels.elem_type()) != HostTensor::Kind::integer || !fixed)
      reporter.error() << "labels '" << graph.labels->name()
                       << "' must be class indices: integers of shape [batch], "
                          "or [batch, ...] with fixed extents";
    else if (labels.shape().dim(0).has_dim_value() &&
             labels.shape().dim(0).dim_value() != batch.ofFile)
      reporter.error() << "labels '" << graph.labels->name() << "' are "
                       << labels.shape().dim(0).dim_value()
                       << ", but the model has a batch of " << batch.ofFile;
  }
  if (failed(reporter.result()))
    return std::nullopt;
  return batch;
}

/// A static file may have its batch written into its shapes. It runs at another
/// batch if every value then has the same shape but for its first dimension.
static LogicalResult checkRebatch(const OnnxGraph &graph,
                                  const GraphImporter &before,
                                  const GraphImporter &after, Batch batch,
                                  Reporter &reporter) {
  for (const NodeProto *node : graph.nodes)
    for (const std::string &output : node->output()) {
      auto old = before.shapes.find(output), now = after.shapes.find(output);
      if (old == before.shapes.end() || now == after.shapes.end() ||
          old->second == now->second)
        continue;
      Shape expected = old->second;
      if (!expected.empty() && expected[0] == batch.ofFile)
        expected[0] = batch.size;
      if (expected == now->second)
        continue;
      reporter.error(*node)
          << "has its result '" << output << "' change from "
          << printShape(old->second) << " to " << printShape(now->second)
          << " with --batch=" << batch.size << " instead of the file's batch "
          << batch.ofFile
          << ", so the file cannot safely run at another batch: export it with "
             "a dynamic batch, or use --batch="
          << batch.ofFile;
      return failure();
    }
  return success();
}

//===----------------------------------------------------------------------===//
// Import
//===----------------------------------------------------------------------===//

static void writeWeights(const OnnxFile &file, const GraphImporter &imported,
                         std::vector<char> &blob) {
  // The exported file's literals follow; growing would copy all weights.
  blob.reserve(imported.blobBytes + imported.blobBytes / 16 + (16 << 20));
  blob.resize(imported.blobBytes);
  for (const StoredWeight &weight : imported.weights) {
    auto *out = reinterpret_cast<float *>(blob.data() + weight.offset);
    if (auto *leaf = std::get_if<const Leaf *>(&weight.source)) {
      const onnx::TensorProto &tensor = *(*leaf)->tensor;
      decodeFloats(tensor, file.rawBytes(tensor), out);
    } else {
      const auto &values = std::get<HostRef>(weight.source)->reals;
      llvm::copy(values, out);
    }
  }
}

/// Stores what users say of classes as a parameter that nobody trains, for the
/// loss that is added later (passes/differentiate/AddLoss.cpp).
static void addClassWeights(ModuleOp module, ArrayRef<float> weights,
                            std::vector<char> &blob) {
  if (weights.empty())
    return;
  constexpr size_t alignment = 64; // as the importer's
  const size_t offset = alignTo(blob.size(), alignment);
  blob.resize(offset + weights.size() * sizeof(float));
  std::memcpy(blob.data() + offset, weights.data(),
              weights.size() * sizeof(float));
  MLIRContext *context = module.getContext();
  OpBuilder builder = OpBuilder::atBlockBegin(module.getBody());
  auto parameter = train::ParameterOp::create(
      builder, module.getLoc(), "class_weights",
      train::tensorOf(context, {int64_t(weights.size())}), Role::constant,
      train::InitAttr::get(context, "blob", int64_t(offset), APFloat(0.0),
                           APFloat(0.0)),
      train::InitAttr());
  SymbolTable(module).insert(parameter); // makes the name unique
  module->setAttr(train::classWeightsAttr,
                  FlatSymbolRefAttr::get(parameter.getSymNameAttr()));
}

/// How many integers each input of these may be: the rows of the smallest table
/// that it names rows of, as it is. Empty if all are floats.
static DictionaryAttr tokensOf(ModuleOp module, const OnnxGraph &graph) {
  SmallVector<int64_t> tokens;
  for (const onnx::ValueInfoProto *input : graph.inputs)
    tokens.push_back(OnnxGraph::takesIntegers(*input) ? mostWhole : 0);
  if (!any_of(tokens, [](int64_t count) { return count > 0; }))
    return {};
  module.walk([&](train::EmbeddingOp op) {
    Value at = op.getAt();
    while (auto reshape = at.getDefiningOp<train::ReshapeOp>())
      at = reshape.getX();
    if (auto argument = dyn_cast<BlockArgument>(at);
        argument && !train::hasTables(op)) {
      int64_t &own = tokens[argument.getArgNumber()];
      own = std::min(own, lwcc::shapeOf(op.getTable())[0]);
    }
  });
  Builder builder(module.getContext());
  SmallVector<NamedAttribute> named;
  for (auto [input, count] : zip_equal(graph.inputs, tokens))
    if (count)
      named.push_back(builder.getNamedAttr(input->name(),
                                           builder.getI64IntegerAttr(count)));
  return builder.getDictionaryAttr(named);
}

/// Replaces branches and loops by what is known of them, round by round: what a
/// condition needs may stand behind another branch.
static LogicalResult resolveControlFlow(OnnxFile &file,
                                        const ImportOptions &options,
                                        Reporter &reporter) {
  while (hasControlFlow(file.model.graph())) {
    Decisions decisions;
    {
      // All that is wrong is said by the import that follows.
      ScopedDiagnosticHandler silent(reporter.getContext(),
                                     [](Diagnostic &) { return success(); });
      Reporter quiet(reporter.getContext(), file.name);
      FailureOr<OnnxGraph> graph = analyzeGraph(file, options, quiet);
      if (failed(graph))
        return success();
      std::optional<Batch> batch = resolveBatch(*graph, options, quiet);
      if (!batch)
        return success();
      Leaves leaves = collectLeaves(*graph, quiet);
      bool rebatch = batch->ofFile && batch->ofFile != batch->size;
      GraphImporter importer(*graph, leaves, quiet, batch->size,
                             rebatch ? batch->ofFile : 0);
      (void)importer.run();
      decisions = std::move(importer.decisions);
    }
    if (decisions.empty())
      return success();
    if (failed(expandControlFlow(file, decisions, reporter)))
      return failure();
  }
  return success();
}

/// The loss that the user asks for, or that the file's exporter makes plain;
/// else "auto".
static std::string lossNameOf(const OnnxGraph &graph,
                              const ImportOptions &options,
                              Reporter &reporter) {
  if (options.loss == "nll") // of scores: the LogSoftmax is not imported
    return "cross-entropy";
  if (options.loss != "auto" || !isRegressor(graph.file->model))
    return options.loss;
  reporter.note() << "predicts numbers, not classes: trained for the mean "
                     "squared error; --loss=NAME chooses another loss";
  return "mse";
}

static FailureOr<ImportedModel>
import(StringRef path, const ImportOptions &options, Reporter &reporter) {
  std::unique_ptr<OnnxFile> file = OnnxFile::open(path, reporter);
  if (!file)
    return failure();
  separateEqualParameters(*file, reporter);
  rewriteClassicModels(file->model);
  if (failed(resolveControlFlow(*file, options, reporter)))
    return failure();
  FailureOr<OnnxGraph> graph = analyzeGraph(*file, options, reporter);
  if (failed(graph))
    return failure();
  std::optional<Batch> batch = resolveBatch(*graph, options, reporter);
  if (!batch)
    return failure();

  Leaves leaves = collectLeaves(*graph, reporter);
  warnOfDamage(*graph, leaves, reporter);
  bool rebatch = batch->ofFile && batch->ofFile != batch->size;
  std::optional<GraphImporter> asWritten;
  if (rebatch) {
    // What is noted of the file is noted once, below.
    ScopedDiagnosticHandler once(reporter.getContext(), [](Diagnostic &said) {
      return success(said.getSeverity() != DiagnosticSeverity::Error);
    });
    asWritten.emplace(*graph, leaves, reporter, batch->ofFile, 0);
    if (failed(asWritten->run()))
      return failure();
  }
  GraphImporter importer(*graph, leaves, reporter, batch->size,
                         rebatch ? batch->ofFile : 0);
  if (failed(importer.run()))
    return failure();
  if (rebatch &&
      failed(checkRebatch(*graph, *asWritten, importer, *batch, reporter)))
    return failure();

  ModuleOp module = *importer.module;
  Builder builder(module.getContext());
  if (DictionaryAttr tokens = tokensOf(module, *graph))
    module->setAttr(train::tokensAttr, tokens);
  module->setAttr("train.model", builder.getStringAttr(file->name));
  module->setAttr("train.hash", builder.getStringAttr(file->hash));
  module->setAttr("train.batch", builder.getI64IntegerAttr(batch->size));
  if (!graph->loss.empty())
    module->setAttr(
        "train.loss",
        builder.getStringAttr(graph->lossNode->op_type() + " of the file"));
  if (!graph->auxiliary.empty()) {
    SmallVector<Attribute> auxiliary;
    for (const AuxiliaryOutput &output : graph->auxiliary)
      auxiliary.push_back(builder.getDictionaryAttr(
          {builder.getNamedAttr("name", builder.getStringAttr(output.name)),
           builder.getNamedAttr("weight",
                                builder.getF64FloatAttr(output.weight)),
           builder.getNamedAttr("loss", builder.getStringAttr(output.loss))}));
    module->setAttr(train::auxiliaryAttr, builder.getArrayAttr(auxiliary));
  }
  if (!graph->absorbed.empty())
    module->setAttr(train::softmaxAttr, builder.getUnitAttr());
  if (std::string loss = lossNameOf(*graph, options, reporter); loss != "auto")
    module->setAttr(train::lossNameAttr, builder.getStringAttr(loss));
  if (failed(verify(module)))
    return failure();

  ImportedModel model;
  writeWeights(*file, importer, model.blob);
  addClassWeights(module, options.classWeights, model.blob);
  model.onnxExport =
      exportRecipe(*file, leaves, importer, model.blob, reporter);
  model.module = std::move(importer.module);
  return model;
}

FailureOr<ImportedModel> lwcc::importOnnx(StringRef path,
                                          const ImportOptions &options,
                                          MLIRContext *context) {
  context->loadDialect<func::FuncDialect, train::TrainDialect>();
  Reporter reporter(context, sys::path::filename(path));
  if (options.loss != "auto" && !train::findLoss(options.loss)) {
    reporter.error() << "cannot be compiled for the loss '" << options.loss
                     << "'; --loss takes auto, " << train::lossNames();
    return failure();
  }
  // protobuf and ONNX's text parser may throw; nothing else of lwcc does.
  try {
    return import(path, options, reporter);
  } catch (const std::exception &exception) {
    reporter.error() << "cannot be read: " << exception.what();
    return failure();
  }
}
