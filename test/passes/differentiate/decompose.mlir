// RUN: lwcc-opt %s -train-decompose -split-input-file | FileCheck %s

// Batch normalization: statistics by a kernel, the rest by maps. The running
// variance takes the unbiased one: 0.1 * 18/17.

// CHECK-LABEL: func.func @forward
// CHECK-SAME:    %[[X:[^:]*]]: tensor<2x4x3x3xf32>, %[[S:[^:]*]]: tensor<4xf32>, %[[B:[^:]*]]: tensor<4xf32>, %[[M:[^:]*]]: tensor<4xf32>, %[[V:[^:]*]]: tensor<4xf32>
// CHECK-NOT:     train.batch_norm(
// CHECK:         %[[MEAN:.*]], %[[VARIANCE:.*]], %[[INVSTD:.*]] = train.batch_norm_stats(%[[X]]) {{.*}}train.names = ["y.mean", "y.variance", "y.invstd"]
// CHECK:         %[[Y:.*]] = train.map "(x0 - x1) * (x2 * x3) + x4"(%[[X]], {{.*}}train.names = ["y"], train.work = #train.work<"bn" forward>
// CHECK:         %[[FLATM:.*]] = train.reshape(%[[MEAN]]) {{.*}}train.names = ["y.mean.flat"]{{.*}} -> tensor<4xf32>
// CHECK:         %[[NEWM:.*]] = train.map "x0 * 0.9f + x1 * 0.1f"(%[[M]], %[[FLATM]])
// CHECK:         %[[FLATV:.*]] = train.reshape(%[[VARIANCE]])
// CHECK:         %[[NEWV:.*]] = train.map "x0 * 0.9f + x1 * 0.105882354f"(%[[V]], %[[FLATV]])
// CHECK:         return %[[Y]], %[[NEWM]], %[[NEWV]]
func.func @forward(%x: tensor<2x4x3x3xf32>, %s: tensor<4xf32>, %b: tensor<4xf32>, %m: tensor<4xf32>, %v: tensor<4xf32>) -> (tensor<2x4x3x3xf32>, tensor<4xf32>, tensor<4xf32>) {
  %n:5 = train.batch_norm(%x, %s, %b, %m, %v) {epsilon = 1.0e-3 : f32, momentum = 0.9 : f32, train.work = #train.work<"bn" forward>, train.names = ["y", "", "", "", ""]} : (tensor<2x4x3x3xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<2x4x3x3xf32>, tensor<4x1x1xf32>, tensor<4x1x1xf32>, tensor<4xf32>, tensor<4xf32>)
  return %n#0, %n#3, %n#4 : tensor<2x4x3x3xf32>, tensor<4xf32>, tensor<4xf32>
}

// -----

// The gradient, and per-channel views that forward and backward share. Statistics
// need none.

// CHECK-LABEL: func.func @gradient
// CHECK-SAME:    %[[X:[^:]*]]: tensor<2x4x3x3xf32>, %[[DY:[^:]*]]: tensor<2x4x3x3xf32>, %[[S:[^:]*]]: tensor<4xf32>
// CHECK:         train.reshape(%[[S]])
// CHECK-NOT:     train.reshape(%[[S]])
// CHECK:         %[[MEAN:.*]], %{{.*}}, %[[INVSTD:.*]] = train.batch_norm_stats
// CHECK-NOT:     train.reshape(%[[MEAN]])
// CHECK:         %[[SUMS:.*]], %[[SUMB:.*]] = train.batch_norm_grad_stats(%[[DY]], %[[X]], %[[MEAN]], %[[INVSTD]])
// CHECK:         %[[DX:.*]] = train.map "x4 * x3 * (x0 - (x6 + (x1 - x2) * x3 * x5) * 0.055555556f)"(%[[DY]], %[[X]], %[[MEAN]], %[[INVSTD]], %{{.*}}, %[[SUMS]], %[[SUMB]])
// CHECK:         %[[DS:.*]] = train.reshape(%[[SUMS]]) {{.*}} -> tensor<4xf32>
// CHECK:         %[[DB:.*]] = train.reshape(%[[SUMB]]) {{.*}} -> tensor<4xf32>
// CHECK:         return %[[DX]], %[[DS]], %[[DB]]
func.func @gradient(%x: tensor<2x4x3x3xf32>, %dy: tensor<2x4x3x3xf32>, %s: tensor<4xf32>, %b: tensor<4xf32>, %m: tensor<4xf32>, %v: tensor<4xf32>) -> (tensor<2x4x3x3xf32>, tensor<4xf32>, tensor<4xf32>) {
  %n:5 = train.batch_norm(%x, %s, %b, %m, %v) {epsilon = 1.0e-3 : f32, momentum = 0.9 : f32} : (tensor<2x4x3x3xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<2x4x3x3xf32>, tensor<4x1x1xf32>, tensor<4x1x1xf32>, tensor<4xf32>, tensor<4xf32>)
  %d:3 = train.batch_norm_grad(%dy, %x, %s, %n#1, %n#2) : (tensor<2x4x3x3xf32>, tensor<2x4x3x3xf32>, tensor<4xf32>, tensor<4x1x1xf32>, tensor<4x1x1xf32>) -> (tensor<2x4x3x3xf32>, tensor<4xf32>, tensor<4xf32>)
  return %d#0, %d#1, %d#2 : tensor<2x4x3x3xf32>, tensor<4xf32>, tensor<4xf32>
}

// -----

// Dropout multiplies with a mask that is made on the spot.

// CHECK-LABEL: func.func @dropout
// CHECK:         train.map "x0 * dropout_mask(0.25f, 4294967295u)"(%{{.*}}) scalars(%{{.*}} : tensor<64xui8>) {train.names = ["y"], train.work = #train.work<"drop" forward>
// CHECK-NOT:     train.map
func.func @dropout(%x: tensor<8xf32>, %scalars: tensor<64xui8> {train.role = #train.role<scalars>}) -> tensor<8xf32> {
  %y = train.dropout(%x, %scalars) {ratio = 0.25 : f32, stream = 4294967295 : i64, train.work = #train.work<"drop" forward>, train.names = ["y"]} : (tensor<8xf32>, tensor<64xui8>) -> tensor<8xf32>
  %z = train.dropout(%y, %scalars) {ratio = 0.0 : f32, stream = 2 : i64} : (tensor<8xf32>, tensor<64xui8>) -> tensor<8xf32>
  return %z : tensor<8xf32>
}
