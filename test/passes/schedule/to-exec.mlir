// RUN: lwcc-opt %s -train-to-exec | FileCheck %s
// A whole small step: what is declared, how an op becomes a call, what update in
// place means. Views, overwriting and lanes have files of their own.

// CHECK: exec.program @tiny attributes {exec.batch = 2 : i64, exec.classes = 3 : i64, exec.model = "dir/tiny.onnx"} {
// CHECK-NEXT: exec.device @gpu0 node 0 gpu 0 arena 0
// CHECK-NEXT: exec.lane compute @gpu0.compute on @gpu0
// State, with what the trainer must know of it.
// CHECK-NEXT: exec.buffer trainable @w : tensor<3x4xf32> on @gpu0 at -1 {exec.begin = array<i64: 0, 0>, exec.dims = array<i64: 3, 4>, exec.fresh = #train.init<uniform {{.*}}>, exec.init = #train.init<blob at 64>}
// CHECK-NEXT: exec.buffer optimizer @w.momentum
// CHECK-NEXT: exec.buffer constant @unused : tensor<f32>
// What a step is given and gives; both functions share it.
// CHECK-NEXT: exec.buffer input @images : tensor<2x4xf32> on @gpu0 at -1 {exec.begin = array<i64: 0, 0>, exec.dims = array<i64: 2, 4>}
// CHECK-NEXT: exec.buffer labels @labels : tensor<2xi32>
// CHECK-NEXT: exec.buffer scalars @scalars : tensor<64xui8>
// CHECK-NEXT: exec.buffer loss @loss : tensor<f32>
// CHECK-NEXT: exec.buffer metric @counts : tensor<2xf32>
// CHECK-NEXT: exec.buffer scores @fc.eval : tensor<2x3xf32>
// The rest, in the order of first use.
// CHECK-NEXT: exec.buffer activation @fc : tensor<2x3xf32> on @gpu0 at -1
// CHECK-NEXT: exec.buffer activation @probs : tensor<2x3xf32>
// CHECK-NEXT: exec.buffer gradient @d_loss : tensor<f32>
// CHECK-NEXT: exec.buffer gradient @d_fc : tensor<2x3xf32>
// CHECK-NEXT: exec.buffer gradient @d_w : tensor<3x4xf32>
// CHECK-NOT: exec.buffer
// CHECK-NOT: train.parameter
// CHECK-NOT: func.func
module attributes {train.model = "dir/tiny.onnx", train.batch = 2 : i64, train.classes = 3 : i64} {
  train.parameter trainable @w : tensor<3x4xf32> init<blob at 64> fresh<uniform -0.5, 0.5>
  train.parameter optimizer @w.momentum : tensor<3x4xf32> init<constant 0.0>
  train.parameter constant @unused : tensor<f32> init<constant 2.0>

