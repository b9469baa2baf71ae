// RUN: lwcc-opt %s -train-fuse-updates -train-schedule -split-input-file | FileCheck %s
// RUN: lwcc-opt %s -train-fuse-updates=rows=3 -split-input-file | FileCheck %s --check-prefix=FEW

// Both gradients and the update of a layer; the update of its momentum's
// parameter and whoever reads dx follow.
train.parameter trainable @w : tensor<3x2xf32> init<constant 0.0>
train.parameter optimizer @w.momentum : tensor<3x2xf32> init<constant 0.0>
// CHECK-LABEL: func.func @layer
// CHECK: %[[W:.*]] = train.read @w
// CHECK: train.matmul(%arg0, %[[W]])
// CHECK: %[[M:.*]] = train.read @w.momentum
// CHECK-NEXT: %w_new, %m_new, %dx = train.matmul_sgd(%[[W]], %[[M]], %arg2, %arg3, %arg1, %arg0) {{{.*}}train.names = ["", "", "d_x"]{{.*}}train.work = #train.work<{{.*}}backward>
// CHECK-NOT: train.sgd
// CHECK-DAG: train.write @w, %w_new
// CHECK-DAG: train.write @w.momentum, %m_new
// CHECK-DAG: train.map "x0"(%dx)
// More rows than it pays for.
// FEW-LABEL: func.func @layer
// FEW-NOT: matmul_sgd
func.func @layer(%x: tensor<4x2xf32>, %dy: tensor<4x3xf32>, %scalars: tensor<64xui8> {train.role = #train.role<scalars>}, %loss: tensor<f32>) -> (tensor<4x3xf32>, tensor<4x2xf32>) {
  %w = train.read @w : tensor<3x2xf32>
  %y = train.matmul(%x, %w) {transpose_b = true} : (tensor<4x2xf32>, tensor<3x2xf32>) -> tensor<4x3xf32>
  %dx = train.matmul(%dy, %w) {train.names = ["d_x"], train.work = #train.work<"" backward>} : (tensor<4x3xf32>, tensor<3x2xf32>) -> tensor<4x2xf32>
  %g = train.matmul(%dy, %x) {train.names = ["d_w"], train.work = #train.work<"" backward>, transpose_a = true} : (tensor<4x3xf32>, tensor<4x2xf32>) -> tensor<3x2xf32>
  %z = train.map "x0"(%dx) {train.work = #train.work<"" backward>} : (tensor<4x2xf32>) -> tensor<4x2xf32>
  %m = train.read @w.momentum {train.work = #train.work<"" update>} : tensor<3x2xf32>
  %n, %k = train.sgd(%w, %m, %scalars, %loss, %g) {train.work = #train.work<"" update>} : (tensor<3x2xf32>, tensor<3x2xf32>, tensor<64xui8>, tensor<f32>, tensor<3x2xf32>) -> (tensor<3x2xf32>, tensor<3x2xf32>)
  train.write @w, %n {train.work = #train.work<"" update>} : tensor<3x2xf32>
  train.write @w.momentum, %k {train.work = #train.work<"" update>} : tensor<3x2xf32>
  return %y, %z : tensor<4x3xf32>, tensor<4x2xf32>
}

// -----

// The first layer has no data gradient.
train.parameter trainable @w : tensor<3x2xf32> init<constant 0.0>
train.parameter optimizer @w.momentum : tensor<3x2xf32> init<constant 0.0>
// CHECK-LABEL: func.func @first_layer
// CHECK: train.matmul_sgd
// CHECK-NOT: train.matmul(
func.func @first_layer(%x: tensor<4x2xf32>, %dy: tensor<4x3xf32>, %scalars: tensor<64xui8> {train.role = #train.role<scalars>}, %loss: tensor<f32>) {
  %w = train.read @w : tensor<3x2xf32>
  %m = train.read @w.momentum {train.work = #train.work<"" update>} : tensor<3x2xf32>
  %g = train.matmul(%dy, %x) {train.work = #train.work<"" backward>, transpose_a = true} : (tensor<4x3xf32>, tensor<4x2xf32>) -> tensor<3x2xf32>
  %n, %k = train.sgd(%w, %m, %scalars, %loss, %g) {train.work = #train.work<"" update>} : (tensor<3x2xf32>, tensor<3x2xf32>, tensor<64xui8>, tensor<f32>, tensor<3x2xf32>) -> (tensor<3x2xf32>, tensor<3x2xf32>)
  train.write @w, %n {train.work = #train.work<"" update>} : tensor<3x2xf32>
  train.write @w.momentum, %k {train.work = #train.work<"" update>} : tensor<3x2xf32>
  return
}

// -----

// Another op of the backward pass reads the old weights, and might need dx:
// that gradient stays on its own, and both go before the update.
train.parameter trainable @w : tensor<3x2xf32> init<constant 0.0>
train.parameter optimizer @w.momentum : tensor<3x2xf32> init<constant 0.0>
// CHECK-LABEL: func.func @other_reader
// CHECK: %[[DX:.*]] = train.matmul(%arg1
// CHECK: train.matmul(%[[DX]]
// CHECK: train.matmul_sgd
func.func @other_reader(%x: tensor<4x2xf32>, %dy: tensor<4x3xf32>, %scalars: tensor<64xui8> {train.role = #train.role<scalars>}, %loss: tensor<f32>) -> tensor<4x3xf32> {
  %w = train.read @w : tensor<3x2xf32>
  %m = train.read @w.momentum {train.work = #train.work<"" update>} : tensor<3x2xf32>
  %dx = train.matmul(%dy, %w) {train.work = #train.work<"" backward>} : (tensor<4x3xf32>, tensor<3x2xf32>) -> tensor<4x2xf32>
  %g = train.matmul(%dy, %x) {train.work = #train.work<"" backward>, transpose_a = true} : (tensor<4x3xf32>, tensor<4x2xf32>) -> tensor<3x2xf32>
  %z = train.matmul(%dx, %w) {train.work = #train.work<"" backward>, transpose_b = true} : (tensor<4x2xf32>, tensor<3x2xf32>) -> tensor<4x3xf32>
  %n, %k = train.sgd(%w, %m, %scalars, %loss, %g) {train.work = #train.work<"" update>} : (tensor<3x2xf32>, tensor<3x2xf32>, tensor<64xui8>, tensor<f32>, tensor<3x2xf32>) -> (tensor<3x2xf32>, tensor<3x2xf32>)
  train.write @w, %n {train.work = #train.work<"" update>} : tensor<3x2xf32>
  train.write @w.momentum, %k {train.work = #train.work<"" update>} : tensor<3x2xf32>
  return %z : tensor<4x3xf32>
}

// -----

// Gradients of two tiles, one that somebody else reads, one that is no product
// of a layer's tensors, and one that is made elsewhere stay as they are.
train.parameter trainable @w : tensor<3x2xf32> init<constant 0.0>
train.parameter optimizer @w.momentum : tensor<3x2xf32> init<constant 0.0>
// CHECK-LABEL: func.func @two_terms
// CHECK-NOT: matmul_sgd
func.func @two_terms(%x: tensor<4x2xf32>, %dy: tensor<4x3xf32>, %scalars: tensor<64xui8> {train.role = #train.role<scalars>}, %loss: tensor<f32>) {
  %w = train.read @w : tensor<3x2xf32>
  %m = train.read @w.momentum : tensor<3x2xf32>
  %g = train.matmul(%dy, %x) {train.work = #train.work<"" backward>, transpose_a = true} : (tensor<4x3xf32>, tensor<4x2xf32>) -> tensor<3x2xf32>
  %h = train.matmul(%dy, %x) {train.work = #train.work<"" backward>, transpose_a = true} : (tensor<4x3xf32>, tensor<4x2xf32>) -> tensor<3x2xf32>
  %n, %k = train.sgd(%w, %m, %scalars, %loss, %g, %h) {train.work = #train.work<"" update>} : (tensor<3x2xf32>, tensor<3x2xf32>, tensor<64xui8>, tensor<f32>, tensor<3x2xf32>, tensor<3x2xf32>) -> (tensor<3x2xf32>, tensor<3x2xf32>)
  train.write @w, %n : tensor<3x2xf32>
  train.write @w.momentum, %k : tensor<3x2xf32>
  return
}
// CHECK-LABEL: func.func @gradient_is_read
// CHECK-NOT: matmul_sgd
func.func @gradient_is_read(%x: tensor<4x2xf32>, %dy: tensor<4x3xf32>, %scalars: tensor<64xui8> {train.role = #train.role<scalars>}, %loss: tensor<f32>) -> tensor<3x2xf32> {
  %w = train.read @w : tensor<3x2xf32>
  %m = train.read @w.momentum : tensor<3x2xf32>
  %g = train.matmul(%dy, %x) {train.work = #train.work<"" backward>, transpose_a = true} : (tensor<4x3xf32>, tensor<4x2xf32>) -> tensor<3x2xf32>
  %n, %k = train.sgd(%w, %m, %scalars, %loss, %g) {train.work = #train.work<"" update>} : (tensor<3x2xf32>, tensor<3x2xf32>, tensor<64xui8>, tensor<f32>, tensor<3x2xf32>) -> (tensor<3x2xf32>, tensor<3x2xf32>)
  train.write @w, %n : tensor<3x2xf32>
  train.write @w.momentum, %k : tensor<3x2xf32>
  return %g : tensor<3x2xf32>
}
// CHECK-LABEL: func.func @other_layout
// CHECK-NOT: matmul_sgd
func.func @other_layout(%x: tensor<3x4xf32>, %dy: tensor<4x2xf32>, %scalars: tensor<64xui8> {train.role = #train.role<scalars>}, %loss: tensor<f32>) {
  %w = train.read @w : tensor<3x2xf32>
  %m = train.read @w.momentum : tensor<3x2xf32>
  %g = train.matmul(%x, %dy) {train.work = #train.work<"" backward>} : (tensor<3x4xf32>, tensor<4x2xf32>) -> tensor<3x2xf32>
  %n, %k = train.sgd(%w, %m, %scalars, %loss, %g) {train.work = #train.work<"" update>} : (tensor<3x2xf32>, tensor<3x2xf32>, tensor<64xui8>, tensor<f32>, tensor<3x2xf32>) -> (tensor<3x2xf32>, tensor<3x2xf32>)
  train.write @w, %n : tensor<3x2xf32>
  train.write @w.momentum, %k : tensor<3x2xf32>
  return
}
// CHECK-LABEL: func.func @another_lane
// CHECK-NOT: matmul_sgd
func.func @another_lane(%x: tensor<4x2xf32, #train.place<"0.0.1">>, %dy: tensor<4x3xf32, #train.place<"0.0.1">>, %scalars: tensor<64xui8, #train.place<"0.0.0">>, %loss: tensor<f32, #train.place<"0.0.0">>) {
  %w = train.read @w : tensor<3x2xf32, #train.place<"0.0.0">>
  %m = train.read @w.momentum : tensor<3x2xf32, #train.place<"0.0.0">>
  %g = train.matmul(%dy, %x) {train.work = #train.work<"" backward>, transpose_a = true} : (tensor<4x3xf32, #train.place<"0.0.1">>, tensor<4x2xf32, #train.place<"0.0.1">>) -> tensor<3x2xf32, #train.place<"0.0.1">>
  %n, %k = train.sgd(%w, %m, %scalars, %loss, %g) {train.work = #train.work<"" update>} : (tensor<3x2xf32, #train.place<"0.0.0">>, tensor<3x2xf32, #train.place<"0.0.0">>, tensor<64xui8, #train.place<"0.0.0">>, tensor<f32, #train.place<"0.0.0">>, tensor<3x2xf32, #train.place<"0.0.1">>) -> (tensor<3x2xf32, #train.place<"0.0.0">>, tensor<3x2xf32, #train.place<"0.0.0">>)
  train.write @w, %n : tensor<3x2xf32, #train.place<"0.0.0">>
  train.write @w.momentum, %k : tensor<3x2xf32, #train.place<"0.0.0">>
  return
}
