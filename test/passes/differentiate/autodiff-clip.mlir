// RUN: lwcc-opt %s -train-autodiff=clip-norm=2.5 | FileCheck %s

// Gradients are clipped together: no parameter is updated before all are there.
// A frozen one has none.

// CHECK-LABEL: func.func @train_step
// CHECK-NOT:     train.sgd
// CHECK:         %[[DFC:.*]] = train.matmul({{.*}}transpose_a = true
// CHECK-NOT:     train.sgd
// CHECK:         %[[DHID:.*]] = train.matmul({{.*}}transpose_a = true
// CHECK-NEXT:    %{{.*}}, %{{.*}}, %[[C:.*]]:2 = train.clip_gradients(%[[DFC]], %[[DHID]]) {max_norm = 2.500000e+00 : f32, train.names = ["gradient.squares", "gradient.factor", "d_fc.clipped", "d_hid.clipped"], train.work = #train.work<"loss" update>}
// CHECK:         train.sgd({{.*}}, %[[C]]#0) {{.*}}<"fc" update>
// CHECK:         train.write @fc,
// CHECK:         train.sgd({{.*}}, %[[C]]#1) {{.*}}<"hid" update>
// CHECK-NOT:     train.sgd
train.parameter trainable @hid : tensor<4x6xf32> init<normal 0.0, 0.1>
train.parameter trainable @fc : tensor<10x4xf32> init<normal 0.0, 0.1>
train.parameter frozen @shift : tensor<4xf32> init<constant 0.0>
func.func @train_step(%x: tensor<2x6xf32>, %labels: tensor<2xi32> {train.role = #train.role<labels>}, %scalars: tensor<64xui8> {train.role = #train.role<scalars>}) -> tensor<f32> {
  %hid = train.read @hid : tensor<4x6xf32>
  %fc = train.read @fc : tensor<10x4xf32>
  %shift = train.read @shift : tensor<4xf32>
  %h = train.matmul(%x, %hid, %shift) {transpose_b = true, train.work = #train.work<"hid" forward>, train.names = ["h"]} : (tensor<2x6xf32>, tensor<4x6xf32>, tensor<4xf32>) -> tensor<2x4xf32>
  %l = train.matmul(%h, %fc) {transpose_b = true, train.work = #train.work<"fc" forward>, train.names = ["logits"]} : (tensor<2x4xf32>, tensor<10x4xf32>) -> tensor<2x10xf32>
  %loss, %probs = train.cross_entropy(%l, %labels) {train.work = #train.work<"loss" forward>, train.names = ["loss", "probs"]} : (tensor<2x10xf32>, tensor<2xi32>) -> (tensor<f32>, tensor<2x10xf32>)
  return %loss : tensor<f32>
}
