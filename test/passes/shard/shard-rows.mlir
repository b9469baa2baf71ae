// RUN: lwcc-opt %s --train-shard | FileCheck %s
// Rows are cut, with their statistics; what is normalized is not.

#samples = #train.tiling<n = 2 c = 1 h = 1 w = 1 k = 1 on [<"0.0.0">, <"0.1.0">]>
#image = #train.tiling<n = 1 c = 2 h = 2 w = 1 k = 1 on [<"0.0.0">, <"0.1.0">, <"0.0.0">, <"0.1.0">]>
#features = #train.tiling<n = 1 c = 2 h = 1 w = 1 k = 1 on [<"0.0.0">, <"0.1.0">]>
module {
  // CHECK-LABEL: @train_step
  func.func @train_step(%x: tensor<4x5x6xf32> {train.name = "x"}, %i: tensor<1x4x2x6xf32> {train.name = "i"}, %f: tensor<4x6xf32> {train.name = "f"}) -> (tensor<4x5x6xf32>, tensor<1x4x2x6xf32>, tensor<4x6xf32>) {
    // CHECK-COUNT-2: train.layer_norm({{.*}}(tensor<2x5x6xf32, {{.*}} -> (tensor<2x5x6xf32, {{.*}}, tensor<2x5x1xf32
    %y:2 = train.layer_norm(%x) {epsilon = 1.0e-5 : f32, train.work = #train.work<"e" forward>, train.tiling = #samples} : (tensor<4x5x6xf32>) -> (tensor<4x5x6xf32>, tensor<4x5x1xf32>)
    // CHECK-COUNT-2: train.layer_norm_grad({{.*}}(tensor<2x5x6xf32, {{.*}}, tensor<2x5x6xf32, {{.*}}, tensor<2x5x1xf32, {{.*}} -> tensor<2x5x6xf32
    %d = train.layer_norm_grad(%x, %y#0, %y#1) {train.work = #train.work<"e" backward>, train.tiling = #samples} : (tensor<4x5x6xf32>, tensor<4x5x6xf32>, tensor<4x5x1xf32>) -> tensor<4x5x6xf32>
    // CHECK-COUNT-4: train.layer_norm({{.*}}(tensor<1x2x1x6xf32, {{.*}} -> (tensor<1x2x1x6xf32, {{.*}}, tensor<1x2x1x1xf32
    %z:2 = train.layer_norm(%i) {epsilon = 1.0e-5 : f32, train.work = #train.work<"g" forward>, train.tiling = #image} : (tensor<1x4x2x6xf32>) -> (tensor<1x4x2x6xf32>, tensor<1x4x2x1xf32>)
    // CHECK: train.layer_norm({{.*}}(tensor<4x6xf32, {{.*}} -> (tensor<4x6xf32, {{.*}}, tensor<4x1xf32
    // CHECK-NOT: train.layer_norm
    %w:2 = train.layer_norm(%f) {epsilon = 1.0e-5 : f32, train.work = #train.work<"h" forward>, train.tiling = #features} : (tensor<4x6xf32>) -> (tensor<4x6xf32>, tensor<4x1xf32>)
    return %d, %z#0, %w#0 : tensor<4x5x6xf32>, tensor<1x4x2x6xf32>, tensor<4x6xf32>
  }
}
