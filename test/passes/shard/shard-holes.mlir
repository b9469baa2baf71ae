// RUN: lwcc-opt %s --train-shard | FileCheck %s
// Of the gradient of what no slice and no window looks at, no tile makes
// anything: it is zeros.

#channels = #train.tiling<n = 1 c = 2 h = 1 w = 1 k = 1 on [<"0.0.0">, <"0.1.0">]>
#rows = #train.tiling<n = 1 c = 1 h = 2 w = 1 k = 1 on [<"0.0.0">, <"0.1.0">]>
#fine = #train.tiling<n = 1 c = 1 h = 4 w = 1 k = 1 on [<"0.0.0">, <"0.1.0">, <"0.0.0">, <"0.1.0">]>
module {
  // CHECK-LABEL: @train_step
  func.func @train_step(%d: tensor<1x2x4x4xf32> {train.name = "d"}, %e: tensor<1x4x2x2xf32> {train.name = "e"}, %w: tensor<4x4x1x1xf32> {train.name = "w"}) -> (tensor<1x4x4x4xf32>, tensor<1x4x4x4xf32>) {
    // The first two of four channels are taken, and both devices have two.
    // CHECK: train.slice_grad
    // CHECK: train.fill{{.*}}tensor<1x2x4x4xf32, #train.place<"0.1.0">>
    %dx = train.slice_grad(%d) {start = array<i64: 0, 0, 0, 0>, step = array<i64: 1, 1, 1, 1>, train.work = #train.work<"slice" backward>, train.tiling = #channels} : (tensor<1x2x4x4xf32>) -> tensor<1x4x4x4xf32>
    %a = train.map "-x0"(%dx) {train.work = #train.work<"a" backward>, train.tiling = #channels} : (tensor<1x4x4x4xf32>) -> tensor<1x4x4x4xf32>
    // A window of one row, every second one: the last of four parts has none.
    // CHECK: train.conv_grad_input
    // CHECK: train.fill{{.*}}tensor<1x4x1x4xf32, #train.place<"0.1.0">>
    %dc = train.conv_grad_input(%e, %w) {dilation = array<i64: 1, 1>, group = 1 : i64, pad = array<i64: 0, 0, 0, 0>, stride = array<i64: 2, 2>, train.work = #train.work<"conv" backward>, train.tiling = #rows} : (tensor<1x4x2x2xf32>, tensor<4x4x1x1xf32>) -> tensor<1x4x4x4xf32>
    %b = train.map "-x0"(%dc) {train.work = #train.work<"b" backward>, train.tiling = #fine} : (tensor<1x4x4x4xf32>) -> tensor<1x4x4x4xf32>
    return %a, %b : tensor<1x4x4x4xf32>, tensor<1x4x4x4xf32>
  }
}
