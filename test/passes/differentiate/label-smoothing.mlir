// RUN: lwcc-opt %s -train-add-loss="label-smoothing=0.2" -split-input-file 2>&1 | FileCheck %s

// The part of the label stays as it was; any other class has the same share of the rest.

// CHECK:       train.loss = "cross entropy (added), labels smoothed by 0.2"
// CHECK-LABEL: func.func @model
// CHECK-SAME:    %[[X:.*]]: tensor<2x10xf32> {train.name = "x"}, %[[LABELS:[^ ]*]]: tensor<2xi32>
// CHECK:         %[[LOSS:.*]], %{{.*}} = train.cross_entropy(%[[X]], %[[LABELS]])
// CHECK:         %[[LOG:.*]] = train.softmax(%[[X]]) {axis = 1 : i64, log = true
// CHECK:         %[[HOT:.*]] = train.one_hot(%[[LABELS]])
// CHECK:         %[[COUNTS:.*]] = train.reduce(%[[HOT]]) {{.*}} -> tensor<2x1xf32>
// CHECK:         %[[EACH:.*]] = train.map "x0 * x1"(%[[LOG]], %[[COUNTS]])
// CHECK:         %[[SUM:.*]] = train.reduce(%[[EACH]]) {{.*}} -> tensor<f32>
// CHECK:         %[[WEIGHT:.*]] = train.loss_weight(%[[LABELS]])
// CHECK:         %[[MEAN:.*]] = train.map "x0 / x1"(%[[SUM]], %[[WEIGHT]])
// CHECK:         %[[OWN:.*]] = train.map "x0 * 0.8f"(%[[LOSS]])
// CHECK:         %[[ANY:.*]] = train.map "x0 * 0.02f"(%[[MEAN]])
// CHECK:         %[[SMOOTH:.*]] = train.map "x0 - x1"(%[[OWN]], %[[ANY]])
// CHECK:         return %[[SMOOTH]]
func.func @model(%x: tensor<2x10xf32> {train.name = "x"}, %scalars: tensor<64xui8> {train.name = "scalars", train.role = #train.role<scalars>}) -> tensor<2x10xf32> {
  return %x : tensor<2x10xf32>
}

// -----

// A loss of the file that is a weighted sum stays that.

// CHECK-LABEL: func.func @model
// CHECK:         %[[LOSS:.*]] = train.nll_loss(%[[LOG:[^ ,]*]],
// CHECK-NOT:     train.softmax
// CHECK:         train.one_hot(%{{.*}}) {ignore_index = 3 : i64
// CHECK:         train.map "x0 * x1"(%[[LOG]],
// CHECK-NOT:     train.loss_weight
// CHECK:         return
func.func @model(%x: tensor<2x5xf32> {train.name = "x"}, %labels: tensor<2xi32> {train.name = "labels", train.role = #train.role<labels>}, %w: tensor<5xf32>, %scalars: tensor<64xui8> {train.name = "scalars", train.role = #train.role<scalars>}) -> (tensor<f32>, tensor<2x5xf32>) {
  %loss = train.nll_loss(%x, %labels, %w) {ignore_index = 3 : i64, sum = true, train.work = #train.work<"nll" forward>} : (tensor<2x5xf32>, tensor<2xi32>, tensor<5xf32>) -> tensor<f32>
  return %loss, %x : tensor<f32>, tensor<2x5xf32>
}
