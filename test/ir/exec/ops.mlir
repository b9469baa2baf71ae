// RUN: lwcc-opt %s | lwcc-opt | FileCheck %s
// RUN: lwcc-opt %s --mlir-print-op-generic | lwcc-opt | FileCheck %s
// Every op once. Not tested here: what a program may not do (ops-invalid.mlir).

// CHECK-LABEL: exec.program @tiny attributes {exec.batch = 2 : i64} {
exec.program @tiny attributes {exec.batch = 2 : i64} {
  // CHECK-NEXT: exec.device @gpu0 node 0 gpu 0 arena 4096
  exec.device @gpu0 node 0 gpu 0 arena 4096
  // CHECK-NEXT: exec.lane compute @gpu0.compute on @gpu0
  exec.lane compute @gpu0.compute on @gpu0
  exec.lane compute @gpu0.lane1 on @gpu0
  // CHECK: exec.event @conv.done
  exec.event @conv.done
  // CHECK-NEXT: exec.buffer trainable @"conv1/weight:0" : tensor<6x3x3x3xf32> on @gpu0 at 0
  exec.buffer trainable @"conv1/weight:0" : tensor<6x3x3x3xf32> on @gpu0 at 0
  exec.buffer input @x : tensor<2x3x4x4xf32> on @gpu0 at 768
  // CHECK: exec.buffer activation @y : tensor<2x6x2x2xf32> on @gpu0 at -1
  exec.buffer activation @y : tensor<2x6x2x2xf32> on @gpu0 at -1
  // CHECK-NEXT: exec.buffer activation @relu : tensor<2x6x2x2xf32> on @gpu0 view @y at 0
  exec.buffer activation @relu : tensor<2x6x2x2xf32> on @gpu0 view @y at 0
  // CHECK-NEXT: exec.kernel @relu.kernel(1) = "max(x0, 0.0f)"
  exec.kernel @relu.kernel(1) = "max(x0, 0.0f)"
  // CHECK-NEXT: exec.kernel @from_bytes(2) = "x0 * x1" elements (ui8, f32) -> f32
  exec.kernel @from_bytes(2) = "x0 * x1" elements (ui8, f32) -> f32
  // CHECK-NEXT: exec.sequence @train_step {
  exec.sequence @train_step {
    // CHECK-NEXT: exec.call "conv" [@x, @"conv1/weight:0", unit] -> [@y] on @gpu0.compute for "conv1" forward with {dilation = array<i64: 1, 1>, group = 1 : i64, pad = array<i64: 0, 0, 0, 0>, relu = false, stride = array<i64: 1, 1>}
    exec.call "conv" [@x, @"conv1/weight:0", unit] -> [@y] on @gpu0.compute for "conv1" forward with {dilation = array<i64: 1, 1>, group = 1 : i64, pad = array<i64: 0, 0, 0, 0>, relu = false, stride = array<i64: 1, 1>}
    // CHECK-NEXT: exec.record @conv.done on @gpu0.compute
    exec.record @conv.done on @gpu0.compute
    // CHECK-NEXT: exec.wait @conv.done on @gpu0.lane1
    exec.wait @conv.done on @gpu0.lane1
    // CHECK-NEXT: exec.call "map" @relu.kernel [@y] -> [@relu] on @gpu0.lane1 for "relu1" forward
    exec.call "map" @relu.kernel [@y] -> [@relu] on @gpu0.lane1 for "relu1" forward
  }
}
