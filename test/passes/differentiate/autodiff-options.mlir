// RUN: not lwcc-opt %s -train-autodiff=optimizer=adamw 2>&1 | FileCheck %s
// CHECK: error: unknown optimizer 'adamw'; expected one of: sgd
func.func @train_step() {
  return
}
