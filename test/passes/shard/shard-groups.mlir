// RUN: lwcc-opt %s -split-input-file -train-shard | FileCheck %s

// Statistics of groups of samples are cut like the samples. Where each tile has
// whole groups, nothing is exchanged.

#n2 = #train.tiling<n = 2 c = 1 h = 1 w = 1 k = 1 on [<"0.0.0">, <"0.1.0">]>

// CHECK-LABEL: func.func @train_step(
// CHECK-NOT: train.transfer
// CHECK: %[[MEAN0:.*]], %{{.*}}, %{{.*}} = train.batch_norm_stats({{.*}}group = 2 : i64, train{{.*}} -> (tensor<2x4xf32, #train.place<"0.0.0">>,
// CHECK-NOT: train.transfer
// CHECK: %[[MEAN1:.*]], %{{.*}}, %{{.*}} = train.batch_norm_stats({{.*}} -> (tensor<2x4xf32, #train.place<"0.1.0">>,
// CHECK-NOT: train.transfer
// CHECK: %[[M0:.*]] = train.repeat(%[[MEAN0]])
// CHECK: %[[M1:.*]] = train.repeat(%[[MEAN1]])
// CHECK: train.map "x0 - x1"(%{{.*}}, %[[M0]])
// CHECK: train.map "x0 - x1"(%{{.*}}, %[[M1]])
func.func @train_step(%x: tensor<8x4xf32> {train.name = "x"}) -> tensor<8x4xf32> {
  %mean, %variance, %invstd = train.batch_norm_stats(%x) {train.tiling = #n2, epsilon = 1.0e-5 : f32, group = 2 : i64} : (tensor<8x4xf32>) -> (tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>)
  %m = train.repeat(%mean) {train.tiling = #n2, group = 2 : i64} : (tensor<4x4xf32>) -> tensor<8x4xf32>
  %y = train.map "x0 - x1"(%x, %m) {train.tiling = #n2} : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<8x4xf32>
  return %y : tensor<8x4xf32>
}

// -----

// Three and three samples in groups of two: the group in the middle is combined
// from both tiles, half of it each; the others are not.

#n2 = #train.tiling<n = 2 c = 1 h = 1 w = 1 k = 1 on [<"0.0.0">, <"0.1.0">]>

// CHECK-LABEL: func.func @train_step(
// CHECK: %[[MEAN0:.*]], %[[VAR0:.*]], %{{.*}} = train.batch_norm_stats({{.*}}group = 2 : i64, train{{.*}} -> (tensor<2x4xf32,
// CHECK: %[[MEAN1:.*]], %[[VAR1:.*]], %{{.*}} = train.batch_norm_stats({{.*}}skip = 1 : i64{{.*}} -> (tensor<2x4xf32,
// CHECK: train.slice(%[[MEAN0]]) {{.*}}start = array<i64: 0, 0>
// CHECK: %[[A:.*]] = train.slice(%[[MEAN0]]) {{.*}}start = array<i64: 1, 0>{{.*}} -> tensor<1x4xf32,
// CHECK: %[[B:.*]] = train.slice(%[[MEAN1]]) {{.*}}start = array<i64: 0, 0>{{.*}} -> tensor<1x4xf32,
// CHECK: train.map "0.5f * x0 + 0.5f * x1"(
// CHECK: train.map "0.5f * (x2 + (x0 - x4) * (x0 - x4)) + 0.5f * (x3 + (x1 - x4) * (x1 - x4))"(
// CHECK: train.repeat({{.*}}skip = 1 : i64{{.*}} : (tensor<2x4xf32, #train.place<"0.1.0">>) -> tensor<3x4xf32,
func.func @train_step(%x: tensor<6x4xf32> {train.name = "x"}) -> tensor<6x4xf32> {
  %mean, %variance, %invstd = train.batch_norm_stats(%x) {train.tiling = #n2, epsilon = 1.0e-5 : f32, group = 2 : i64} : (tensor<6x4xf32>) -> (tensor<3x4xf32>, tensor<3x4xf32>, tensor<3x4xf32>)
  %m = train.repeat(%mean) {train.tiling = #n2, group = 2 : i64} : (tensor<3x4xf32>) -> tensor<6x4xf32>
  return %m : tensor<6x4xf32>
}
