//===- GraphAnalysis.cpp - What of an ONNX graph is trained ---------------===//

#include "frontend/GraphAnalysis.h"
#include "frontend/ClassicModels.h"
#include "frontend/ControlFlow.h"
#include "frontend/GraphRepairs.h"
#include "frontend/OnnxOpTable.h"
#include "frontend/Parameters.h"
#include "frontend/Unsupported.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

#include <map>

using namespace lwcc;
using namespace llvm;
using mlir::failure;
using mlir::FailureOr;
using onnx::GraphProto;
using onnx::NodeProto;

static bool isLoss(const NodeProto &node) {
  return node.op_type() == "SoftmaxCrossEntropyLoss" ||
         node.op_type() == "NegativeLogLikelihoodLoss";
}

namespace {
class Analysis {
public:
  Analysis(OnnxFile &file, const ImportOptions &options, Reporter &reporter)
      : graph(file.model.graph()), options(options), reporter(reporter) {
    result.file = &file;
  }

  FailureOr<OnnxGraph> run() {
    collectNames();
    if (failed(reporter.result()))
      return failure();
    chooseOutputs();
    if (failed(reporter.result()))
      return failure();
    std::vector<StringRef> roots = result.heads();
    if (!result.loss.empty())
      roots.push_back(result.loss);
    llvm::StringSet<> needed = ancestors(roots);
    for (const NodeProto &node : graph.node())
      if (any_of(node.output(),
                 [&](const auto &name) { return needed.contains(name); }))
        result.nodes.push_back(&node);
    UnsupportedOperators unsupported;
    constexpr int64_t mostAlike = 20; // each named with its place
    std::map<std::string, int64_t> alike;
    for (const NodeProto *node : result.nodes)
      if (NodeView view = result.view(*node); !unsupported.take(view))
        for (const std::string &problem : checkSupport(view))
          if (++alike[problem] <= mostAlike)
            reporter.error(*node) << problem;
    for (auto &[problem, count] : alike)
      if (count > mostAlike)
        reporter.error() << "has " << count - mostAlike
                         << " more such nodes; each " << problem;
    unsupported.report(reporter);
    chooseInputs(needed);
    if (failed(reporter.result()))
      return failure();
    if (result.loss.empty())
      absorbSoftmaxes(result, options, reporter);
    if (failed(reporter.result()))
      return failure();
    return std::move(result);
  }

private:
  void collectNames() {
    for (const auto &tensor : graph.initializer())
      if (!result.initializers.try_emplace(tensor.name(), &tensor).second)
        reporter.error() << "initializer '" << tensor.name()
                         << "' is there twice: the file is damaged";
    for (const NodeProto &node : graph.node())
      for (const std::string &output : node.output())
        if (!output.empty() &&
            !result.producers.try_emplace(output, &node).second)
          reporter.error(node) << "makes '" << output
                               << "', which another node makes, too: the file "
                                  "is damaged";
    llvm::StringSet<> known;
    for (const auto &tensor : graph.initializer())
      known.insert(tensor.name());
    for (const auto &info : graph.input())
      known.insert(info.name());
    for (const NodeProto &node : graph.node())
      for (const std::string &output : node.output())
        if (!output.empty() && known.contains(output))
          reporter.error(node) << "makes '" << output
                               << "', which is an input or initializer, too: "
                                  "the file is damaged";
    // In ONNX a node stands behind those that it reads; so there are no cycles.
    for (const NodeProto &node : graph.node()) {
      for (const std::string &input : node.input())
        if (!input.empty() && !known.contains(input))
          reporter.error(node) << "reads '" << input
                               << "', which no input, initializer or earlier "
                                  "node provides: the file is damaged";
      for (const std::string &output : node.output())
        known.insert(output);
    }
    for (const auto &output : graph.output())
      if (!known.contains(output.name()))
        reporter.error() << "has the output '" << output.name()
                         << "', which no node makes: the file is damaged";
  }

  const NodeProto *producer(StringRef value) const {
    auto found = result.producers.find(value);
    return found == result.producers.end() ? nullptr : found->second;
  }

  /// Names of `roots` and of all values that they are computed from.
  llvm::StringSet<> ancestors(ArrayRef<StringRef> roots) const {
    llvm::StringSet<> seen;
    SmallVector<StringRef> pending(roots);
    while (!pending.empty()) {
      StringRef value = pending.pop_back_val();
      if (value.empty() || !seen.insert(value).second)
        continue;
      if (const NodeProto *node = producer(value))
        forEachRead(*node,
                    [&](const std::string &name) { pending.push_back(name); });
    }
    return seen;
  }

