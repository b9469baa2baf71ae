// RUN: lwcc-opt %s -train-shard | FileCheck %s
// A result lies where its op runs, an argument where its first user does; the
// lane is part of the place.

#first = #train.tiling<n = 1 c = 1 h = 1 w = 1 k = 1 on [<"0.0.0">]>
#second = #train.tiling<n = 1 c = 1 h = 1 w = 1 k = 1 on [<"0.0.1">]>

// CHECK-LABEL: func.func @train_step(
// CHECK-SAME: tensor<2xf32, #train.place<"0.0.1">> {train.name = "x"}
// CHECK-SAME: tensor<2xf32, #train.place<"0.0.0">> {train.name = "unused"}
// CHECK-SAME: -> tensor<2xf32, #train.place<"0.0.0">>
func.func @train_step(%x: tensor<2xf32> {train.name = "x"}, %unused: tensor<2xf32> {train.name = "unused"}) -> tensor<2xf32> {
  // CHECK: train.constant {train.tiling = {{.*}}} dense<1.000000e+00> : tensor<2xf32, #train.place<"0.0.1">>
  %one = train.constant {train.tiling = #second} dense<1.0> : tensor<2xf32>
  // CHECK: train.map {{.*}} -> tensor<2xf32, #train.place<"0.0.1">>
  %y = train.map "x0 + x1"(%x, %one) {train.tiling = #second} : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  // CHECK: train.map {{.*}} : (tensor<2xf32, #train.place<"0.0.1">>) -> tensor<2xf32, #train.place<"0.0.0">>
  %z = train.map "x0"(%y) {train.tiling = #first} : (tensor<2xf32>) -> tensor<2xf32>
  return %z : tensor<2xf32>
}
