// RUN: not lwcc-translate --emit-cpp %s > %t.cpp 2> %t.errors
// RUN: FileCheck %s < %t.errors
// RUN: cp %s %t.mlir && not lwcc-run %t.mlir -- --steps=1 2>&1 | FileCheck %s --check-prefix=WHOLE
// What the trainer's tables are made of is checked before it is multiplied,
// added or looked up; whatever is wrong is said at once.

// The whole program is verified before it runs.
// WHOLE: error: {{.*}}'exec.buffer' op is a part of 'w', but differs from another part, @w, in the tensor's extents

// CHECK-DAG: error: {{.*}}'exec.program' op exports array<i64: 9223372036854775807, 1>; expected a name, or first byte and bytes of the weights
// CHECK-DAG: error: {{.*}}'exec.program' op exports array<i64: 281474976710656, 281474976710656>; expected
// CHECK-DAG: error: {{.*}}'exec.program' op exports array<i64: 0, -1>; expected
// CHECK-DAG: error: {{.*}}'exec.program' op exports array<i64: 1>; expected
// CHECK-DAG: error: {{.*}}'exec.program' op exports 3 : i64; expected
// CHECK-DAG: error: {{.*}}'exec.program' op exports "nobody", which is no state
exec.program @bad attributes {exec.model = "bad.onnx", exec.batch = 2 : i64,
    exec.export = [array<i64: 9223372036854775807, 1>, array<i64: 281474976710656, 281474976710656>, array<i64: 0, -1>, array<i64: 1>, 3, "nobody", "w"]} {
  exec.device @d node 0 gpu 0 arena 65536
  exec.lane compute @d.compute on @d
  // CHECK-DAG: error: {{.*}}'exec.buffer' op has no initial value (exec.init)
  exec.buffer trainable @w : tensor<4xf32> on @d at 0
  // CHECK-DAG: error: {{.*}}'exec.buffer' op is part of another "w" than @w
  exec.buffer trainable @w2 of "w" : tensor<4xf32> on @d at 256 {exec.dims = array<i64: 8>, exec.begin = array<i64: 4>, exec.init = #train.init<blob at 0>}
  exec.buffer statistic @s : tensor<4xf32> on @d at 512
  // CHECK-DAG: error: {{.*}}'exec.buffer' op has random initial values (exec.init), but is not of f32
  exec.buffer constant @c : tensor<4xi32> on @d at 768 {exec.init = #train.init<uniform 0.0, 1.0>}
  exec.buffer input @x : tensor<4xf32> on @d at 1024
  // CHECK-DAG: error: {{.*}}'exec.buffer' op is a part of a tensor of unknown extents (exec.dims)
  exec.buffer labels @y : tensor<4xi32> on @d at 1280 {exec.begin = array<i64: 0>}
  exec.sequence @train_step {
  }
  exec.sequence @evaluate {
  }
}
