// RUN: lwcc-opt --train-add-loss %s | FileCheck %s
// Nodes that compute from parameters alone are noted: samples are in none of their
// dimensions.

// CHECK: module attributes {{.*}}train.nodes = ["part", "fc"], train.parameter_nodes = ["part"]
func.func @model(%x: tensor<4x2xf32> {train.name = "x"}, %scalars: tensor<64xui8> {train.name = "scalars", train.role = #train.role<scalars>}) -> tensor<4x3xf32> {
  %w = train.read @w {train.work = #train.work<"part" forward>, train.names = ["w"]} : tensor<4x3xf32>
  %part = train.slice(%w) {start = array<i64: 2, 0>, step = array<i64: 1, 1>, train.work = #train.work<"part" forward>, train.names = ["part"]} : (tensor<4x3xf32>) -> tensor<2x3xf32>
  %y = train.matmul(%x, %part) {train.work = #train.work<"fc" forward>, train.names = ["y"]} : (tensor<4x2xf32>, tensor<2x3xf32>) -> tensor<4x3xf32>
  return %y : tensor<4x3xf32>
}
train.parameter trainable @w : tensor<4x3xf32> init<constant 1.0>
