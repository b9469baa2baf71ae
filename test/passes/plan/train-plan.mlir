// RUN: lwcc-opt %s -train-plan | FileCheck %s
// RUN: lwcc-opt %s --train-plan="plan=%S/Inputs/lanes.json" | FileCheck %s --check-prefix=LANES
// Forward, backward and update of a layer have one tiling; a read of a parameter
// goes with the op that uses it.

// CHECK: [[ONE:#tiling]] = #train.tiling<n = 1 c = 1 h = 1 w = 1 k = 1 on[<"0.0.0">]>
// LANES-DAG: [[FIRST:#tiling[0-9]*]] = {{.*}} on[<"0.0.0">]>
// LANES-DAG: [[SECOND:#tiling[0-9]*]] = {{.*}} on[<"0.0.1">]>
module attributes {train.model = "m.onnx", train.batch = 2 : i64} {
  train.parameter trainable @w : tensor<4x4xf32> init<constant 0.0>
  func.func @train_step(%x: tensor<2x4xf32> {train.name = "x"}) -> tensor<2x4xf32> {
    // CHECK: train.read @w {train.tiling = [[ONE]]}
    // LANES: train.read @w {train.tiling = [[SECOND]]
    %w = train.read @w : tensor<4x4xf32>
    // CHECK: train.matmul{{.*}}train.tiling = [[ONE]]
    // LANES: train.matmul{{.*}}train.tiling = [[SECOND]], train.work = #train.work<"fc" forward>
    %y = train.matmul(%x, %w) {train.work = #train.work<"fc" forward>} : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
    // LANES: train.map{{.*}}train.tiling = [[FIRST]], train.work = #train.work<"relu" forward>
    %z = train.map "max(x0, 0.0f)"(%y) {train.work = #train.work<"relu" forward>} : (tensor<2x4xf32>) -> tensor<2x4xf32>
    // LANES: train.matmul{{.*}}train.tiling = [[SECOND]], train.work = #train.work<"fc" backward>
    %d = train.matmul(%x, %z) {transpose_a = true, train.work = #train.work<"fc" backward>} : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<4x4xf32>
    // CHECK: train.write @w, %{{.*}} {{{.*}}train.tiling = [[ONE]], train.work
    train.write @w, %d {train.work = #train.work<"fc" update>} : tensor<4x4xf32>
    return %z : tensor<2x4xf32>
  }
}
