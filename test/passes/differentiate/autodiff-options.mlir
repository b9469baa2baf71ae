// RUN: not lwcc-opt %s -train-autodiff=optimizer=newton 2>&1 | FileCheck %s
// CHECK: error: unknown optimizer 'newton'; expected one of: sgd, adam, adamw, rmsprop, adagrad, lion, lars, lamb
func.func @train_step() {
  return
}
