// RUN: lwcc-opt %s --train-shard | FileCheck %s
// Attention is cut along samples and heads: a part of the features is some heads, and each tile
// reads all tokens of its samples and the whole mask.

#both = #train.tiling<n = 2 c = 2 h = 1 w = 1 k = 1 on [<"0.0.0">, <"0.1.0">, <"0.0.0">, <"0.1.0">]>
module {
  // CHECK-LABEL: @train_step
  func.func @train_step(%q: tensor<4x3x12xf32> {train.name = "q"}, %v: tensor<4x3x24xf32> {train.name = "v"}, %mask: tensor<3x3xf32> {train.name = "mask"}) -> (tensor<4x3x24xf32>, tensor<4x3x12xf32>) {
    // CHECK-COUNT-4: train.attention({{.*}}) {heads = 3 : i64, {{.*}} : (tensor<2x3x6xf32, {{.*}}, tensor<2x3x6xf32, {{.*}}, tensor<2x3x12xf32, {{.*}}, tensor<3x3xf32, {{.*}} -> (tensor<2x3x12xf32, {{.*}}, tensor<2x3x3xf32, {{.*}}, tensor<2x3x3xf32
    %y:3 = train.attention(%q, %q, %v, %mask) {heads = 6 : i64, scale = 0.5 : f32, train.work = #train.work<"a" forward>, train.tiling = #both} : (tensor<4x3x12xf32>, tensor<4x3x12xf32>, tensor<4x3x24xf32>, tensor<3x3xf32>) -> (tensor<4x3x24xf32>, tensor<4x6x3xf32>, tensor<4x6x3xf32>)
    // CHECK-COUNT-4: train.attention_grad({{.*}}) {heads = 3 : i64, {{.*}} : (tensor<2x3x12xf32, {{.*}}, tensor<2x3x6xf32, {{.*}}, tensor<2x3x6xf32, {{.*}}, tensor<2x3x12xf32, {{.*}}, tensor<2x3x3xf32, {{.*}}, tensor<2x3x3xf32, {{.*}}, tensor<3x3xf32, {{.*}} -> (tensor<2x3x6xf32, {{.*}}, tensor<2x3x6xf32, {{.*}}, tensor<2x3x12xf32
    %d:3 = train.attention_grad(%v, %q, %q, %v, %y#1, %y#2, %mask) {heads = 6 : i64, scale = 0.5 : f32, train.work = #train.work<"a" backward>, train.tiling = #both} : (tensor<4x3x24xf32>, tensor<4x3x12xf32>, tensor<4x3x12xf32>, tensor<4x3x24xf32>, tensor<4x6x3xf32>, tensor<4x6x3xf32>, tensor<3x3xf32>) -> (tensor<4x3x12xf32>, tensor<4x3x12xf32>, tensor<4x3x24xf32>)
    return %y#0, %d#0 : tensor<4x3x24xf32>, tensor<4x3x12xf32>
  }
}
