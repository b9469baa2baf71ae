// RUN: lwcc-opt %s --train-plan="strategy=owt gpus=2" | FileCheck %s
// One weird trick: a batch normalization of images goes by samples like them, though
// what it makes itself are statistics per channel; a fully connected layer goes by
// channels.

// CHECK-DAG: [[SAMPLES:#tiling[0-9]*]] = #train.tiling<n = 2 c = 1 h = 1 w = 1 k = 1
// CHECK-DAG: [[CHANNELS:#tiling[0-9]*]] = #train.tiling<n = 1 c = 2 h = 1 w = 1 k = 1
module attributes {train.model = "m.onnx", train.batch = 4 : i64} {
  train.parameter trainable @scale : tensor<6xf32> init<constant 1.0>
  train.parameter trainable @w : tensor<8x6xf32> init<constant 0.0>
  func.func @train_step(%x: tensor<4x6x3x3xf32> {train.name = "x"}, %f: tensor<4x6xf32> {train.name = "f"}) -> tensor<4x8xf32> {
    %scale = train.read @scale : tensor<6xf32>
    // CHECK: train.batch_norm_stats{{.*}}train.tiling = [[SAMPLES]]
    %mean, %variance, %invstd = train.batch_norm_stats(%x) {epsilon = 1.0e-5 : f32, train.work = #train.work<"bn" forward>} : (tensor<4x6x3x3xf32>) -> (tensor<6x1x1xf32>, tensor<6x1x1xf32>, tensor<6x1x1xf32>)
    %s = train.reshape(%scale) {train.work = #train.work<"bn" forward>} : (tensor<6xf32>) -> tensor<6x1x1xf32>
    %a = train.map "x0 * x1"(%invstd, %s) {train.work = #train.work<"bn" forward>} : (tensor<6x1x1xf32>, tensor<6x1x1xf32>) -> tensor<6x1x1xf32>
    %w = train.read @w : tensor<8x6xf32>
    // CHECK: train.matmul{{.*}}train.tiling = [[CHANNELS]]
    %y = train.matmul(%f, %w) {transpose_b = true, train.work = #train.work<"fc" forward>} : (tensor<4x6xf32>, tensor<8x6xf32>) -> tensor<4x8xf32>
    return %y : tensor<4x8xf32>
  }
}
