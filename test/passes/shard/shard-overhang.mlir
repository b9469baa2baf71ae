// RUN: lwcc-opt %s --train-shard | FileCheck %s
// A window that overhangs its input (ceil_mode) may be all that a tile has: then
// it is larger than the tile's input.

#columns = #train.tiling<n = 1 c = 1 h = 1 w = 2 k = 1 on [<"0.0.0">, <"0.1.0">]>
module {
  // CHECK-LABEL: @train_step
  func.func @train_step(%x: tensor<1x1x5x4xf32> {train.name = "x"}) -> tensor<1x1x2x2xf32> {
    // CHECK: train.max_pool{{.*}}tensor<1x1x5x3xf32, {{.*}}tensor<1x1x2x1xf32
    // CHECK: train.max_pool{{.*}}tensor<1x1x5x2xf32, {{.*}}tensor<1x1x2x1xf32
    %y:2 = train.max_pool(%x) {dilation = array<i64: 1, 1>, kernel = array<i64: 3, 3>, pad = array<i64: 0, 0, 0, 0>, stride = array<i64: 2, 2>, train.work = #train.work<"pool" forward>, train.tiling = #columns} : (tensor<1x1x5x4xf32>) -> (tensor<1x1x2x2xf32>, tensor<1x1x2x2xui8>)
    return %y#0 : tensor<1x1x2x2xf32>
  }
}