  const NodeProto *lossBehind(StringRef output) const {
    llvm::StringSet<> values = ancestors({output});
    const NodeProto *found = nullptr;
    for (const NodeProto &node : graph.node()) {
      if (!isLoss(node) || node.output_size() == 0 || node.input_size() < 2 ||
          !values.contains(node.output(0)))
        continue;
      bool onOutput = any_of(graph.output(), [&](const auto &info) {
        return info.name() == node.input(0);
      });
      if (!found || onOutput)
        found = &node;
      if (onOutput)
        break;
    }
    return found;
  }

  void chooseOutputs() {
    SmallVector<StringRef> plain;
    const NodeProto *lossNode = nullptr;
    for (const auto &output : graph.output()) {
      const NodeProto *found = lossBehind(output.name());
      if (!found) {
        plain.push_back(output.name());
      } else if (!lossNode) {
        lossNode = found;
        result.loss = output.name();
      }
    }
    if (graph.output_size() == 0) {
      reporter.error() << "has no output to train";
    } else if (lossNode &&
               (!options.output.empty() || !options.auxiliary.empty())) {
      reporter.error(*lossNode)
          << "is a loss, which says what is trained; --output and --aux are "
             "for files without one";
    } else if (lossNode) {
      result.logits = lossNode->input(0);
      const NodeProto *log = producer(result.logits);
      if (lossNode->op_type() == "NegativeLogLikelihoodLoss" && log &&
          log->op_type() == "LogSoftmax" && log->input_size() == 1)
        result.logits = log->input(0);
      labelsValue = lossNode->input(1);
      if (options.loss != "auto")
        result.loss.clear();
      else
        result.lossNode = lossNode;
    } else {
      chooseOutput(plain);
    }
  }

  /// Of outputs without a loss.
  void chooseOutput(ArrayRef<StringRef> outputs) {
    auto list = [&](auto &diagnostic) {
      interleaveComma(outputs, diagnostic, [&](StringRef name) {
        diagnostic << "'" << name << "'";
      });
    };
    StringRef chosen = options.output;
    if (chosen.empty())
      chosen = onlyTrainable(outputs);
    for (auto [i, output] : enumerate(options.auxiliary)) {
      StringRef name = output.name;
      if (!is_contained(outputs, name)) {
        auto diagnostic = reporter.error();
        diagnostic << "has no output '" << name << "' (--aux); it has ";
        list(diagnostic);
      } else if (name == chosen) {
        reporter.error() << "trains its output '" << name
                         << "' as the main one; --aux names others";
      } else if (any_of(
                     ArrayRef(options.auxiliary).take_front(i),
                     [&](const auto &other) { return other.name == name; })) {
        reporter.error() << "has the output '" << name
                         << "' twice in --aux; give it one weight";
      }
    }
    result.auxiliary = options.auxiliary;
    if (is_contained(outputs, chosen)) {
      result.logits = valueOf(chosen);
      checkScores();
      if (outputs.size() > 1 && succeeded(reporter.result()))
        noteOutputs(chosen, outputs.size());
      return;
    }
    auto diagnostic = reporter.error();
    if (!chosen.empty()) {
      diagnostic << "has no output '" << chosen << "' (--output); it has ";
      list(diagnostic);
      diagnostic << ". -o names the file that is written";
      return;
    }
    diagnostic << "has " << outputs.size() << " outputs (";
    list(diagnostic);
    diagnostic << ") and no loss; --output=NAME says which is trained, and "
                  "--aux=NAME=WEIGHT which others beside it. Or export the "
                  "model with its loss in forward()";
  }

  /// The one output that a gradient can begin at; empty if there are several.
  /// Classes as integers or names, beside their scores, are none.
  StringRef onlyTrainable(ArrayRef<StringRef> outputs) const {
    StringRef only;
    for (const auto &output : graph.output()) {
      const auto &type = output.type().tensor_type();
      const bool isKnown = output.type().has_tensor_type() &&
                           type.elem_type() != onnx::TensorProto::UNDEFINED;
      if (!is_contained(outputs, output.name()) ||
          (isKnown && elementKind(type.elem_type()) != HostTensor::Kind::real))
        continue;
      if (!only.empty())
        return {};
      only = output.name();
    }
    return only.empty() && outputs.size() == 1 ? outputs.front() : only;
  }

