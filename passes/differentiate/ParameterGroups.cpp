//===- ParameterGroups.cpp - What users say of some parameters ------------===//
//
// Takes `imported`. Freezes parameters, and gives others factors of learning
// rate and weight decay, which train-autodiff hands to their updates. A frozen
// parameter is saved and exported like the others, but has no gradient and no
// state. Does not decide which gradients go with it: train-autodiff makes those
// only that lead to a trainable parameter.
//
//===----------------------------------------------------------------------===//

#include "passes/differentiate/ParameterGroups.h"
#include "passes/Passes.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/Regex.h"

#include <cmath>

namespace lwcc {
#define GEN_PASS_DEF_PARAMETERGROUPS
#include "passes/Passes.h.inc"
} // namespace lwcc

using namespace mlir;
using namespace lwcc;
using namespace lwcc::train;

static constexpr StringLiteral biasKind = "bias", normKind = "norm";

bool lwcc::train::isParameterKind(StringRef kind) {
  return kind == biasKind || kind == normKind;
}

std::string lwcc::train::mistakeOf(StringRef pattern) {
  std::string error;
  if (pattern.empty())
    return "expected a regular expression";
  return llvm::Regex(pattern).isValid(error) ? "" : error;
}

std::string lwcc::train::parseGroup(StringRef text, ParameterGroup &group) {
  constexpr StringLiteral expected =
      "expected REGEX:lr-scale=X,weight-decay-scale=Y, or one of the two";
  auto [pattern, factors] = text.rsplit(':'); // an expression may have colons
  if (std::string mistake = mistakeOf(pattern); !mistake.empty())
    return mistake;
  group.pattern = pattern.str();
  SmallVector<StringRef> items;
  factors.split(items, ',');
  for (StringRef item : items) {
    auto [name, value] = item.split('=');
    float *factor = name == "lr-scale"             ? &group.scales.lr
                    : name == "weight-decay-scale" ? &group.scales.decay
                                                   : nullptr;
    double number = 0;
    if (!factor || value.getAsDouble(number))
      return expected.str();
    *factor = static_cast<float>(number);
    if (!std::isfinite(*factor) || *factor < 0)
      return (name + ": expected a number of at least 0").str();
  }
  return "";
}

/// Whether a normalization scales or shifts by the parameter.
static bool isOfNorm(ReadOp read) {
  return llvm::any_of(read->getUsers(), [&](Operation *user) {
    auto norm = dyn_cast<BatchNormOp>(user);
    return norm && (norm.getScale() == read.getValue() ||
                    norm.getBias() == read.getValue());
  });
}

namespace {

struct ParameterGroups : lwcc::impl::ParameterGroupsBase<ParameterGroups> {
  using ParameterGroupsBase::ParameterGroupsBase;

  SmallVector<ParameterOp> trainable() {
    return llvm::to_vector(llvm::make_filter_range(
        getOperation().getOps<ParameterOp>(), [](ParameterOp parameter) {
          return parameter.getRole() == Role::trainable;
        }));
  }

  /// The trainable parameters in whose names the pattern is found; an error if
  /// there are none.
  SmallVector<ParameterOp> find(const Twine &flag, StringRef pattern) {
    llvm::Regex regex(pattern);
    SmallVector<ParameterOp> all = trainable(), found;
    llvm::copy_if(all, std::back_inserter(found), [&](ParameterOp parameter) {
      return regex.match(parameter.getSymName());
    });
    if (found.empty()) {
      InFlightDiagnostic error = getOperation().emitError()
                                 << flag << ": no parameter that is trained "
                                 << "has '" << pattern << "' in its name";
      constexpr size_t shown = 10;
      if (!all.empty())
        error << "; there are: ";
      llvm::interleaveComma(
          ArrayRef(all).take_front(shown), error,
          [&](ParameterOp parameter) { error << parameter.getSymName(); });
      if (all.size() > shown)
        error << " and " << all.size() - shown << " more";
      good = false;
    }
    return found;
  }

  void setFactor(ParameterOp parameter, StringRef name, float factor) {
    if (factor != 1)
      parameter->setAttr(name, Builder(parameter).getF32FloatAttr(factor));
  }

  void applyGroups() {
    DenseSet<Operation *> inGroup;
    for (const std::string &text : groups) {
      ParameterGroup group;
      if (std::string mistake = parseGroup(text, group); !mistake.empty()) {
        getOperation().emitError() << "group " << text << ": " << mistake;
        good = false;
        continue;
      }
      for (ParameterOp parameter : find("--group=" + text, group.pattern))
        if (inGroup.insert(parameter).second) {
          setFactor(parameter, lrScaleAttr, group.scales.lr);
          setFactor(parameter, decayScaleAttr, group.scales.decay);
        }
    }
  }

  void applyKinds() {
    SymbolTable symbols(getOperation());
    DenseSet<Operation *> ofNorms;
    getOperation().walk([&](ReadOp read) {
      if (isOfNorm(read))
        ofNorms.insert(symbols.lookup(read.getParameter()));
    });
    for (ParameterOp parameter : trainable()) {
      const bool isNorm = ofNorms.contains(parameter);
      const bool isBias =
          !isNorm && cast<ShapedType>(parameter.getType()).getRank() <= 1;
      for (const std::string &kind : noDecay)
        if ((kind == normKind && isNorm) || (kind == biasKind && isBias))
          setFactor(parameter, decayScaleAttr, 0);
    }
  }

  void runOnOperation() override {
    for (const std::string &pattern : freeze)
      for (ParameterOp parameter : find("--freeze=" + pattern, pattern))
        parameter.setRole(Role::frozen);
    applyGroups();
    applyKinds();
    if (!good)
      signalPassFailure();
  }

  bool good = true;
};

} // namespace
