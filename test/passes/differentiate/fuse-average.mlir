// RUN: lwcc-opt %s -train-fuse | FileCheck %s

// An update goes behind the last reader of the old value, and with it what follows from
// the new one: its write, the average and its write.

// CHECK-LABEL: func.func @train_step
// CHECK:         train.matmul
// CHECK:         %[[NEW:.*]], %[[M:.*]] = train.sgd(
// CHECK-NEXT:    train.write @w, %[[NEW]]
// CHECK-NEXT:    train.write @w.momentum, %[[M]]
// CHECK-NEXT:    %[[AVERAGE:.*]] = train.average(%{{.*}}, %[[NEW]])
// CHECK-NEXT:    train.write @w.average, %[[AVERAGE]]
train.parameter trainable @w : tensor<4x4xf32> init<constant 1.0>
train.parameter average @w.average : tensor<4x4xf32> init<constant 1.0>
train.parameter optimizer @w.momentum : tensor<4x4xf32> init<constant 0.0>
func.func @train_step(%x: tensor<4x4xf32>, %g: tensor<4x4xf32>, %loss: tensor<f32>, %scalars: tensor<64xui8> {train.role = #train.role<scalars>}) -> tensor<4x4xf32> {
  %w = train.read @w : tensor<4x4xf32>
  %m = train.read @w.momentum : tensor<4x4xf32>
  %new, %m_new = train.sgd(%w, %m, %scalars, %loss, %g) {train.work = #train.work<"fc" update>} : (tensor<4x4xf32>, tensor<4x4xf32>, tensor<64xui8>, tensor<f32>, tensor<4x4xf32>) -> (tensor<4x4xf32>, tensor<4x4xf32>)
  train.write @w, %new {train.work = #train.work<"fc" update>} : tensor<4x4xf32>
  train.write @w.momentum, %m_new {train.work = #train.work<"fc" update>} : tensor<4x4xf32>
  %a = train.read @w.average : tensor<4x4xf32>
  %average = train.average(%a, %new) {decay = 0.5 : f32, train.work = #train.work<"fc" update>} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  train.write @w.average, %average {train.work = #train.work<"fc" update>} : tensor<4x4xf32>
  %y = train.matmul(%x, %w) {train.work = #train.work<"fc" backward>} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  return %y : tensor<4x4xf32>
}