  /// What is trained of an output: of probabilities by the names of their
  /// classes, the probabilities.
  std::string valueOf(StringRef output) const {
    const NodeProto *maker = producer(output);
    return maker && maker->domain() == classicDomain &&
                   maker->op_type() == "ZipMap" && maker->input_size() == 1
               ? maker->input(0)
               : output.str();
  }

  /// Cross entropy is of scores, or of a Softmax. scikit-learn's probabilities
  /// of one model for each class are something else.
  void checkScores() {
    const NodeProto *maker = producer(result.logits);
    if (result.file->model.producer_name() == classicProducer && maker &&
        maker->op_type() == "Div" && options.loss == "auto")
      reporter.error(*maker)
          << "makes probabilities of one model for each class (one versus the "
             "rest), which cross entropy does not train; export the scores, "
             "with options={id(model): {'raw_scores': True}}";
  }

  /// Says which of so many outputs are trained.
  void noteOutputs(StringRef chosen, size_t count) {
    auto diagnostic = reporter.note();
    diagnostic << "output '" << chosen << "' of " << count << " is trained";
    if (!result.auxiliary.empty())
      diagnostic << ", and beside it ";
    interleaveComma(result.auxiliary, diagnostic, [&](const auto &output) {
      std::string weight;
      raw_string_ostream(weight) << format("%g", output.weight);
      diagnostic << weight << " of '" << output.name << "'";
    });
    if (count > 1 + result.auxiliary.size())
      diagnostic << "; what only the others need is left as it is";
  }

  /// The graph input that a value is a cast or reshape of; null if none.
  const onnx::ValueInfoProto *inputBehind(StringRef value) const {
    static const llvm::StringSet<> movers = {
        "Cast", "Identity", "Reshape", "Flatten", "Squeeze", "Unsqueeze"};
    while (const NodeProto *node = producer(value)) {
      if (!movers.contains(node->op_type()) || node->input_size() == 0)
        return nullptr;
      value = node->input(0);
    }
    for (const auto &info : graph.input())
      if (info.name() == value)
        return &info;
    return nullptr;
  }

  void chooseInputs(const llvm::StringSet<> &needed) {
    if (!result.loss.empty()) {
      result.labels = inputBehind(labelsValue);
      if (!result.labels)
        reporter.error(*result.lossNode)
            << "computes a loss whose labels are not an input of the graph; "
               "pass the class indices as an input of forward()";
    }
    for (const auto &info : graph.input())
      if (&info != result.labels && needed.contains(info.name()) &&
          !result.initializers.contains(info.name()))
        result.inputs.push_back(&info);
    if (result.inputs.empty())
      reporter.error() << "has no input that its output depends on";
    chooseLayouts();
  }

  /// Of images among the inputs.
  void chooseLayouts() {
    for (auto [i, layout] : enumerate(options.layouts)) {
      auto isThis = [&](const auto &other) {
        return other.name == layout.name;
      };
      auto input = find_if(result.inputs, [&](const auto *info) {
        return info->name() == layout.name;
      });
      if (input == result.inputs.end()) {
        auto diagnostic = reporter.error();
        diagnostic << "has no input '" << layout.name
                   << "' (--input); of data it has ";
        interleaveComma(result.inputs, diagnostic, [&](const auto *info) {
          diagnostic << "'" << info->name() << "'";
        });
      } else if (any_of(ArrayRef(options.layouts).take_front(i), isThis)) {
        reporter.error() << "has the input '" << layout.name
                         << "' twice in --input; it has one order";
      } else if (OnnxGraph::takesIntegers(**input)) {
        reporter.error() << "takes integers as input '" << layout.name
                         << "', which --input calls images";
      }
    }
    result.layouts = options.layouts;
  }

  const GraphProto &graph;
  const ImportOptions &options;
  Reporter &reporter;
  OnnxGraph result;
  std::string labelsValue;
};
} // namespace

FailureOr<OnnxGraph> lwcc::analyzeGraph(OnnxFile &file,
                                        const ImportOptions &options,
                                        Reporter &reporter) {
  repairGraph(*file.model.mutable_graph());
  return Analysis(file, options, reporter).run();
}
