// RUN: lwcc-opt %s -split-input-file -train-shard | FileCheck %s

// One tile per layer: a result lies where its op runs, an argument where its
// first user does; the lane is part of the place.

#first = #train.tiling<n = 1 c = 1 h = 1 w = 1 k = 1 on [<"0.0.0">]>
#second = #train.tiling<n = 1 c = 1 h = 1 w = 1 k = 1 on [<"0.0.1">]>

// CHECK-LABEL: func.func @train_step(
// CHECK-SAME: tensor<2xf32, #train.place<"0.0.1">> {train.name = "x"}
// CHECK-SAME: -> tensor<2xf32, #train.place<"0.0.0">>
func.func @train_step(%x: tensor<2xf32> {train.name = "x"}) -> tensor<2xf32> {
  // CHECK: train.constant {train.tiling = {{.*}}} dense<1.000000e+00> : tensor<2xf32, #train.place<"0.0.1">>
  %one = train.constant {train.tiling = #second} dense<1.0> : tensor<2xf32>
  // CHECK: train.map {{.*}} -> tensor<2xf32, #train.place<"0.0.1">>
  %y = train.map "x0 + x1"(%x, %one) {train.tiling = #second} : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  // CHECK: train.map {{.*}} : (tensor<2xf32, #train.place<"0.0.1">>) -> tensor<2xf32, #train.place<"0.0.0">>
  %z = train.map "x0"(%y) {train.tiling = #first} : (tensor<2xf32>) -> tensor<2xf32>
  return %z : tensor<2xf32>
}

// -----

// n=2 on two GPUs: each has its samples and a copy of the parameter; the
// gradients are exchanged, and since the parameter is small, each sums them in
// the same order and updates its own copy, beside the computation.

#two = #train.tiling<n = 2 c = 1 h = 1 w = 1 k = 1 on [<"0.0.0">, <"0.1.0">]>

// CHECK-DAG: train.parameter trainable @w.part0 : tensor<3x4xf32> {{.*}}train.begin = array<i64: 0, 0>, train.dims = array<i64: 3, 4>, train.tensor = "w"
// CHECK-DAG: train.parameter trainable @w.part1 : tensor<3x4xf32>
// CHECK-DAG: train.parameter optimizer @w.momentum.part0 : tensor<3x4xf32>
// CHECK-DAG: train.parameter optimizer @w.momentum.part1 : tensor<3x4xf32>
train.parameter trainable @w : tensor<3x4xf32> init<constant 1.0>
train.parameter optimizer @w.momentum : tensor<3x4xf32> init<constant 0.0>

// CHECK-LABEL: func.func @train_step(
// CHECK-SAME: %[[X0:[^:]*]]: tensor<2x4xf32, #train.place<"0.0.0">> {train.begin = array<i64: 0, 0>, train.dims = array<i64: 3, 4>, train.name = "x", train.tensor = "x"}
// CHECK-SAME: %[[X1:[^:]*]]: tensor<1x4xf32, #train.place<"0.1.0">> {train.begin = array<i64: 2, 0>
func.func @train_step(%x: tensor<3x4xf32> {train.name = "x"}, %scalars: tensor<64xui8> {train.name = "scalars", train.role = #train.role<scalars>}, %loss: tensor<f32> {train.name = "loss"}) -> tensor<3x3xf32> {
  %w = train.read @w {train.tiling = #two, train.names = ["w"]} : tensor<3x4xf32>
  %m = train.read @w.momentum {train.tiling = #two, train.names = ["m"]} : tensor<3x4xf32>
  // CHECK: %[[Y0:.*]] = train.matmul(%[[X0]], {{.*}}train.names = ["y"], train.tile = #train.tile<n 0 of 2>
  // CHECK: %[[Y1:.*]] = train.matmul(%[[X1]], {{.*}}train.names = ["y"], train.tile = #train.tile<n 1 of 2>
  %y = train.matmul(%x, %w) {train.tiling = #two, train.names = ["y"], transpose_b = true} : (tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<3x3xf32>
  // CHECK: %[[D0:.*]] = train.matmul(%[[Y0]], %[[X0]]) {{.*}} -> tensor<3x4xf32, #train.place<"0.0.0">>
  // CHECK: %[[D1:.*]] = train.matmul(%[[Y1]], %[[X1]]) {{.*}} -> tensor<3x4xf32, #train.place<"0.1.0">>
  %d = train.matmul(%y, %x) {train.tiling = #two, train.names = ["d"], train.axes = "c-n", transpose_a = true} : (tensor<3x3xf32>, tensor<3x4xf32>) -> tensor<3x4xf32>
  // CHECK: %[[MOVED1:.*]] = train.transfer(%[[D1]]) {{.*}} -> tensor<3x4xf32, #train.place<"0.0.small">>
  // CHECK: %[[NEW0:[a-z_0-9]+]], %{{.*}} = train.sgd({{.*}}, %[[D0]], %[[MOVED1]]) {{.*}} -> (tensor<3x4xf32, #train.place<"0.0.sync">>
  // CHECK: %[[MOVED0:.*]] = train.transfer(%[[D0]]) {{.*}} -> tensor<3x4xf32, #train.place<"0.1.small">>
  // CHECK: %[[NEW1:[a-z_0-9]+]], %{{.*}} = train.sgd({{.*}}, %[[MOVED0]], %[[D1]]) {{.*}} -> (tensor<3x4xf32, #train.place<"0.1.sync">>
  // CHECK: train.write @w.part0, %[[NEW0]]
  // CHECK: train.write @w.part1, %[[NEW1]]
  // CHECK: train.write @w.momentum.part0
  // CHECK: train.write @w.momentum.part1
  %new:2 = train.sgd(%w, %m, %scalars, %loss, %d) {train.tiling = #two} : (tensor<3x4xf32>, tensor<3x4xf32>, tensor<64xui8>, tensor<f32>, tensor<3x4xf32>) -> (tensor<3x4xf32>, tensor<3x4xf32>)
  train.write @w, %new#0 {train.tiling = #two} : tensor<3x4xf32>
  train.write @w.momentum, %new#1 {train.tiling = #two} : tensor<3x4xf32>
  // CHECK: train.concat
  return %y : tensor<3x3xf32>
}

// -----

// h=2: each tile reads its rows and a halo of one; only the tensor's own
// borders are padded. The gradient's halos overlap: they are summed.

#rows = #train.tiling<n = 1 c = 1 h = 2 w = 1 k = 1 on [<"0.0.0">, <"0.1.0">]>
#one = #train.tiling<n = 1 c = 1 h = 1 w = 1 k = 1 on [<"0.0.0">]>

// CHECK-LABEL: func.func @train_step(
// CHECK-SAME: tensor<1x1x5x4xf32, #train.place<"0.0.0">> {train.begin = array<i64: 0, 0, 0, 0>
// CHECK-SAME: tensor<1x1x5x4xf32, #train.place<"0.1.0">> {train.begin = array<i64: 0, 0, 3, 0>
func.func @train_step(%x: tensor<1x1x8x4xf32> {train.name = "x"}, %w: tensor<1x1x3x3xf32> {train.name = "w"}) -> tensor<1x1x8x4xf32> {
  // CHECK: train.conv{{.*}}pad = array<i64: 1, 1, 0, 1>{{.*}} -> tensor<1x1x4x4xf32, #train.place<"0.0.0">>
  // CHECK: train.conv{{.*}}pad = array<i64: 0, 1, 1, 1>{{.*}} -> tensor<1x1x4x4xf32, #train.place<"0.1.0">>
  %y = train.conv(%x, %w) {train.tiling = #rows, train.names = ["y"], dilation = array<i64: 1, 1>, group = 1 : i64, pad = array<i64: 1, 1, 1, 1>, stride = array<i64: 1, 1>} : (tensor<1x1x8x4xf32>, tensor<1x1x3x3xf32>) -> tensor<1x1x8x4xf32>
  // CHECK: train.conv_grad_input{{.*}} -> tensor<1x1x5x4xf32, #train.place<"0.0.0">>
  // CHECK: train.conv_grad_input{{.*}} -> tensor<1x1x5x4xf32, #train.place<"0.1.0">>
  %dx = train.conv_grad_input(%y, %w) {train.tiling = #rows, train.names = ["dx"], dilation = array<i64: 1, 1>, group = 1 : i64, pad = array<i64: 1, 1, 1, 1>, stride = array<i64: 1, 1>} : (tensor<1x1x8x4xf32>, tensor<1x1x3x3xf32>) -> tensor<1x1x8x4xf32>
  // CHECK: train.transfer
  // CHECK: train.pad{{.*}}low = array<i64: 0, 0, 0, 0>
  // CHECK: train.pad{{.*}}low = array<i64: 0, 0, 3, 0>
  // CHECK: train.sum
  %z = train.map "x0"(%dx) {train.tiling = #one} : (tensor<1x1x8x4xf32>) -> tensor<1x1x8x4xf32>
  return %z : tensor<1x1x8x4xf32>
}
