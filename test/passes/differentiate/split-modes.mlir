// RUN: lwcc-opt %s -train-split-modes -split-input-file | FileCheck %s

// Batch normalization and dropout in the two modes.

// CHECK-LABEL: func.func @train_step
// CHECK:         %{{.*}}, %{{.*}}, %{{.*}}, %[[MEAN:.*]], %[[VARIANCE:.*]] = train.batch_norm
// CHECK-DAG:     train.write @mean, %[[MEAN]] {{.*}}train.work = #train.work<{{.*}}forward>
// CHECK-DAG:     train.write @variance, %[[VARIANCE]]
// CHECK:         train.dropout

// CHECK-LABEL: func.func @evaluate
// CHECK-SAME:    %[[X:[^:]*]]: tensor<2x4x3x3xf32> {train.name = "x"}
// CHECK-DAG:     %[[V:.*]] = train.read @variance
// CHECK-DAG:     %[[M:.*]] = train.read @mean
// CHECK-DAG:     %[[INVSTD:.*]] = train.map "1.0f / sqrt(x0 + 0.001f)"(%[[V]]) {{.*}}train.names = ["y.invstd"]
// CHECK-DAG:     %[[S:.*]] = train.read @scale
// CHECK-DAG:     %[[FACTOR:.*]] = train.map "x0 * x1"(%[[INVSTD]], %[[S]]) {{.*}}train.names = ["y.factor"]
// CHECK-DAG:     %[[M4:.*]] = train.reshape(%[[M]]) {{.*}} -> tensor<4x1x1xf32>
// CHECK-DAG:     %[[F4:.*]] = train.reshape(%[[FACTOR]]) {{.*}} -> tensor<4x1x1xf32>
// CHECK:         %[[Y:.*]] = train.map "(x0 - x1) * x2 + x3"(%[[X]], %[[M4]], %[[F4]], {{.*}}train.names = ["y"]
// CHECK-NOT:     train.write
// CHECK-NOT:     train.dropout
// CHECK:         return %[[Y]]
train.parameter trainable @scale : tensor<4xf32> init<constant 1.0>
train.parameter trainable @bias : tensor<4xf32> init<constant 0.0>
train.parameter statistic @mean : tensor<4xf32> init<constant 0.0>
train.parameter statistic @variance : tensor<4xf32> init<constant 1.0>
func.func @model(%x: tensor<2x4x3x3xf32> {train.name = "x"}, %scalars: tensor<64xui8> {train.name = "scalars", train.role = #train.role<scalars>}) -> tensor<2x4x3x3xf32> {
  %s = train.read @scale : tensor<4xf32>
  %b = train.read @bias : tensor<4xf32>
  %m = train.read @mean : tensor<4xf32>
  %v = train.read @variance : tensor<4xf32>
  %n:5 = train.batch_norm(%x, %s, %b, %m, %v) {epsilon = 1.0e-3 : f32, momentum = 0.9 : f32, train.work = #train.work<"bn" forward>, train.names = ["y", "", "", "", ""]} : (tensor<2x4x3x3xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<2x4x3x3xf32>, tensor<4x1x1xf32>, tensor<4x1x1xf32>, tensor<4xf32>, tensor<4xf32>)
  %d = train.dropout(%n#0, %scalars) {ratio = 0.5 : f32, stream = 1 : i64, train.work = #train.work<"drop" forward>} : (tensor<2x4x3x3xf32>, tensor<64xui8>) -> tensor<2x4x3x3xf32>
  return %d : tensor<2x4x3x3xf32>
}

// -----

// A layer that is applied twice updates its statistics twice, and writes them
// once.

// CHECK-LABEL: func.func @train_step
// CHECK:         %[[M:.*]] = train.read @mean
// CHECK:         {{.*}}, %[[MEAN1:.*]], %[[VARIANCE1:.*]] = train.batch_norm(%{{[^,]*}}, %{{[^,]*}}, %{{[^,]*}}, %[[M]],
// CHECK-NOT:     train.write
// CHECK:         {{.*}}, %[[MEAN2:.*]], %[[VARIANCE2:.*]] = train.batch_norm(%{{[^,]*}}, %{{[^,]*}}, %{{[^,]*}}, %[[MEAN1]], %[[VARIANCE1]])
// CHECK-DAG:     train.write @mean, %[[MEAN2]]
// CHECK-DAG:     train.write @variance, %[[VARIANCE2]]
// CHECK-NOT:     train.write
// CHECK-LABEL: func.func @evaluate
train.parameter trainable @scale : tensor<4xf32> init<constant 1.0>
train.parameter trainable @bias : tensor<4xf32> init<constant 0.0>
train.parameter statistic @mean : tensor<4xf32> init<constant 0.0>
train.parameter statistic @variance : tensor<4xf32> init<constant 1.0>
func.func @model(%x: tensor<2x4xf32> {train.name = "x"}, %scalars: tensor<64xui8> {train.name = "scalars", train.role = #train.role<scalars>}) -> tensor<2x4xf32> {
  %s = train.read @scale : tensor<4xf32>
  %b = train.read @bias : tensor<4xf32>
  %m = train.read @mean : tensor<4xf32>
  %v = train.read @variance : tensor<4xf32>
  %n:5 = train.batch_norm(%x, %s, %b, %m, %v) {epsilon = 1.0e-3 : f32, momentum = 0.9 : f32} : (tensor<2x4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<2x4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>)
  %o:5 = train.batch_norm(%n#0, %s, %b, %m, %v) {epsilon = 1.0e-3 : f32, momentum = 0.9 : f32} : (tensor<2x4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<2x4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>)
  return %o#0 : tensor<2x4xf32>
}

// -----

// @evaluate also returns the scores by which right answers are counted.

// CHECK-LABEL: func.func @train_step
// CHECK-SAME:    -> (tensor<f32>, tensor<2xf32>)
// CHECK:         return %{{.*}}, %{{.*}} : tensor<f32>, tensor<2xf32>
// CHECK-LABEL: func.func @evaluate
// CHECK-SAME:    -> (tensor<f32>, tensor<2xf32>, tensor<2x4xf32>)
// CHECK:         %[[SCORES:.*]] = train.map
// CHECK:         return %{{.*}}, %{{.*}}, %[[SCORES]] : tensor<f32>, tensor<2xf32>, tensor<2x4xf32>
func.func @model(%x: tensor<2x4xf32> {train.name = "x"}, %labels: tensor<2xi32> {train.name = "labels", train.role = #train.role<labels>}, %scalars: tensor<64xui8> {train.name = "scalars", train.role = #train.role<scalars>}) -> (tensor<f32>, tensor<2xf32>) {
  %y = train.map "x0 * 2.0f"(%x) : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %loss, %probs = train.cross_entropy(%y, %labels) : (tensor<2x4xf32>, tensor<2xi32>) -> (tensor<f32>, tensor<2x4xf32>)
  %counts = train.accuracy(%y, %labels) : (tensor<2x4xf32>, tensor<2xi32>) -> tensor<2xf32>
  return %loss, %counts : tensor<f32>, tensor<2xf32>
}

// -----

// A buffer that a step changes is written by it, which computes with the new
// value. @evaluate has what the last step left, also where the old value is read
// behind the new one.

// CHECK-LABEL: func.func @train_step
// CHECK:         %[[NEXT:.*]] = train.map "x0"
// CHECK:         train.map "x0 * x1"(%{{.*}}, %[[NEXT]])
// CHECK:         train.write @buffer, %[[NEXT]]
// CHECK-LABEL: func.func @evaluate
// CHECK:         %[[KEPT:.*]] = train.read @buffer
// CHECK:         train.map "x0 * x1"(%{{.*}}, %[[KEPT]])
// CHECK-NOT:     train.write
train.parameter statistic @buffer : tensor<4xf32> init<constant 1.0>
func.func @model(%x: tensor<2x4xf32> {train.name = "x"}, %scalars: tensor<64xui8> {train.name = "scalars", train.role = #train.role<scalars>}) -> tensor<2x4xf32> {
  %m = train.reduce(%x) {axes = array<i64: 0>, mean = true, train.names = ["m"], train.work = #train.work<"m" forward>} : (tensor<2x4xf32>) -> tensor<4xf32>
  %next = train.map "x0"(%m) {fn = "detach", params = {}, train.names = ["next"], train.work = #train.work<"m" forward>} : (tensor<4xf32>) -> tensor<4xf32>
  %s = train.map "x0 * x1"(%x, %next) {fn = "mul", params = {}, train.names = ["s"], train.work = #train.work<"s" forward>} : (tensor<2x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
  %b = train.read @buffer : tensor<4xf32>
  %t = train.map "x0 + x1"(%s, %b) {fn = "add", params = {}, train.names = ["t"], train.work = #train.work<"t" forward>} : (tensor<2x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
  train.write @buffer, %next {train.work = #train.work<"m" forward>} : tensor<4xf32>
  return %t : tensor<2x4xf32>
}
