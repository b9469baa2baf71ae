// RUN: lwcc-opt %s -train-split-modes=group=2 -train-decompose | FileCheck %s

// Groups of two samples: statistics have a row for each group, which the map
// reads once per sample. The running ones take the mean over the groups: a third
// of 0.1 for the sum of three, and of 0.1 * 8/7 for variances.

// CHECK-LABEL: func.func @train_step
// CHECK-SAME:    %[[X:[^:]*]]: tensor<6x3x2x2xf32>
// CHECK:         %[[MEAN:.*]], %[[VARIANCE:.*]], %[[INVSTD:.*]] = train.batch_norm_stats(%[[X]]) {{.*}}group = 2 : i64{{.*}} -> (tensor<3x3x1x1xf32>, tensor<3x3x1x1xf32>, tensor<3x3x1x1xf32>)
// CHECK-DAG:     %[[M4:.*]] = train.repeat(%[[MEAN]]) {group = 2 : i64{{.*}} : (tensor<3x3x1x1xf32>) -> tensor<6x3x1x1xf32>
// CHECK:         train.map "(x0 - x1) * (x2 * x3) + x4"(%[[X]], %[[M4]],
// CHECK:         %[[MEANS:.*]] = train.reduce(%[[MEAN]]) {axes = array<i64: 0, 2, 3>{{.*}} : (tensor<3x3x1x1xf32>) -> tensor<3xf32>
// CHECK:         train.map "x0 * 0.9f + x1 * 0.033333335f"(%{{.*}}, %[[MEANS]])
// CHECK:         %[[VARIANCES:.*]] = train.reduce(%[[VARIANCE]])
// CHECK:         train.map "x0 * 0.9f + x1 * 0.03809524f"(%{{.*}}, %[[VARIANCES]])

// Evaluation knows no groups.

// CHECK-LABEL: func.func @evaluate
// CHECK-NOT:     group
// CHECK-NOT:     train.repeat
train.parameter trainable @c : tensor<3xf32> init<constant 0.0>
train.parameter statistic @mean : tensor<3xf32> init<constant 0.0>
train.parameter statistic @variance : tensor<3xf32> init<constant 1.0>
func.func @model(%x: tensor<6x3x2x2xf32>) -> tensor<6x3x2x2xf32> {
  %c = train.read @c : tensor<3xf32>
  %m = train.read @mean : tensor<3xf32>
  %v = train.read @variance : tensor<3xf32>
  %n:5 = train.batch_norm(%x, %c, %c, %m, %v) {epsilon = 1.0e-3 : f32, momentum = 0.9 : f32, train.work = #train.work<"bn" forward>} : (tensor<6x3x2x2xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> (tensor<6x3x2x2xf32>, tensor<3x1x1xf32>, tensor<3x1x1xf32>, tensor<3xf32>, tensor<3xf32>)
  return %n#0 : tensor<6x3x2x2xf32>
}
