// RUN: lwcc-opt %s -train-to-exec | FileCheck %s
// Equal expressions over tensors of other types are other kernels.

// CHECK: exec.kernel @[[INTS:.*]](1) = "x0 * 2.0f" elements (i32) -> f32
// CHECK-NEXT: exec.kernel @[[FLOATS:.*]](1) = "x0 * 2.0f"{{$}}
// CHECK: exec.call "map" @[[INTS]] [@labels]
// CHECK: exec.call "map" @[[FLOATS]] [
module {
  func.func @train_step(%x: tensor<2x4xf32> {train.name = "images"}, %labels: tensor<2xi32> {train.name = "labels", train.role = #train.role<labels>}, %scalars: tensor<64xui8> {train.name = "scalars", train.role = #train.role<scalars>}) -> (tensor<f32>, tensor<2xf32>) {
    %a = train.map "x0 * 2.0f"(%labels) {train.work = #train.work<"a" forward>, train.names = ["a"]} : (tensor<2xi32>) -> tensor<2xf32>
    %b = train.map "x0 * 2.0f"(%a) {train.work = #train.work<"b" forward>, train.names = ["b"]} : (tensor<2xf32>) -> tensor<2xf32>
    %loss = train.reduce(%b) {axes = array<i64: 0>, train.work = #train.work<"loss" forward>, train.names = ["loss"]} : (tensor<2xf32>) -> tensor<f32>
    return %loss, %b : tensor<f32>, tensor<2xf32>
  }
  func.func @evaluate(%x: tensor<2x4xf32> {train.name = "images"}, %labels: tensor<2xi32> {train.name = "labels", train.role = #train.role<labels>}, %scalars: tensor<64xui8> {train.name = "scalars", train.role = #train.role<scalars>}) -> (tensor<f32>, tensor<2xf32>) {
    %a = train.map "x0 * 2.0f"(%labels) {train.work = #train.work<"a" forward>, train.names = ["a"]} : (tensor<2xi32>) -> tensor<2xf32>
    %loss = train.reduce(%a) {axes = array<i64: 0>, train.work = #train.work<"loss" forward>, train.names = ["loss"]} : (tensor<2xf32>) -> tensor<f32>
    return %loss, %a : tensor<f32>, tensor<2xf32>
  }
}
