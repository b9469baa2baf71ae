//===- Losses.cpp - The losses that lwcc adds to a model ------------------===//

#include "ir/train/Losses.h"

using namespace lwcc::train;

static constexpr Loss losses[] = {
    {"cross-entropy", "cross entropy", ""},
    // Of log-probabilities, as NLLLoss. The frontend makes cross entropy of it.
    {"nll", "negative log-likelihood", ""},
    // Of logits, as BCEWithLogitsLoss: a Sigmoid at the end belongs to it.
    {"bce", "binary cross entropy", "binary_cross_entropy"},
    {"mse", "mean squared error", "squared_error"},
    {"l1", "mean absolute error", "absolute_error"},
    {"huber", "Huber loss", "huber_error"},
    // The model computes it: each of its numbers is one.
    {"output", "mean of the output", "output_as_loss"},
};

const Loss *lwcc::train::findLoss(llvm::StringRef name) {
  for (const Loss &loss : losses)
    if (loss.name == name)
      return &loss;
  return nullptr;
}

std::string lwcc::train::lossNames() {
  std::string names;
  for (const Loss &loss : losses)
    names += (names.empty() ? "" : ", ") + loss.name.str();
  return names;
}
