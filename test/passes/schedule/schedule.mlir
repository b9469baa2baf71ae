// RUN: lwcc-opt %s -train-schedule | FileCheck %s
// What the pass tells the solver (ScheduleProblemTest tests what that decides).

train.parameter trainable @w : tensor<2x2xf32> init<constant 0.0>
train.parameter optimizer @w.momentum : tensor<2x2xf32> init<constant 0.0>

// The update stands at the end; it moves behind the last reader of the old
// value, which is another layer's data gradient and reads it through a view.
// CHECK-LABEL: func.func @update_after_readers
func.func @update_after_readers(%x: tensor<2x2xf32>, %scalars: tensor<64xui8> {train.role = #train.role<scalars>}, %loss: tensor<f32>) -> tensor<2x2xf32> {
  %w = train.read @w : tensor<2x2xf32>
  %m = train.read @w.momentum : tensor<2x2xf32>
  // CHECK: train.matmul{{.*}}"dw"
  %dw = train.matmul(%x, %x) {train.names = ["dw"], train.work = #train.work<"" backward>} : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  // CHECK: train.transpose
  %v = train.transpose(%w) {perm = array<i64: 1, 0>} : (tensor<2x2xf32>) -> tensor<2x2xf32>
  // CHECK-NEXT: train.matmul{{.*}}"dx"
  %dx = train.matmul(%x, %v) {train.names = ["dx"], train.work = #train.work<"" backward>} : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  // CHECK-NEXT: train.read @w.momentum
  // CHECK-NEXT: train.sgd
  // CHECK-NEXT: train.write @w,
  // CHECK-NEXT: train.write @w.momentum,
  // CHECK-NEXT: train.matmul{{.*}}"last"
  %last = train.matmul(%dx, %dx) {train.names = ["last"], train.work = #train.work<"" backward>} : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  %n, %k = train.sgd(%w, %m, %scalars, %loss, %dw) {train.work = #train.work<"" update>} : (tensor<2x2xf32>, tensor<2x2xf32>, tensor<64xui8>, tensor<f32>, tensor<2x2xf32>) -> (tensor<2x2xf32>, tensor<2x2xf32>)
  train.write @w, %n {train.work = #train.work<"" update>} : tensor<2x2xf32>
  train.write @w.momentum, %k {train.work = #train.work<"" update>} : tensor<2x2xf32>
  return %last : tensor<2x2xf32>
}

// A constant goes right before its first user.
// CHECK-LABEL: func.func @constants_late
func.func @constants_late(%x: tensor<2xf32>) -> tensor<2xf32> {
  // CHECK-NEXT: train.map "x0"
  // CHECK-NEXT: train.fill
  // CHECK-NEXT: train.map "x0 + x1"
  %one = train.fill() {value = 1.0 : f32} : () -> tensor<2xf32>
  %y = train.map "x0"(%x) : (tensor<2xf32>) -> tensor<2xf32>
  %z = train.map "x0 + x1"(%y, %one) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  return %z : tensor<2xf32>
}
