//===- InspectCommand.cpp - lwcc inspect ----------------------------------===//
//
// `lwcc inspect` says what of a model would be trained: its inputs, its loss
// and what that is taken of, its parameters by their roles, and the work of
// each layer. What the file has lost is among the warnings of the import, which
// JSON has, too. Needs neither a GPU nor a compiler of programs.
//
// Does not decide anything about the model (frontend, passes/differentiate).
//
//===----------------------------------------------------------------------===//

#include "ir/json/JsonWriter.h"
#include "ir/train/Train.h"
#include "tools/driver/Driver.h"
#include "tools/lwcc/Subcommands.h"

#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace lwcc;
namespace cl = llvm::cl;

namespace {
struct InspectFlags : CompileFlags {
  cl::opt<bool> json{"json", cl::desc("Write JSON to the standard output"),
                     cl::cat(category)};
};

/// State tensors of one role.
struct Tally {
  Role role;
  StringRef name;
  int64_t tensors = 0, elements = 0;
};

struct Input {
  std::string name, shape;
  int64_t tokens = 0;
  bool channelsLast = false; ///< in the file; the shape is the program's
};

/// What is given for an output beside the samples.
struct Labels {
  std::string name; ///< of the output, "" for the main one
  bool ofNumbers = false;
  std::string shape;
  int64_t classes = 0;
};

/// What the command says, for people and programs.
struct Facts {
  std::vector<Input> inputs;
  std::vector<Labels> labels; ///< of the main output first
  std::string loss;
  int64_t batch = 0;
  std::vector<Tally> tallies = {{Role::trainable, "trained"},
                                {Role::frozen, "frozen"},
                                {Role::statistic, "running statistics"},
                                {Role::constant, "constants"}};
  std::vector<LayerWork> layers;
  std::vector<std::string> warnings; ///< what the file has lost is among them
  double forward = 0, step = 0;      ///< of a sample
};
} // namespace

static std::string textOf(RankedTensorType type) {
  std::string text;
  for (int64_t extent : type.getShape())
    text += (text.empty() ? "" : "x") + std::to_string(extent);
  return text;
}

static int64_t numberOf(ModuleOp module, StringRef name) {
  auto number = module->getAttrOfType<IntegerAttr>(name);
  return number ? number.getInt() : 0;
}

static Facts factsOf(CompiledModel &model) {
  Facts facts;
  ModuleOp module = *model.module;
  auto step = module.lookupSymbol<func::FuncOp>(train::trainStepFunc);
  auto tokens = module->getAttrOfType<DictionaryAttr>(train::tokensAttr);
  auto last = module->getAttrOfType<ArrayAttr>(train::channelsLastAttr);
  for (BlockArgument argument : step.getArguments()) {
    Role role = train::roleOf(argument);
    StringRef name = train::nameOf(argument);
    RankedTensorType type = train::typeOf(argument);
    auto count = tokens ? tokens.getAs<IntegerAttr>(name) : IntegerAttr();
    if (role == Role::input) {
      facts.inputs.push_back(
          {name.str(), textOf(type), count ? count.getInt() : 0,
           last &&
               llvm::is_contained(last.getAsValueRange<StringAttr>(), name)});
    } else if (role == Role::labels || role == Role::auxiliary) {
      Labels labels;
      labels.ofNumbers = type.getElementType().isF32();
      labels.shape = textOf(type);
      if (role == Role::auxiliary) {
        labels.name = name.substr(auxiliaryPrefix.size()).str();
        labels.classes = count ? count.getInt() : 0;
        facts.labels.push_back(labels);
        continue;
      }
      labels.classes = numberOf(module, train::classesAttr);
      if (auto loss = module->getAttrOfType<StringAttr>(train::lossNameAttr);
          loss && loss == "output")
        labels.shape = "none: the output is the loss";
      facts.labels.insert(facts.labels.begin(), labels);
    }
  }
  facts.batch = numberOf(module, "train.batch");
  if (auto loss = module->getAttrOfType<StringAttr>("train.loss"))
    facts.loss = loss.getValue().str();
  for (auto parameter : module.getOps<train::ParameterOp>())
    for (Tally &tally : facts.tallies)
      if (parameter.getRole() == tally.role) {
        ++tally.tensors;
        tally.elements +=
            cast<RankedTensorType>(parameter.getType()).getNumElements();
      }
  facts.layers = std::move(model.layers);
  for (const LayerWork &layer : facts.layers) {
    facts.forward += layer.forward / double(facts.batch);
    facts.step += layer.step / double(facts.batch);
  }
  return facts;
}

