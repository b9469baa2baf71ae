// RUN: lwcc-opt %s -train-add-loss="soft-labels=true label-smoothing=0.2" -train-split-modes | FileCheck %s

// The step learns the shares of the classes; the mean is over the samples that have a label.
// Evaluation has the loss of the labels.

// CHECK:       train.loss = "cross entropy (added), of soft labels, labels smoothed by 0.2"
// CHECK-LABEL: func.func @train_step
// CHECK-SAME:    %[[X:[^:]*]]: tensor<2x4xf32> {train.name = "x"}
// CHECK-SAME:    %[[LABELS:[^ ]*]]: tensor<2xi32> {train.name = "labels", train.role = #train.role<labels>}
// CHECK-SAME:    %[[SHARES:[^ ]*]]: tensor<2x4xf32> {train.name = "labels.shares", train.role = #train.role<shares>}
// CHECK:         train.map "x0 - x1"
// CHECK:         %[[LOG:.*]] = train.softmax(%[[X]]) {axis = 1 : i64, log = true, train.names = ["logprobs"]
// CHECK:         %[[EACH:.*]] = train.map "x1 == x1 ? -x0 * (0.8f * x1 + 0.05f) : 0.0f"(%[[LOG]], %[[SHARES]])
// CHECK:         %[[SUM:.*]] = train.reduce(%[[EACH]])
// CHECK:         %[[COUNT:.*]] = train.loss_weight(%[[LABELS]])
// CHECK:         %[[LOSS:.*]] = train.map "x0 / x1"(%[[SUM]], %[[COUNT]])
// CHECK:         %[[COUNTS:.*]] = train.accuracy(%[[X]], %[[LABELS]])
// CHECK:         return %[[LOSS]], %[[COUNTS]] : tensor<f32>, tensor<2xf32>
// CHECK-LABEL: func.func @evaluate
// CHECK:         %[[OWN:.*]] = train.map "x0 * 0.8f"
// CHECK:         %[[ANY:.*]] = train.map "x0 * 0.05f"
// CHECK:         %[[SMOOTH:.*]] = train.map "x0 - x1"(%[[OWN]], %[[ANY]])
// CHECK:         return %[[SMOOTH]],
func.func @model(%x: tensor<2x4xf32> {train.name = "x"}, %scalars: tensor<64xui8> {train.name = "scalars", train.role = #train.role<scalars>}) -> tensor<2x4xf32> {
  return %x : tensor<2x4xf32>
}
