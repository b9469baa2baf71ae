// RUN: lwcc-opt %s -train-add-loss -train-split-modes | FileCheck %s

// An output that is trained beside the main one has a loss of its own, in a layer of its own,
// ahead of that of the sum.
// The sum is trained; evaluated is the loss of the main output.

// CHECK:       train.loss = "cross entropy (added) + 0.3 of 'early'"
// CHECK-NOT:   train.auxiliary
// CHECK-LABEL: func.func @train_step
// CHECK-SAME:    %[[X:[^:]*]]: tensor<2x4xf32> {train.name = "x"}, %[[LABELS:[^ ]*]]: tensor<2xi32>
// CHECK-SAME:    -> (tensor<f32>, tensor<2xf32>)
// CHECK:         %[[EARLY:.*]] = train.map "x0 * 2.0f"
// CHECK:         %[[OWN:[^,]*]], %{{.*}} = train.cross_entropy(%[[EARLY]], %[[LABELS]]) {{.*}}#train.work<"loss.early" forward>
// CHECK:         %[[MAIN:[^,]*]], %{{.*}} = train.cross_entropy(%[[X]], %[[LABELS]]) {{.*}}#train.work<"loss" forward>
// CHECK:         %[[SHARE:.*]] = train.map "x0 * 0.3f"(%[[OWN]]) {{.*}}#train.work<"loss" forward>
// CHECK:         %[[SUM:.*]] = train.map "x0 + x1"(%[[MAIN]], %[[SHARE]]) {{.*}}#train.work<"loss" forward>
// CHECK:         %[[COUNTS:.*]] = train.accuracy(%[[X]],
// CHECK:         return %[[SUM]], %[[COUNTS]] : tensor<f32>, tensor<2xf32>
// CHECK-LABEL: func.func @evaluate
// CHECK-SAME:    -> (tensor<f32>, tensor<2xf32>, tensor<2x4xf32>)
// CHECK:         %[[MAIN:[^,]*]], %{{.*}} = train.cross_entropy({{.*}}#train.work<"loss" forward>
// CHECK:         %[[COUNTS:.*]] = train.accuracy(
// CHECK:         return %[[MAIN]], %[[COUNTS]], %{{.*}}
module attributes {train.auxiliary = [{name = "early", weight = 3.0e-1}]} {
  func.func @model(%x: tensor<2x4xf32> {train.name = "x"}, %scalars: tensor<64xui8> {train.name = "scalars", train.role = #train.role<scalars>}) -> (tensor<2x4xf32>, tensor<2x4xf32>) {
    %early = train.map "x0 * 2.0f"(%x) {train.names = ["early"], train.work = #train.work<"early" forward>} : (tensor<2x4xf32>) -> tensor<2x4xf32>
    return %x, %early : tensor<2x4xf32>, tensor<2x4xf32>
  }
}
