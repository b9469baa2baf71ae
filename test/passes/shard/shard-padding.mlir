// RUN: lwcc-opt %s --train-shard | FileCheck %s
// Padding may be as wide as the window. Where a tile would look at padding alone,
// which no convolution of a part of the input can do, the op is not cut.

#rows = #train.tiling<n = 1 c = 1 h = 3 w = 1 k = 1 on [<"0.0.0">, <"0.1.0">, <"0.2.0">] sizes = {h = array<i64: 1, 4, 1>}>
#halves = #train.tiling<n = 1 c = 1 h = 2 w = 1 k = 1 on [<"0.0.0">, <"0.1.0">]>
module {
  // CHECK-LABEL: @train_step
  func.func @train_step(%x: tensor<1x1x4x4xf32> {train.name = "x"}, %w: tensor<1x1x1x1xf32> {train.name = "w"}) -> (tensor<1x1x6x6xf32>, tensor<1x1x6x6xf32>) {
    // CHECK: train.conv{{.*}}train.work = #train.work<"alone" forward{{.*}}-> tensor<1x1x6x6xf32, #train.place<"0.0.0">>
    %y = train.conv(%x, %w) {dilation = array<i64: 1, 1>, group = 1 : i64, pad = array<i64: 1, 1, 1, 1>, stride = array<i64: 1, 1>, train.work = #train.work<"alone" forward>, train.tiling = #rows} : (tensor<1x1x4x4xf32>, tensor<1x1x1x1xf32>) -> tensor<1x1x6x6xf32>
    // CHECK: train.conv{{.*}}train.work = #train.work<"halves" forward{{.*}}-> tensor<1x1x3x6xf32, #train.place<"0.0.0">>
    // CHECK: train.conv{{.*}}train.work = #train.work<"halves" forward{{.*}}-> tensor<1x1x3x6xf32, #train.place<"0.1.0">>
    %z = train.conv(%x, %w) {dilation = array<i64: 1, 1>, group = 1 : i64, pad = array<i64: 1, 1, 1, 1>, stride = array<i64: 1, 1>, train.work = #train.work<"halves" forward>, train.tiling = #halves} : (tensor<1x1x4x4xf32>, tensor<1x1x1x1xf32>) -> tensor<1x1x6x6xf32>
    return %y, %z : tensor<1x1x6x6xf32>, tensor<1x1x6x6xf32>
  }
}
