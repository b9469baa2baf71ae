// RUN: lwcc-opt %s -train-autodiff=average-decay=0.75 | FileCheck %s

// A parameter's average begins as the parameter does, follows each update, and is what
// evaluation reads. What is not trained has none.

// CHECK:         train.parameter trainable @fc : tensor<10x6xf32> init<normal 0.0
// CHECK-DAG:     train.parameter average @fc.average : tensor<10x6xf32> init<normal 0.0
// CHECK-NOT:     @shift.average
// CHECK-LABEL: func.func @train_step
// CHECK:         %[[NEW:.*]], %{{.*}} = train.sgd(
// CHECK:         train.write @fc, %[[NEW]]
// CHECK:         %[[OLD:.*]] = train.read @fc.average {{.*}}<"fc" update>
// CHECK-NEXT:    %[[AVERAGE:.*]] = train.average(%[[OLD]], %[[NEW]]) {decay = 7.500000e-01 : f32, train.work = #train.work<"fc" update>}
// CHECK-NEXT:    train.write @fc.average, %[[AVERAGE]]
// CHECK-LABEL: func.func @evaluate
// CHECK:         train.read @fc.average
// CHECK-NEXT:    train.read @shift :
train.parameter trainable @fc : tensor<10x6xf32> init<normal 0.0, 0.1>
train.parameter frozen @shift : tensor<10xf32> init<constant 0.0>
func.func @train_step(%x: tensor<2x6xf32>, %labels: tensor<2xi32> {train.role = #train.role<labels>}, %scalars: tensor<64xui8> {train.role = #train.role<scalars>}) -> tensor<f32> {
  %fc = train.read @fc : tensor<10x6xf32>
  %shift = train.read @shift : tensor<10xf32>
  %l = train.matmul(%x, %fc, %shift) {transpose_b = true, train.work = #train.work<"fc" forward>, train.names = ["logits"]} : (tensor<2x6xf32>, tensor<10x6xf32>, tensor<10xf32>) -> tensor<2x10xf32>
  %loss, %probs = train.cross_entropy(%l, %labels) {train.work = #train.work<"loss" forward>, train.names = ["loss", "probs"]} : (tensor<2x10xf32>, tensor<2xi32>) -> (tensor<f32>, tensor<2x10xf32>)
  return %loss : tensor<f32>
}
func.func @evaluate(%x: tensor<2x6xf32>, %labels: tensor<2xi32> {train.role = #train.role<labels>}, %scalars: tensor<64xui8> {train.role = #train.role<scalars>}) -> tensor<2x10xf32> {
  %fc = train.read @fc : tensor<10x6xf32>
  %shift = train.read @shift : tensor<10xf32>
  %l = train.matmul(%x, %fc, %shift) {transpose_b = true, train.work = #train.work<"fc" forward>, train.names = ["logits"]} : (tensor<2x6xf32>, tensor<10x6xf32>, tensor<10xf32>) -> tensor<2x10xf32>
  return %l : tensor<2x10xf32>
}
