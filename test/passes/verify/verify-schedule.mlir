// RUN: lwcc-opt %s -exec-verify-schedule | FileCheck %s
// What is allowed: memory reuse behind an event, work in place, views.

// CHECK: exec.program @good
exec.program @good {
  exec.device @d node 0 gpu 0 arena 2048
  exec.lane compute @l on @d
  exec.lane compute @m on @d
  exec.event @a.read
  exec.buffer trainable @w : tensor<64xf32> on @d at 0
  exec.buffer optimizer @w.momentum : tensor<64xf32> on @d at 256
  exec.buffer scalars @scalars : tensor<64xui8> on @d at 512
  exec.buffer loss @loss : tensor<f32> on @d at 768
  exec.buffer activation @a : tensor<128xf32> on @d at 1024
  exec.buffer activation @a.low : tensor<64xf32> on @d view @a at 0
  exec.buffer activation @a.high : tensor<64xf32> on @d view @a at 256
  exec.buffer gradient @d_w : tensor<64xf32> on @d at 1536
  // The memory of @a, when @a is dead.
  exec.buffer activation @b : tensor<64xf32> on @d at 1024
  exec.kernel @relu(1) = "max(x0, 0.0f)"
  exec.sequence @train_step {
    exec.call "fill" [] -> [@loss] on @l for "a" forward
    exec.call "fill" [] -> [@a.low] on @l for "a" forward
    exec.call "fill" [] -> [@a.high] on @l for "a" forward
    exec.call "map" @relu [@a] -> [@a] on @l for "a" forward
    exec.call "reduce" [@a] -> [@d_w] on @l for "a" backward
    exec.record @a.read on @l
    exec.wait @a.read on @m
    exec.call "reshape" [@w] -> [@b] on @m for "b" forward
    exec.call "sgd" [@w, @w.momentum, @scalars, @loss, @d_w] -> [@w, @w.momentum] on @m for "b" update
  }
  exec.sequence @evaluate {
    exec.record @a.read on @l
    exec.wait @a.read on @m
  }
}
