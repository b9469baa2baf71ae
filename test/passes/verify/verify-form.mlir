// RUN: lwcc-opt %s --lwcc-verify-form=form=imported \
// RUN:   -train-add-loss -train-split-modes -train-autodiff -train-decompose -train-fuse \
// RUN:   --lwcc-verify-form=form=differentiated \
// RUN:   -train-plan --lwcc-verify-form=form=planned \
// RUN:   -train-shard --lwcc-verify-form=form=sharded \
// RUN:   -train-schedule --lwcc-verify-form=form=scheduled \
// RUN:   -train-to-exec -exec-plan-memory -exec-verify-schedule --lwcc-verify-form=form=exec \
// RUN:   | FileCheck %s
// One model on its whole way.

// CHECK: exec.program @tiny
module attributes {train.model = "tiny.onnx", train.batch = 2 : i64} {
  train.parameter trainable @w : tensor<3x4xf32> init<uniform -0.5, 0.5>
  func.func @model(%x: tensor<2x4xf32> {train.name = "images"}, %scalars: tensor<64xui8> {train.name = "scalars", train.role = #train.role<scalars>}) -> tensor<2x3xf32> {
    %w = train.read @w {train.work = #train.work<"fc" forward>, train.names = ["w"]} : tensor<3x4xf32>
    %d = train.dropout(%x, %scalars) {ratio = 0.5 : f32, stream = 7 : i64, train.work = #train.work<"drop" forward>, train.names = ["d"]} : (tensor<2x4xf32>, tensor<64xui8>) -> tensor<2x4xf32>
    %y = train.matmul(%d, %w) {transpose_b = true, train.work = #train.work<"fc" forward>, train.names = ["y"]} : (tensor<2x4xf32>, tensor<3x4xf32>) -> tensor<2x3xf32>
    return %y : tensor<2x3xf32>
  }
}
