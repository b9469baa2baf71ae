// RUN: lwcc-opt %s -split-input-file -train-shard -train-phases | FileCheck %s

// Of four tiles on one lane each contribution to a gradient is added to those
// before it, right behind it; the tile on another lane is added to their sum.

#tiling = #train.tiling<n = 4 c = 1 h = 1 w = 1 k = 1 on [<"0.0.0">, <"0.0.0">, <"0.0.1">, <"0.0.0">]>
#whole = #train.tiling<n = 1 c = 1 h = 1 w = 1 k = 1 on [<"0.0.0">]>

module {
  train.parameter trainable @w : tensor<3x2xf32> init<constant 1.0>
  train.parameter optimizer @w.momentum : tensor<3x2xf32> init<constant 0.0>
  // CHECK-LABEL: func.func @train_step(
  func.func @train_step(%x: tensor<8x2xf32> {train.name = "x"}, %dy: tensor<8x3xf32> {train.name = "dy"}, %scalars: tensor<64xui8> {train.name = "scalars", train.role = #train.role<scalars>}, %loss: tensor<f32> {train.name = "loss"}) -> tensor<f32> {
    %w = train.read @w {train.tiling = #tiling, train.work = #train.work<"fc" forward>, train.names = ["w"]} : tensor<3x2xf32>
    %m = train.read @w.momentum {train.tiling = #tiling, train.work = #train.work<"fc" forward>, train.names = ["w.momentum"]} : tensor<3x2xf32>
    // CHECK: %[[D0:.*]] = train.matmul({{.*}}train.work = #train.work<"fc" weight tile 0>
    // CHECK: %[[D1:.*]] = train.matmul({{.*}}train.work = #train.work<"fc" weight tile 1>
    // CHECK-NEXT: %[[S1:.*]] = train.sum(%[[D0]], %[[D1]]) {{.*}}train.work = #train.work<"fc" weight tile 1>
    // CHECK-NEXT: %[[D2:.*]] = train.matmul({{.*}}train.work = #train.work<"fc" weight tile 2>
    // CHECK-NEXT: %[[D3:.*]] = train.matmul({{.*}}train.work = #train.work<"fc" weight tile 3>
    // CHECK-NEXT: %[[S3:.*]] = train.sum(%[[S1]], %[[D3]]) {{.*}}train.work = #train.work<"fc" weight tile 3>
    %dw = train.matmul(%dy, %x) {train.axes = "c-n", train.tiling = #tiling, train.work = #train.work<"fc" weight>, train.names = ["d_w"], transpose_a = true} : (tensor<8x3xf32>, tensor<8x2xf32>) -> tensor<3x2xf32>
    // CHECK: train.sum(%[[S3]], %[[D2]]) {{.*}}train.work = #train.work<"fc" update>
    %w_new, %m_new = train.sgd(%w, %m, %scalars, %loss, %dw) {train.tiling = #tiling, train.work = #train.work<"fc" update>, train.names = ["w", "w.momentum"]} : (tensor<3x2xf32>, tensor<3x2xf32>, tensor<64xui8>, tensor<f32>, tensor<3x2xf32>) -> (tensor<3x2xf32>, tensor<3x2xf32>)
    train.write @w, %w_new {train.tiling = #tiling, train.work = #train.work<"fc" update>} : tensor<3x2xf32>
    train.write @w.momentum, %m_new {train.tiling = #tiling, train.work = #train.work<"fc" update>} : tensor<3x2xf32>
    return %loss : tensor<f32>
  }
}

// -----

// In the plan's order of the lane; a tile that it does not name comes last.

#tiling = #train.tiling<n = 4 c = 1 h = 1 w = 1 k = 1 on [<"0.0.0">, <"0.0.0">, <"0.0.0">, <"0.0.0">]>

module attributes {train.order = [#train.lane_order<<"0.0.0">: <"fc" backward tile 3>, <"fc" backward tile 1>, <"fc" weight tile 1>, <"fc" backward tile 2>>]} {
  train.parameter trainable @w : tensor<3x2xf32> init<constant 1.0>
  train.parameter optimizer @w.momentum : tensor<3x2xf32> init<constant 0.0>
  // CHECK-LABEL: func.func @train_step(
  func.func @train_step(%x: tensor<8x2xf32> {train.name = "x"}, %dy: tensor<8x3xf32> {train.name = "dy"}, %scalars: tensor<64xui8> {train.name = "scalars", train.role = #train.role<scalars>}, %loss: tensor<f32> {train.name = "loss"}) -> tensor<f32> {
    %w = train.read @w {train.tiling = #tiling, train.work = #train.work<"fc" forward>, train.names = ["w"]} : tensor<3x2xf32>
    %m = train.read @w.momentum {train.tiling = #tiling, train.work = #train.work<"fc" forward>, train.names = ["w.momentum"]} : tensor<3x2xf32>
    // CHECK: %[[D0:.*]] = train.matmul({{.*}}train.work = #train.work<"fc" weight tile 0>
    // CHECK: %[[D1:.*]] = train.matmul({{.*}}train.work = #train.work<"fc" weight tile 1>
    // CHECK: %[[D2:.*]] = train.matmul({{.*}}train.work = #train.work<"fc" weight tile 2>
    // CHECK: %[[D3:.*]] = train.matmul({{.*}}train.work = #train.work<"fc" weight tile 3>
    // CHECK: %[[A:.*]] = train.sum(%[[D3]], %[[D1]]) {{.*}}train.work = #train.work<"fc" weight tile 1>
    // CHECK: %[[B:.*]] = train.sum(%[[A]], %[[D2]]) {{.*}}train.work = #train.work<"fc" weight tile 2>
    // CHECK: %[[C:.*]] = train.sum(%[[B]], %[[D0]]) {{.*}}train.work = #train.work<"fc" weight tile 0>
    // CHECK: train.sgd({{.*}}, %[[C]])
    %dw = train.matmul(%dy, %x) {train.axes = "c-n", train.tiling = #tiling, train.work = #train.work<"fc" weight>, train.names = ["d_w"], transpose_a = true} : (tensor<8x3xf32>, tensor<8x2xf32>) -> tensor<3x2xf32>
    %w_new, %m_new = train.sgd(%w, %m, %scalars, %loss, %dw) {train.tiling = #tiling, train.work = #train.work<"fc" update>, train.names = ["w", "w.momentum"]} : (tensor<3x2xf32>, tensor<3x2xf32>, tensor<64xui8>, tensor<f32>, tensor<3x2xf32>) -> (tensor<3x2xf32>, tensor<3x2xf32>)
    train.write @w, %w_new {train.tiling = #tiling, train.work = #train.work<"fc" update>} : tensor<3x2xf32>
    train.write @w.momentum, %m_new {train.tiling = #tiling, train.work = #train.work<"fc" update>} : tensor<3x2xf32>
    return %loss : tensor<f32>
  }
}
