// RUN: lwcc-opt %s -train-phases | FileCheck %s

// A backward op whose results only updates need, by way of others of its layer
// or not, is of the phase weight. One that another layer needs is not, even if
// it makes a gradient of its parameter of it and nothing else (d_x of "b"). What
// the ops said before does not matter, a tile's number stays.

module {
  train.parameter trainable @v : tensor<4xf32> init<constant 0.0>
  train.parameter optimizer @v.momentum : tensor<4xf32> init<constant 0.0>
  train.parameter trainable @w : tensor<4xf32> init<constant 0.0>
  train.parameter optimizer @w.momentum : tensor<4xf32> init<constant 0.0>

  // CHECK-LABEL: func.func @train_step(
  func.func @train_step(%x: tensor<4xf32>, %scalars: tensor<64xui8>, %loss: tensor<f32>) -> tensor<f32> {
    %v = train.read @v {train.work = #train.work<"a" forward>} : tensor<4xf32>
    %n = train.read @v.momentum {train.work = #train.work<"a" forward>} : tensor<4xf32>
    %w = train.read @w {train.work = #train.work<"b" forward>} : tensor<4xf32>
    %m = train.read @w.momentum {train.work = #train.work<"b" forward>} : tensor<4xf32>
    // CHECK: train.map "x0"({{.*}}train.work = #train.work<"b" forward>
    %y = train.map "x0"(%x) {train.work = #train.work<"b" forward>} : (tensor<4xf32>) -> tensor<4xf32>
    // Read by both passes.
    // CHECK: train.map "-x0"({{.*}}train.work = #train.work<"b" backward tile 2>
    %d_y = train.map "-x0"(%y) {train.work = #train.work<"b" weight tile 2>} : (tensor<4xf32>) -> tensor<4xf32>
    // CHECK: train.map "2.0f * x0"({{.*}}train.work = #train.work<"b" weight tile 2>
    %part = train.map "2.0f * x0"(%d_y) {train.work = #train.work<"b" backward tile 2>} : (tensor<4xf32>) -> tensor<4xf32>
    // CHECK: train.map "3.0f * x0"({{.*}}train.work = #train.work<"b" weight>
    %d_w = train.map "3.0f * x0"(%part) {train.work = #train.work<"b" backward>} : (tensor<4xf32>) -> tensor<4xf32>
    // CHECK: train.map "4.0f * x0"({{.*}}train.work = #train.work<"b" backward>
    %d_x = train.map "4.0f * x0"(%d_y) {train.work = #train.work<"b" backward>} : (tensor<4xf32>) -> tensor<4xf32>
    // CHECK: train.map "5.0f * x0"({{.*}}train.work = #train.work<"a" weight>
    %d_v = train.map "5.0f * x0"(%d_x) {train.work = #train.work<"a" backward>} : (tensor<4xf32>) -> tensor<4xf32>
    // CHECK: train.sgd({{.*}}train.work = #train.work<"b" update>
    %w_new, %m_new = train.sgd(%w, %m, %scalars, %loss, %d_w) {train.work = #train.work<"b" update>} : (tensor<4xf32>, tensor<4xf32>, tensor<64xui8>, tensor<f32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
    train.write @w, %w_new {train.work = #train.work<"b" update>} : tensor<4xf32>
    train.write @w.momentum, %m_new {train.work = #train.work<"b" update>} : tensor<4xf32>
    %v_new, %n_new = train.sgd(%v, %n, %scalars, %loss, %d_v) {train.work = #train.work<"a" update>} : (tensor<4xf32>, tensor<4xf32>, tensor<64xui8>, tensor<f32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
    train.write @v, %v_new {train.work = #train.work<"a" update>} : tensor<4xf32>
    train.write @v.momentum, %n_new {train.work = #train.work<"a" update>} : tensor<4xf32>
    return %loss : tensor<f32>
  }
}
