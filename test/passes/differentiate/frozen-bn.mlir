// RUN: lwcc-opt %s -train-split-modes="frozen=true" | FileCheck %s

// Training, too, uses the running statistics, and writes none.

// CHECK-LABEL: func.func @train_step
// CHECK-NOT:     train.batch_norm
// CHECK:         train.map "(x0 - x1) * (x2 * x3) + x4"
// CHECK-NOT:     train.write
// CHECK-LABEL: func.func @evaluate
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
  return %n#0 : tensor<2x4x3x3xf32>
}
