// RUN: lwcc-opt %s -train-to-exec | FileCheck %s
// Names are unique and say what things are; equal expressions are one kernel.

module {
  // A tensor's name gives way to nothing that was named before it.
  // CHECK: exec.program @program
  // CHECK: exec.buffer input @relu :
  // CHECK: exec.buffer activation @relu_2 of "relu" :
  // CHECK: exec.buffer activation @relu_4 of "relu" :
  // Without a name: its layer's.
  // CHECK: exec.buffer activation @layer7 :
  // CHECK: exec.buffer gradient @d_layer7 :
  // CHECK: exec.kernel @relu_3(1) = "max(x0, 0.0f)"
  // CHECK-NEXT: exec.kernel @add_relu(2) = "max(x0 + x1, 0.0f)"
  // CHECK-NEXT: exec.kernel @add_relu_dropout(2) = "max(x0 + x1, 0.0f) * dropout_mask(0.5f, 3u)"
  // CHECK-NEXT: exec.kernel @relu_grad(2) = "x0 <= 0.0f ? 0.0f : x1"
  // CHECK-NOT: exec.kernel
  func.func @train_step(%x: tensor<8xf32> {train.name = "relu"}, %labels: tensor<2xi32> {train.name = "labels", train.role = #train.role<labels>}, %scalars: tensor<64xui8> {train.name = "scalars", train.role = #train.role<scalars>}) -> (tensor<f32>, tensor<2xi32>) {
    // CHECK: exec.call "map" @relu_3 [@relu] -> [@relu_2]
    %a = train.map "max(x0, 0.0f)"(%x) {fn = "relu", train.names = ["relu"]} : (tensor<8xf32>) -> tensor<8xf32>
    // CHECK-NEXT: exec.call "map" @add_relu [@relu, @relu_2] -> [@relu_4]
    %b = train.map "max(x0 + x1, 0.0f)"(%x, %a) {train.names = ["relu"]} : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
    // The scalars stand behind the inputs.
    // CHECK-NEXT: exec.call "map" @add_relu_dropout [@relu, @relu_2, @scalars] -> [@layer7]
    %c = train.map "max(x0 + x1, 0.0f) * dropout_mask(0.5f, 3u)"(%x, %a) scalars(%scalars : tensor<64xui8>) {train.work = #train.work<"layer7" forward>} : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
    // CHECK-NEXT: exec.call "map" @relu_grad [@relu_4, @layer7] -> [@d_layer7]
    %d = train.map "x0 <= 0.0f ? 0.0f : x1"(%b, %c) {train.work = #train.work<"layer7" backward>} : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
    // CHECK-NEXT: exec.call "map" @relu_3 [@d_layer7]
    %e = train.map "max(x0, 0.0f)"(%d) {fn = "relu", train.names = ["e"]} : (tensor<8xf32>) -> tensor<8xf32>
    %sum = train.reduce(%e) {axes = array<i64: 0>, mean = false, train.names = ["loss"]} : (tensor<8xf32>) -> tensor<f32>
    %f = train.map "x0 + x1"(%a, %b) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
    return %sum, %labels : tensor<f32>, tensor<2xi32>
  }
  func.func @evaluate(%x: tensor<8xf32> {train.name = "relu"}, %labels: tensor<2xi32> {train.name = "labels", train.role = #train.role<labels>}, %scalars: tensor<64xui8> {train.name = "scalars", train.role = #train.role<scalars>}) -> (tensor<f32>, tensor<2xi32>) {
    %sum = train.reduce(%x) {axes = array<i64: 0>, mean = false} : (tensor<8xf32>) -> tensor<f32>
    return %sum, %labels : tensor<f32>, tensor<2xi32>
  }
}
