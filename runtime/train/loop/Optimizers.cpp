//===- Optimizers.cpp - What the trainer knows of optimizers --------------===//

#include "runtime/train/loop/Optimizers.h"

#include "runtime/core/Error.h"
#include "runtime/train/files/Text.h"

#include <algorithm>
#include <cmath>

namespace lwcc::rt::train {

/// What is one less an average's weight is rounded once, from double precision,
/// as PyTorch does it.
static void setBetas(double beta1, double beta2, StepScalars &s) {
  s.momentum = static_cast<float>(beta1);
  s.beta2 = static_cast<float>(beta2);
  s.one_minus_beta1 = static_cast<float>(1 - beta1);
  s.one_minus_beta2 = static_cast<float>(1 - beta2);
}

//===----------------------------------------------------------------------===//
// SGD
//===----------------------------------------------------------------------===//

static void setSgd(const Options &o, int64_t /*step*/, StepScalars &s) {
  s.momentum = static_cast<float>(o.momentum);
  s.nesterov = o.nesterov;
  s.weight_decay = static_cast<float>(o.weightDecay);
}

static std::string describeSgd(const Options &o) {
  return format("momentum %g%s, weight decay %g", o.momentum,
                o.nesterov ? " (Nesterov)" : "", o.weightDecay);
}

//===----------------------------------------------------------------------===//
// Adam and AdamW
//===----------------------------------------------------------------------===//

static Options adamDefaults(double weightDecay) {
  Options o;
  o.lr = 1e-3;
  o.eps = 1e-8;
  o.betas = {0.9, 0.999};
  o.weightDecay = weightDecay;
  return o;
}

static void setAdam(const Options &o, int64_t step, StepScalars &s) {
  setBetas(o.betas[0], o.betas[1], s);
  const double count = static_cast<double>(step);
  s.bias1 = static_cast<float>(1 - std::pow(o.betas[0], count));
  s.root_bias2 = static_cast<float>(std::sqrt(1 - std::pow(o.betas[1], count)));
  s.eps = static_cast<float>(o.eps);
  s.weight_decay = static_cast<float>(o.weightDecay);
}

static void setAdamW(const Options &o, int64_t step, StepScalars &s) {
  setAdam(o, step, s);
  s.decoupled_decay = s.weight_decay;
  s.weight_decay = 0;
}

static std::string describeAdam(const Options &o) {
  return format("betas %g and %g, eps %g, weight decay %g", o.betas[0],
                o.betas[1], o.eps, o.weightDecay);
}

//===----------------------------------------------------------------------===//
// RMSprop
//===----------------------------------------------------------------------===//

static Options rmsPropDefaults() {
  Options o;
  o.lr = 1e-2;
  o.alpha = 0.99;
  o.eps = 1e-8;
  o.momentum = 0;
  return o;
}

static void setRmsProp(const Options &o, int64_t /*step*/, StepScalars &s) {
  setBetas(0, o.alpha, s);
  s.eps = static_cast<float>(o.eps);
  s.momentum = static_cast<float>(o.momentum);
  s.weight_decay = static_cast<float>(o.weightDecay);
}

static std::string describeRmsProp(const Options &o) {
  return format("alpha %g, eps %g, momentum %g, weight decay %g", o.alpha,
                o.eps, o.momentum, o.weightDecay);
}

//===----------------------------------------------------------------------===//
// Adagrad
//===----------------------------------------------------------------------===//

static Options adagradDefaults() {
  Options o;
  o.lr = 1e-2;
  o.eps = 1e-10;
  return o;
}

static void setAdagrad(const Options &o, int64_t step, StepScalars &s) {
  const double decay = 1 + static_cast<double>(step - 1) * o.lrDecay;
  s.lr = static_cast<float>(s.lr / decay);
  s.eps = static_cast<float>(o.eps);
  s.weight_decay = static_cast<float>(o.weightDecay);
}

static std::string describeAdagrad(const Options &o) {
  return format("lr decay %g, eps %g, weight decay %g", o.lrDecay, o.eps,
                o.weightDecay);
}

//===----------------------------------------------------------------------===//
// Lion
//===----------------------------------------------------------------------===//

static Options lionDefaults() {
  Options o;
  o.lr = 1e-4;
  o.betas = {0.9, 0.99};
  return o;
}

static void setLion(const Options &o, int64_t /*step*/, StepScalars &s) {
  setBetas(o.betas[0], o.betas[1], s);
  s.decoupled_decay = static_cast<float>(o.weightDecay);
}

static std::string describeLion(const Options &o) {
  return format("betas %g and %g, weight decay %g", o.betas[0], o.betas[1],
                o.weightDecay);
}

//===----------------------------------------------------------------------===//
// LARS and LAMB, as timm has them
//===----------------------------------------------------------------------===//

static Options larsDefaults() {
  Options o;
  o.lr = 1;
  o.momentum = 0;
  o.trustCoeff = 1e-3;
  o.eps = 1e-8;
  return o;
}

static void setLars(const Options &o, int64_t step, StepScalars &s) {
  setSgd(o, step, s);
  s.trust_coefficient = static_cast<float>(o.trustCoeff);
  s.eps = static_cast<float>(o.eps);
}

static std::string describeLars(const Options &o) {
  return format("trust coefficient %g, eps %g, %s", o.trustCoeff, o.eps,
                describeSgd(o).c_str());
}

static Options lambDefaults() {
  Options o = adamDefaults(1e-2);
  o.eps = 1e-6;
  return o;
}

//===----------------------------------------------------------------------===//
// The table
//===----------------------------------------------------------------------===//

const std::vector<Optimizer> &optimizers() {
  static const std::vector<Optimizer> table = {
      {"sgd",
       "SGD",
       {"momentum", "nesterov", "weight-decay"},
       Options(),
       setSgd,
       describeSgd},
      {"adam",
       "Adam",
       {"betas", "eps", "weight-decay"},
       adamDefaults(0),
       setAdam,
       describeAdam},
      {"adamw",
       "AdamW",
       {"betas", "eps", "weight-decay"},
       adamDefaults(1e-2),
       setAdamW,
       describeAdam},
      {"rmsprop",
       "RMSprop",
       {"alpha", "eps", "momentum", "weight-decay"},
       rmsPropDefaults(),
       setRmsProp,
       describeRmsProp},
      {"adagrad",
       "Adagrad",
       {"lr-decay", "eps", "weight-decay"},
       adagradDefaults(),
       setAdagrad,
       describeAdagrad},
      {"lion",
       "Lion",
       {"betas", "weight-decay"},
       lionDefaults(),
       setLion,
       describeLion},
      {"lars",
       "LARS",
       {"momentum", "nesterov", "trust-coeff", "eps", "weight-decay"},
       larsDefaults(),
       setLars,
       describeLars},
      {"lamb",
       "LAMB",
       {"betas", "eps", "weight-decay"},
       lambDefaults(),
       setAdam,
       describeAdam},
  };
  return table;
}

const Optimizer &optimizerOf(const std::string &name) {
  for (const Optimizer &row : optimizers())
    if (row.name == name)
      return row;
  throw Error("this program updates its parameters by " + name +
              ", which this trainer does not know");
}

void checkHyperParameters(const Optimizer &optimizer, const Options &options) {
  auto isBeta = [](double beta) { return beta >= 0 && beta < 1; };
  const bool hasBetas =
      std::find(optimizer.flags.begin(), optimizer.flags.end(), "betas") !=
      optimizer.flags.end();
  if (hasBetas &&
      (options.betas.size() != 2 ||
       !std::all_of(options.betas.begin(), options.betas.end(), isBeta)))
    throw Error("--betas: expected two numbers from 0 to below 1, such as "
                "--betas=0.9,0.999");
}

StepScalars scalarsOf(const Optimizer &optimizer, const Options &options,
                      double lr, int64_t step) {
  StepScalars scalars;
  scalars.seed = options.seed;
  scalars.step = static_cast<uint32_t>(step);
  scalars.lr = static_cast<float>(lr);
  if (options.clipValue > 0)
    scalars.clip_value = static_cast<float>(options.clipValue);
  optimizer.set(options, step, scalars);
  return scalars;
}

} // namespace lwcc::rt::train