  // CHECK: exec.sequence @train_step {
  func.func @train_step(%x: tensor<2x4xf32> {train.name = "images"}, %labels: tensor<2xi32> {train.name = "labels", train.role = #train.role<labels>}, %scalars: tensor<64xui8> {train.name = "scalars", train.role = #train.role<scalars>}) -> (tensor<f32>, tensor<2xf32>) {
    %w = train.read @w : tensor<3x4xf32>
    // An optional operand that is absent is unit; defaults are written out.
    // CHECK-NEXT: exec.call "matmul" [@images, @w, unit] -> [@fc] on @gpu0.compute for "fc" forward with {relu = false, transpose_a = false, transpose_b = true}
    %y = train.matmul(%x, %w) {transpose_b = true, train.work = #train.work<"fc" forward>, train.names = ["fc"]} : (tensor<2x4xf32>, tensor<3x4xf32>) -> tensor<2x3xf32>
    // A result of the function is made where the trainer looks for it.
    // CHECK-NEXT: exec.call "cross_entropy" [@fc, @labels, unit] -> [@loss, @probs]
    %loss, %probs = train.cross_entropy(%y, %labels) {train.work = #train.work<"loss" forward>, train.names = ["loss", "probs"]} : (tensor<2x3xf32>, tensor<2xi32>) -> (tensor<f32>, tensor<2x3xf32>)
    // CHECK-NEXT: exec.call "accuracy" [@fc, @labels] -> [@counts]
    %counts = train.accuracy(%y, %labels) {train.work = #train.work<"loss" forward>, train.names = ["counts"]} : (tensor<2x3xf32>, tensor<2xi32>) -> tensor<2xf32>
    // A constant that is still read from memory.
    // CHECK-NEXT: exec.call "fill" [] -> [@d_loss] on @gpu0.compute for "loss" backward with {value = 1.000000e+00 : f32}
    %one = train.constant {train.work = #train.work<"loss" backward>, train.names = ["d_loss"]} dense<1.0> : tensor<f32>
    // CHECK-NEXT: exec.call "cross_entropy_grad" [@d_loss, @probs, @labels, unit] -> [@d_fc] {{.*}} backward
    %dy = train.cross_entropy_grad(%one, %probs, %labels) {train.work = #train.work<"loss" backward>, train.names = ["d_fc"]} : (tensor<f32>, tensor<2x3xf32>, tensor<2xi32>) -> tensor<2x3xf32>
    // CHECK-NEXT: exec.call "matmul" [@d_fc, @images, unit] -> [@d_w]
    %dw = train.matmul(%dy, %x) {transpose_a = true, train.work = #train.work<"fc" backward>, train.names = ["d_w"]} : (tensor<2x3xf32>, tensor<2x4xf32>) -> tensor<3x4xf32>
    %m = train.read @w.momentum : tensor<3x4xf32>
    // CHECK-NEXT: exec.call "sgd" [@w, @w.momentum, @scalars, @loss, @d_w] -> [@w, @w.momentum] on @gpu0.compute for "fc" update with {decay_scale = 1.000000e+00 : f32, lr_scale = 1.000000e+00 : f32}
    %w1, %m1 = train.sgd(%w, %m, %scalars, %loss, %dw) {train.work = #train.work<"fc" update>} : (tensor<3x4xf32>, tensor<3x4xf32>, tensor<64xui8>, tensor<f32>, tensor<3x4xf32>) -> (tensor<3x4xf32>, tensor<3x4xf32>)
    train.write @w, %w1 : tensor<3x4xf32>
    train.write @w.momentum, %m1 : tensor<3x4xf32>
    // CHECK-NEXT: }
    return %loss, %counts : tensor<f32>, tensor<2xf32>
  }

  // CHECK: exec.sequence @evaluate {
  func.func @evaluate(%x: tensor<2x4xf32> {train.name = "images"}, %labels: tensor<2xi32> {train.name = "labels", train.role = #train.role<labels>}, %scalars: tensor<64xui8> {train.name = "scalars", train.role = #train.role<scalars>}) -> (tensor<f32>, tensor<2xf32>, tensor<2x3xf32>) {
    // The scores are made where the trainer looks for them, which a step leaves.
    // CHECK-NEXT: exec.call "matmul" [@images, @w, unit] -> [@fc.eval]
    %w = train.read @w : tensor<3x4xf32>
    %y = train.matmul(%x, %w) {transpose_b = true, train.work = #train.work<"fc" forward>, train.names = ["fc"]} : (tensor<2x4xf32>, tensor<3x4xf32>) -> tensor<2x3xf32>
    // A second result that nobody reads is left out.
    // CHECK-NEXT: exec.call "cross_entropy" [@fc.eval, @labels, unit] -> [@loss, unit]
    %loss, %probs = train.cross_entropy(%y, %labels) {train.work = #train.work<"loss" forward>} : (tensor<2x3xf32>, tensor<2xi32>) -> (tensor<f32>, tensor<2x3xf32>)
    // CHECK-NEXT: exec.call "accuracy" [@fc.eval, @labels] -> [@counts]
    %counts = train.accuracy(%y, %labels) {train.work = #train.work<"loss" forward>} : (tensor<2x3xf32>, tensor<2xi32>) -> tensor<2xf32>
    // CHECK-NEXT: }
    return %loss, %counts, %y : tensor<f32>, tensor<2xf32>, tensor<2x3xf32>
  }
}
