// RUN: lwcc-opt %s -train-add-loss -split-input-file | FileCheck %s

// Without a loss in the file, labels stand before the scalars.

// CHECK: module attributes {train.classes = 10 : i64, train.loss = "cross entropy (added)", train.nodes = []}
// CHECK-LABEL: func.func @model
// CHECK-SAME:    %[[X:.*]]: tensor<2x10xf32> {train.name = "x"},
// CHECK-SAME:    %[[LABELS:.*]]: tensor<2xi32> {train.name = "labels", train.role = #train.role<labels>},
// CHECK-SAME:    tensor<64xui8> {train.name = "scalars", train.role = #train.role<scalars>}) -> (tensor<f32>, tensor<2xf32>)
// CHECK:         %[[LOSS:.*]], %{{.*}} = train.cross_entropy(%[[X]], %[[LABELS]]) {{{.*}}train.work = #train.work<"loss" forward>
// CHECK:         %[[COUNTS:.*]] = train.accuracy(%[[X]], %[[LABELS]])
// CHECK:         return %[[LOSS]], %[[COUNTS]]
func.func @model(%x: tensor<2x10xf32> {train.name = "x"}, %scalars: tensor<64xui8> {train.name = "scalars", train.role = #train.role<scalars>}) -> tensor<2x10xf32> {
  return %x : tensor<2x10xf32>
}

// -----

// A softmax at the end is part of the loss, whatever it is called on.

// CHECK-LABEL: func.func @model
// CHECK-SAME:    %[[X:.*]]: tensor<2x10xf32>
// CHECK:         train.cross_entropy(%[[X]]
// CHECK:         train.accuracy(%[[X]]
func.func @model(%x: tensor<2x10xf32> {train.name = "x"}, %scalars: tensor<64xui8> {train.name = "scalars", train.role = #train.role<scalars>}) -> tensor<2x10xf32> {
  %y = train.softmax(%x) {axis = 1 : i64, log = true} : (tensor<2x10xf32>) -> tensor<2x10xf32>
  return %y : tensor<2x10xf32>
}

// -----

// The last convolution of a fully convolutional classifier.

// CHECK-LABEL: func.func @model
// CHECK:         %[[FLAT:.*]] = train.reshape(%{{.*}}) {{.*}} -> tensor<2x10xf32>
// CHECK:         train.cross_entropy(%[[FLAT]]
func.func @model(%x: tensor<2x10x1x1xf32> {train.name = "x"}, %scalars: tensor<64xui8> {train.name = "scalars", train.role = #train.role<scalars>}) -> tensor<2x10x1x1xf32> {
  return %x : tensor<2x10x1x1xf32>
}

// -----

// The loss of the file stays.

// CHECK-LABEL: func.func @model
// CHECK-SAME:    %[[X:.*]]: tensor<2x10xf32> {{.*}}, %[[LABELS:.*]]: tensor<2xi32>
// CHECK:         %[[LOSS:.*]] = train.nll_loss
// CHECK-NOT:     train.cross_entropy
// CHECK:         %[[COUNTS:.*]] = train.accuracy(%[[X]], %[[LABELS]])
// CHECK:         return %[[LOSS]], %[[COUNTS]]
func.func @model(%x: tensor<2x10xf32> {train.name = "x"}, %labels: tensor<2xi32> {train.name = "target", train.role = #train.role<labels>}, %scalars: tensor<64xui8> {train.name = "scalars", train.role = #train.role<scalars>}) -> (tensor<f32>, tensor<2x10xf32>) {
  %loss = train.nll_loss(%x, %labels) : (tensor<2x10xf32>, tensor<2xi32>) -> tensor<f32>
  return %loss, %x : tensor<f32>, tensor<2x10xf32>
}

// -----

// A class for each pixel: the labels are a map.

// CHECK-LABEL: func.func @model
// CHECK-SAME:    %[[X:.*]]: tensor<2x10x4x5xf32> {train.name = "x"},
// CHECK-SAME:    %[[LABELS:.*]]: tensor<2x4x5xi32> {train.name = "labels"
// CHECK:         train.cross_entropy(%[[X]], %[[LABELS]])
// CHECK:         train.accuracy(%[[X]], %[[LABELS]])
func.func @model(%x: tensor<2x10x4x5xf32> {train.name = "x"}, %scalars: tensor<64xui8> {train.name = "scalars", train.role = #train.role<scalars>}) -> tensor<2x10x4x5xf32> {
  return %x : tensor<2x10x4x5xf32>
}

// -----

// A class for each of seven positions, whose scores stand last, with a softmax of them.

// CHECK-LABEL: func.func @model
// CHECK-SAME:    %[[X:.*]]: tensor<2x7x10xf32> {train.name = "x"},
// CHECK-SAME:    %[[LABELS:.*]]: tensor<2x7xi32> {train.name = "labels"
// CHECK:         %[[SCORES:.*]] = train.transpose(%[[X]]) {perm = array<i64: 0, 2, 1>, {{.*}} -> tensor<2x10x7xf32>
// CHECK:         train.cross_entropy(%[[SCORES]], %[[LABELS]])
func.func @model(%x: tensor<2x7x10xf32> {train.name = "x"}, %scalars: tensor<64xui8> {train.name = "scalars", train.role = #train.role<scalars>}) -> tensor<2x7x10xf32> {
  %y = train.softmax(%x) {axis = 2 : i64, log = false} : (tensor<2x7x10xf32>) -> tensor<2x7x10xf32>
  return %y : tensor<2x7x10xf32>
}

// -----

// A loss of numbers: its mean over the targets that are given, and what is counted
// beside it. An image of the input's own size has one by itself.

// CHECK:       module attributes {train.loss = "mean squared error (added)", train.loss_name = "mse", train.nodes = []}
// CHECK-LABEL: func.func @model
// CHECK-SAME:    %[[TARGETS:[^ ]*]]: tensor<2x3x4x4xf32> {train.name = "labels", train.role = #train.role<labels>}
// CHECK:         %[[Y:.*]] = train.map "x0 * 2.0f"
// CHECK:         %[[EACH:.*]] = train.map {{.*}}(%[[Y]], %[[TARGETS]]) {fn = "squared_error"
// CHECK:         %[[GIVEN:.*]] = train.map "x0 == x0 ? 1.0f : 0.0f"(%[[TARGETS]])
// CHECK:         %[[SUM:.*]] = train.reduce(%[[EACH]])
// CHECK:         %[[COUNT:.*]] = train.reduce(%[[GIVEN]])
// CHECK:         %[[LOSS:.*]] = train.map "x0 / x1"(%[[SUM]], %[[COUNT]])
// CHECK:         %[[COUNTS:.*]] = train.concat
// CHECK:         return %[[LOSS]], %[[COUNTS]] : tensor<f32>, tensor<2xf32>
func.func @model(%x: tensor<2x3x4x4xf32> {train.name = "x"}, %scalars: tensor<64xui8> {train.name = "scalars", train.role = #train.role<scalars>}) -> tensor<2x3x4x4xf32> {
  %y = train.map "x0 * 2.0f"(%x) : (tensor<2x3x4x4xf32>) -> tensor<2x3x4x4xf32>
  return %y : tensor<2x3x4x4xf32>
}

// -----

// Binary cross entropy is of logits: a sigmoid at the end is left out, also in front
// of a reshape.

// CHECK:       train.loss_name = "bce"
// CHECK-LABEL: func.func @model
// CHECK-SAME:    %[[X:[^ ]*]]: tensor<2x3xf32>
// CHECK:         %[[FLAT:.*]] = train.reshape(%[[X]])
// CHECK:         train.map {{.*}}(%[[FLAT]], %{{.*}}) {fn = "binary_cross_entropy"
func.func @model(%x: tensor<2x3xf32> {train.name = "x"}, %scalars: tensor<64xui8> {train.name = "scalars", train.role = #train.role<scalars>}) -> tensor<2x3x1xf32> {
  %y = train.map "sigmoid(x0)"(%x) {fn = "sigmoid", params = {}} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %z = train.reshape(%y) : (tensor<2x3xf32>) -> tensor<2x3x1xf32>
  return %z : tensor<2x3x1xf32>
}