static void print(const Facts &facts, llvm::raw_ostream &os) {
  auto row = [&](StringRef title, const std::string &text) {
    os << "  " << llvm::left_justify(title, 20) << text << "\n";
  };
  for (const Input &input : facts.inputs)
    row("input",
        input.name + " " + input.shape +
            (input.tokens ? ", integers below " + grouped(input.tokens) : "") +
            (input.channelsLast ? ", in the file with channels last" : ""));
  row("loss", facts.loss);
  for (const Labels &labels : facts.labels)
    row(labels.ofNumbers ? "targets" : "labels",
        (labels.name.empty() ? "" : labels.name + " ") + labels.shape +
            (labels.classes ? ", of " + grouped(labels.classes) + " classes"
                            : ""));
  for (const Tally &tally : facts.tallies)
    if (tally.tensors)
      row(tally.name,
          llvm::formatv("{0} in {1} tensor{2}", grouped(tally.elements),
                        tally.tensors, tally.tensors == 1 ? "" : "s"));
  row("work", llvm::formatv("{0:f3} MFLOP a sample forward, {1:f3} in a "
                            "training step",
                            facts.forward / 1e6, facts.step / 1e6));
  os << llvm::formatv("\n  {0,-40} {1,12} {2,16} {3,16}\n", "layer",
                      "parameters", "MFLOP forward", "MFLOP in a step");
  for (const LayerWork &layer : facts.layers)
    os << llvm::formatv("  {0,-40} {1,12} {2,16:f3} {3,16:f3}\n", layer.name,
                        grouped(layer.parameters),
                        layer.forward / 1e6 / double(facts.batch),
                        layer.step / 1e6 / double(facts.batch));
}

static void printJson(const Facts &facts, llvm::raw_ostream &os) {
  JsonWriter json(os);
  json.object(JsonWriter::lines, [&] {
    json.arrayMember("inputs", JsonWriter::lines, [&] {
      for (const Input &input : facts.inputs)
        json.object(JsonWriter::oneLine, [&] {
          json.textMember("name", input.name);
          json.textMember("shape", input.shape);
          json.member("tokens", input.tokens);
          json.member("channels_last", input.channelsLast);
        });
    });
    json.member("batch", facts.batch);
    json.textMember("loss", facts.loss);
    auto labelsMembers = [&](const Labels &labels) {
      json.textMember(labels.ofNumbers ? "targets" : "labels", labels.shape);
      json.member("classes", labels.classes);
    };
    ArrayRef<Labels> others = facts.labels;
    if (!others.empty() && others.front().name.empty()) {
      labelsMembers(others.front());
      others = others.drop_front();
    }
    json.arrayMember("auxiliary", JsonWriter::lines, [&] {
      for (const Labels &labels : others)
        json.object(JsonWriter::oneLine, [&] {
          json.textMember("output", labels.name);
          labelsMembers(labels);
        });
    });
    json.arrayMember("warnings", JsonWriter::lines, [&] {
      for (const std::string &warning : facts.warnings)
        json.value(warning);
    });
    json.objectMember("parameters", JsonWriter::lines, [&] {
      for (const Tally &tally : facts.tallies)
        json.objectMember(tally.name, JsonWriter::oneLine, [&] {
          json.member("tensors", tally.tensors);
          json.member("elements", tally.elements);
        });
    });
    json.numberMember("flop_forward", facts.forward);
    json.numberMember("flop_step", facts.step);
    json.arrayMember("layers", JsonWriter::lines, [&] {
      for (const LayerWork &layer : facts.layers)
        json.object(JsonWriter::oneLine, [&] {
          json.textMember("name", layer.name);
          json.member("parameters", layer.parameters);
          json.numberMember("flop_forward",
                            layer.forward / double(facts.batch));
          json.numberMember("flop_step", layer.step / double(facts.batch));
        });
    });
  });
  os << "\n";
}

int lwcc::inspectMain(int argc, char **argv) {
  InspectFlags flags;
  if (!flags.parse(argc, argv,
                   "lwcc inspect: says what of a model would be trained, and "
                   "how much work each layer is\n"))
    return 1;
  flags.platform = "cpu";
  Stopwatch watch(flags.verbose);
  std::unique_ptr<MLIRContext> context = makeContext();
  std::vector<std::string> warnings;
  ScopedDiagnosticHandler collect(context.get(), [&](Diagnostic &diagnostic) {
    if (diagnostic.getSeverity() == DiagnosticSeverity::Warning)
      warnings.push_back(messageOf(diagnostic));
    return failure(); // it is printed, too
  });
  FailureOr<CompiledModel> model =
      compileModel(flags, *context, watch, Goal::inspect);
  if (failed(model))
    return 1;
  Facts facts = factsOf(*model);
  facts.warnings = std::move(warnings);
  flags.json ? printJson(facts, llvm::outs()) : print(facts, llvm::outs());
  return 0;
}
