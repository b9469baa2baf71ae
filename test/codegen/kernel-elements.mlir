// RUN: lwcc-translate --emit-cpp %s > %t.cpp
// RUN: FileCheck %s < %t.cpp
// RUN: clang-format --style=file:%src/.clang-format --dry-run -Werror %t.cpp
// RUN: g++ -std=c++20 -Wall -Werror -I%src -fsyntax-only %t.cpp
// A kernel says in which types its tensors are stored, unless all are f32.

// CHECK-LABEL: struct scale {
// CHECK-NEXT:   static constexpr int inputs = 2;
// CHECK-NEXT:   static constexpr bool indexed = false;
// CHECK-NEXT:   using Elements = MapElements<float, uint8_t, int32_t>;
// CHECK-NEXT:   LWCC_HD static float at(const StepScalars &, uint64_t, float x0, float x1) {
// CHECK-LABEL: struct plain {
// CHECK-NOT:   Elements
exec.program @tiny attributes {exec.model = "tiny.onnx", exec.batch = 2 : i64, exec.classes = 10 : i64,
    exec.compiler = "lwcc", exec.precision = "fp32"} {
  exec.device @gpu0 node 0 gpu 0 arena 65536
  exec.lane compute @gpu0.compute on @gpu0
  exec.buffer trainable @w : tensor<4xf32> on @gpu0 at 0 {exec.init = #train.init<constant 0.0>}
  exec.buffer input @x : tensor<2x4xf32> on @gpu0 at 256
  exec.buffer labels @labels : tensor<2xi32> on @gpu0 at 512
  exec.buffer scalars @scalars : tensor<64xui8> on @gpu0 at 768
  exec.buffer loss @loss : tensor<f32> on @gpu0 at 1024
  exec.buffer metric @counts : tensor<2xf32> on @gpu0 at 1280
  exec.buffer activation @bytes : tensor<2x4xui8> on @gpu0 at 1536
  exec.buffer activation @numbers : tensor<4xi32> on @gpu0 at 1792
  exec.buffer activation @y : tensor<2x4xf32> on @gpu0 at 2048
  exec.kernel @scale(2) = "x0 * x1" elements (ui8, i32) -> f32
  exec.kernel @plain(1) = "x0 + 1.0f"
  exec.sequence @train_step {
    exec.call "map" @scale [@bytes, @numbers] -> [@y] on @gpu0.compute for "a" forward
    exec.call "map" @plain [@y] -> [@y] on @gpu0.compute for "b" forward
  }
  exec.sequence @evaluate {
    exec.call "fill" [] -> [@loss] on @gpu0.compute for "loss" forward with {value = 0.000000e+00 : f32}
  }
}
