// RUN: lwcc-opt %s -exec-plan-memory | FileCheck %s
// Not tested here: how well space is used (MemoryProblemTest) and that no
// sharing is wrong (ScheduleMutationTest).

// CHECK-LABEL: exec.program @one_lane
// Parameters come first, activations of the two sequences share what follows.
// CHECK: exec.device @d node 0 gpu 0 arena 2560
exec.program @one_lane {
  exec.device @d node 0 gpu 0 arena 0
  exec.lane compute @l on @d
  // CHECK: trainable @w : {{.*}} at 0
  exec.buffer trainable @w : tensor<100xf32> on @d at -1
  // CHECK: activation @a : {{.*}} at [[LOW:512|1536]]
  exec.buffer activation @a : tensor<256xf32> on @d at -1
  // CHECK: activation @b : {{.*}} at {{512|1536}}
  exec.buffer activation @b : tensor<256xf32> on @d at -1
  // @c is made when @a is dead.
  // CHECK: activation @c : {{.*}} at [[LOW]]
  exec.buffer activation @c : tensor<256xf32> on @d at -1
  // A view keeps its distance, and its root alive.
  // CHECK: activation @v : {{.*}} view @c at 512
  exec.buffer activation @v : tensor<128xf32> on @d view @c at 512
  // CHECK: activation @e : {{.*}} at 512
  exec.buffer activation @e : tensor<8xf32> on @d at -1
  exec.sequence @train_step {
    exec.call "fill" [] -> [@a] on @l for "a" forward
    exec.call "reshape" [@a] -> [@b] on @l for "b" forward
    exec.call "reshape" [@b] -> [@c] on @l for "c" forward
    exec.call "reduce" [@v] -> [@w] on @l for "v" forward
  }
  exec.sequence @evaluate {
    exec.call "fill" [] -> [@e] on @l for "e" forward
  }
}

// Two lanes that do not wait for each other share nothing, and each device has
// an arena of its own.
// CHECK-LABEL: exec.program @two_lanes
// CHECK: exec.device @d node 0 gpu 0 arena 512
// CHECK: exec.device @e node 0 gpu 1 arena 256
exec.program @two_lanes {
  exec.device @d node 0 gpu 0 arena 0
  exec.device @e node 0 gpu 1 arena 0
  exec.lane compute @l on @d
  exec.lane compute @m on @d
  exec.lane compute @n on @e
  exec.buffer activation @a : tensor<8xf32> on @d at -1
  exec.buffer activation @b : tensor<8xf32> on @d at -1
  exec.buffer activation @c : tensor<8xf32> on @e at -1
  exec.sequence @train_step {
    exec.call "fill" [] -> [@a] on @l for "a" forward
    exec.call "fill" [] -> [@b] on @m for "b" forward
    exec.call "fill" [] -> [@c] on @n for "c" forward
  }
}

// The same with an event between them.
// CHECK-LABEL: exec.program @ordered_lanes
// CHECK: exec.device @d node 0 gpu 0 arena 256
exec.program @ordered_lanes {
  exec.device @d node 0 gpu 0 arena 0
  exec.lane compute @l on @d
  exec.lane compute @m on @d
  exec.event @done
  exec.buffer activation @a : tensor<8xf32> on @d at -1
  exec.buffer activation @b : tensor<8xf32> on @d at -1
  exec.sequence @train_step {
    exec.call "fill" [] -> [@a] on @l for "a" forward
    exec.record @done on @l
    exec.wait @done on @m
    exec.call "fill" [] -> [@b] on @m for "b" forward
  }
}
