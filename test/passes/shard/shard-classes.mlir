// RUN: lwcc-opt %s -split-input-file -train-shard | FileCheck %s

// A loss whose classes are cut: each tile looks at its own classes; maxima,
// sums and ranks, of one number per sample, go between the devices.

#c2 = #train.tiling<n = 1 c = 2 h = 1 w = 1 k = 1 on [<"0.0.0">, <"0.1.0">]>

// CHECK-LABEL: func.func @train_step(
// CHECK-SAME: %[[X0:[^:]*]]: tensor<4x3xf32, #train.place<"0.0.0">> {train.begin = array<i64: 0, 0>
// CHECK-SAME: %[[X1:[^:]*]]: tensor<4x3xf32, #train.place<"0.1.0">> {train.begin = array<i64: 0, 3>
func.func @train_step(%x: tensor<4x6xf32> {train.name = "x"}, %labels: tensor<4xi32> {train.name = "labels", train.role = #train.role<labels>}, %dloss: tensor<f32> {train.name = "dloss"}) -> (tensor<f32>, tensor<2xf32>, tensor<4x6xf32>) {
  // CHECK: %[[M0:.*]] = train.reduce_max(%[[X0]])
  // CHECK: %[[M1:.*]] = train.reduce_max(%[[X1]])
  // CHECK: train.map "max(x0, x1)"{{.*}} -> tensor<4x1xf32
  // CHECK: train.map "exp(x0 - x1)"(%[[X0]]
  // CHECK: train.map "exp(x0 - x1)"(%[[X1]]
  // CHECK: train.sum{{.*}} -> tensor<4x1xf32
  // CHECK: train.map "x0 - x1 - log(x2)"(%[[X0]]
  // CHECK: train.map "x0 - x1 - log(x2)"(%[[X1]]
  // CHECK: train.one_hot(%{{.*}}) {train.
  // CHECK: train.one_hot(%{{.*}}) {first_class = 3 : i64
  // CHECK: train.map "x0 != 0.0f ? -x1 * x2 : 0.0f"
  // CHECK: train.map "x0 / x1"
  // CHECK: train.map "exp(x0)"
  %loss, %probs = train.cross_entropy(%x, %labels) {train.tiling = #c2} : (tensor<4x6xf32>, tensor<4xi32>) -> (tensor<f32>, tensor<4x6xf32>)
  // CHECK: train.label_rank(%[[X0]], 
  // CHECK: train.label_rank(%[[X1]], {{.*}}) {first_class = 3 : i64
  // CHECK: train.sum{{.*}} -> tensor<4x1xf32
  // CHECK: train.map "x0 < 1.0f ? 1.0f : 0.0f"
  // CHECK: train.map "x0 < 5.0f ? 1.0f : 0.0f"
  %counts = train.accuracy(%x, %labels) {train.tiling = #c2} : (tensor<4x6xf32>, tensor<4xi32>) -> tensor<2xf32>
  // CHECK-NOT: train.cross_entropy_grad
  // CHECK: train.map "x0 * (x1 * x2 - x3)"({{.*}} -> tensor<4x3xf32, #train.place<"0.0.0">>
  // CHECK: train.map "x0 * (x1 * x2 - x3)"({{.*}} -> tensor<4x3xf32, #train.place<"0.1.0">>
  %dx = train.cross_entropy_grad(%dloss, %probs, %labels) {train.tiling = #c2} : (tensor<f32>, tensor<4x6xf32>, tensor<4xi32>) -> tensor<4x6xf32>
  return %loss, %counts, %dx : tensor<f32>, tensor<2xf32>, tensor<4x6xf32>
}

// -----

// Padding and slices are cut along what they change: a tile that is border
// alone reads an element that lies outside of it.

#h3 = #train.tiling<n = 1 c = 1 h = 3 w = 1 k = 1 on [<"0.0.0">, <"0.0.0">, <"0.0.0">]>

// CHECK-LABEL: func.func @train_step(
func.func @train_step(%x: tensor<1x1x2x4xf32> {train.name = "x"}, %y: tensor<1x1x9x1xf32> {train.name = "y"}) -> (tensor<1x1x6x4xf32>, tensor<1x1x3x1xf32>) {
  // CHECK: train.pad(%{{.*}}) {low = array<i64: 0, 0, 1, 0>{{.*}} : (tensor<1x1x1x4xf32, {{.*}} -> tensor<1x1x2x4xf32
  // CHECK: train.pad(%{{.*}}) {low = array<i64: 0, 0, 0, 0>{{.*}} : (tensor<1x1x1x4xf32, {{.*}} -> tensor<1x1x2x4xf32
  // CHECK: train.pad(%{{.*}}) {low = array<i64: 0, 0, -2, 0>{{.*}} -> tensor<1x1x2x4xf32
  %padded = train.pad(%x) {train.tiling = #h3, low = array<i64: 0, 0, 1, 0>, value = 0.0 : f32} : (tensor<1x1x2x4xf32>) -> tensor<1x1x6x4xf32>
  // Every third row backwards, from the eighth.
  // CHECK: train.slice(%{{.*}}) {start = array<i64: 0, 0, 0, 0>, step = array<i64: 1, 1, -3, 1>, {{.*}} -> tensor<1x1x1x1xf32
  %taken = train.slice(%y) {train.tiling = #h3, start = array<i64: 0, 0, 7, 0>, step = array<i64: 1, 1, -3, 1>} : (tensor<1x1x9x1xf32>) -> tensor<1x1x3x1xf32>
  return %padded, %taken : tensor<1x1x6x4xf32>, tensor<1x1x3x1xf32>
}
