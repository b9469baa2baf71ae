// RUN: lwcc-opt %s -split-input-file -verify-diagnostics -train-shard="local-statistics=true" | FileCheck %s

// n=2: each half of the samples has statistics of its own, and nothing is
// exchanged for them. The gradient of the scale is the sum over all samples;
// what a half's own gradient reads is scaled from two of three samples (or one)
// up to three, by which the op divides. The running mean is the first half's.

#n2 = #train.tiling<n = 2 c = 1 h = 1 w = 1 k = 1 on [<"0.0.0">, <"0.1.0">]>

// CHECK-LABEL: func.func @train_step(
// CHECK-SAME: %[[X0:[^:]*]]: tensor<2x4xf32, #train.place<"0.0.0">>
// CHECK-SAME: %[[X1:[^:]*]]: tensor<1x4xf32, #train.place<"0.1.0">>
func.func @train_step(%x: tensor<3x4xf32> {train.name = "x"}, %dy: tensor<3x4xf32> {train.name = "dy"}) -> (tensor<3x4xf32>, tensor<4xf32>, tensor<3x4xf32>, tensor<4xf32>) {
  // CHECK: %[[MEAN0:.*]], %[[VAR0:.*]], %{{.*}} = train.batch_norm_stats(%[[X0]])
  // CHECK: %[[UNBIASED:.*]] = train.map "1.3333334f * x0"(%[[VAR0]])
  // CHECK: %[[MEAN1:.*]], %{{.*}}, %{{.*}} = train.batch_norm_stats(%[[X1]])
  // CHECK-NOT: train.transfer
  %mean, %variance, %invstd = train.batch_norm_stats(%x) {train.tiling = #n2, epsilon = 1.0e-5 : f32} : (tensor<3x4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>)
  // CHECK: train.map "(x0 - x1) * x2"(%[[X0]], %[[MEAN0]],
  // CHECK: train.map "(x0 - x1) * x2"(%[[X1]], %[[MEAN1]],
  %y = train.map "(x0 - x1) * x2"(%x, %mean, %invstd) {train.tiling = #n2} : (tensor<3x4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<3x4xf32>
  // CHECK: train.map "x0 * 0.9f"(%[[UNBIASED]])
  %running = train.map "x0 * 0.9f"(%variance) {train.tiling = #n2} : (tensor<4xf32>) -> tensor<4xf32>
  // CHECK: %[[S0:.*]], %{{.*}} = train.batch_norm_grad_stats(
  // CHECK: %[[OWN0:.*]] = train.map "1.5f * x0"(%[[S0]])
  // CHECK: %[[S1:.*]], %{{.*}} = train.batch_norm_grad_stats(
  // CHECK: %[[OWN1:.*]] = train.map "3.0f * x0"(%[[S1]])
  %dscale, %dbias = train.batch_norm_grad_stats(%dy, %x, %mean, %invstd) {train.tiling = #n2} : (tensor<3x4xf32>, tensor<3x4xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
  // CHECK: train.map "x0 - x1 * 0.33333334f"(%{{.*}}, %[[OWN0]])
  // CHECK: train.map "x0 - x1 * 0.33333334f"(%{{.*}}, %[[OWN1]])
  %dx = train.map "x0 - x1 * 0.33333334f"(%dy, %dscale) {train.tiling = #n2} : (tensor<3x4xf32>, tensor<4xf32>) -> tensor<3x4xf32>
  // CHECK: train.sum(%[[S0]], %{{.*}})
  return %y, %running, %dx, %dscale : tensor<3x4xf32>, tensor<4xf32>, tensor<3x4xf32>, tensor<4xf32>
}

// -----

// One map that normalizes by the statistics of two layers.

#n2 = #train.tiling<n = 2 c = 1 h = 1 w = 1 k = 1 on [<"0.0.0">, <"0.1.0">]>
#n3 = #train.tiling<n = 3 c = 1 h = 1 w = 1 k = 1 on [<"0.0.0">, <"0.1.0">, <"0.2.0">]>

func.func @train_step(%x: tensor<3x4xf32> {train.name = "x"}) -> tensor<3x4xf32> {
  %mean, %v, %s = train.batch_norm_stats(%x) {train.tiling = #n2, epsilon = 1.0e-5 : f32} : (tensor<3x4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>)
  %mean2, %v2, %s2 = train.batch_norm_stats(%x) {train.tiling = #n3, train.work = #train.work<"bn2" forward>, epsilon = 1.0e-5 : f32} : (tensor<3x4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>)
  // expected-error @+1 {{layer 'bn2' is normalized in one kernel with another layer: with --bn=local both must be cut alike along n}}
  %y = train.map "x0 - x1 - x2"(%x, %mean, %mean2) {train.tiling = #n2} : (tensor<3x4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<3x4xf32>
  return %y : tensor<3x4xf32>
}
