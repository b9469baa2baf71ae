// RUN: lwcc-opt %s -train-shard | FileCheck %s

// Samples on three devices. What all samples have per channel is combined by one
// device, and sent to the others once: each of them reads its copy in both passes.

#n3 = #train.tiling<n = 3 c = 1 h = 1 w = 1 k = 1 on [<"0.0.0">, <"0.1.0">, <"0.2.0">]>

// CHECK-LABEL: func.func @train_step(
// CHECK-COUNT-3: train.batch_norm_stats
// CHECK-COUNT-2: train.transfer
// CHECK-NEXT:    %[[MEAN:.*]] = train.map "0.33333334f * x0
// CHECK-COUNT-2: train.transfer
// CHECK-NEXT:    train.map "0.33333334f * (x3
// CHECK-NEXT:    %[[INVSTD:.*]] = train.map "1.0f / sqrt
// CHECK-NEXT:    train.map "x0 - x1"(%{{.*}}, %[[MEAN]])
// CHECK-NEXT:    %[[MEAN1:.*]] = train.transfer(%[[MEAN]])
// CHECK-NEXT:    train.map "x0 - x1"(%{{.*}}, %[[MEAN1]])
// CHECK-NEXT:    %[[MEAN2:.*]] = train.transfer(%[[MEAN]])
// CHECK-NEXT:    train.map "x0 - x1"(%{{.*}}, %[[MEAN2]])

// CHECK-NEXT:    train.batch_norm_grad_stats({{.*}}, %[[MEAN]], %[[INVSTD]])
// CHECK-NEXT:    %[[INVSTD1:.*]] = train.transfer(%[[INVSTD]])
// CHECK-NEXT:    train.batch_norm_grad_stats({{.*}}, %[[MEAN1]], %[[INVSTD1]])
// CHECK-NEXT:    %[[INVSTD2:.*]] = train.transfer(%[[INVSTD]])
// CHECK-NEXT:    train.batch_norm_grad_stats({{.*}}, %[[MEAN2]], %[[INVSTD2]])

// The sums are added by the next device, each of them once.

// CHECK-COUNT-2: train.transfer
// CHECK-NEXT:    %[[SCALE:.*]] = train.sum({{.*}} -> tensor<4x1x1xf32, #train.place<"0.1.0">>
// CHECK-COUNT-2: train.transfer
// CHECK-NEXT:    %[[BIAS:.*]] = train.sum(
// CHECK-NEXT:    %[[SCALE0:.*]] = train.transfer(%[[SCALE]])
// CHECK-NEXT:    %[[BIAS0:.*]] = train.transfer(%[[BIAS]])
// CHECK-NEXT:    train.map "x0 * x1 + x2"(%{{.*}}, %[[SCALE0]], %[[BIAS0]])
// CHECK-NEXT:    train.map "x0 * x1 + x2"(%{{.*}}, %[[SCALE]], %[[BIAS]])
// CHECK-NOT:     train.sum
// CHECK:         train.map "x0 * x1 + x2"
func.func @train_step(%x: tensor<6x4x2x2xf32> {train.name = "x"}, %dy: tensor<6x4x2x2xf32> {train.name = "dy"}) -> tensor<6x4x2x2xf32> {
  %mean, %variance, %invstd = train.batch_norm_stats(%x) {train.tiling = #n3, epsilon = 1.0e-5 : f32, train.work = #train.work<"bn" forward>} : (tensor<6x4x2x2xf32>) -> (tensor<4x1x1xf32>, tensor<4x1x1xf32>, tensor<4x1x1xf32>)
  %y = train.map "x0 - x1"(%x, %mean) {train.tiling = #n3, train.work = #train.work<"bn" forward>} : (tensor<6x4x2x2xf32>, tensor<4x1x1xf32>) -> tensor<6x4x2x2xf32>
  %dscale, %dbias = train.batch_norm_grad_stats(%dy, %y, %mean, %invstd) {train.tiling = #n3, train.work = #train.work<"bn" backward>} : (tensor<6x4x2x2xf32>, tensor<6x4x2x2xf32>, tensor<4x1x1xf32>, tensor<4x1x1xf32>) -> (tensor<4x1x1xf32>, tensor<4x1x1xf32>)
  %dx = train.map "x0 * x1 + x2"(%dy, %dscale, %dbias) {train.tiling = #n3, train.work = #train.work<"bn" backward>} : (tensor<6x4x2x2xf32>, tensor<4x1x1xf32>, tensor<4x1x1xf32>) -> tensor<6x4x2x2xf32>
  return %dx : tensor<6x4x2x2xf32>
}
