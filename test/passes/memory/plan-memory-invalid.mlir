// RUN: lwcc-opt %s -exec-plan-memory -split-input-file -verify-diagnostics

exec.program @p {
  exec.device @d node 0 gpu 0 arena 0
  exec.lane compute @l on @d
  // expected-error @+1 {{is used by two sequences, but keeps no value between runs}}
  exec.buffer activation @a : tensor<8xf32> on @d at -1
  exec.sequence @train_step {
    exec.call "fill" [] -> [@a] on @l for "a" forward
  }
  exec.sequence @evaluate {
    exec.call "fill" [] -> [@a] on @l for "a" forward
  }
}

// -----

exec.program @p {
  // expected-error @+1 {{needs 422212465065984 bytes; no device has more than 256 TiB}}
  exec.device @d node 0 gpu 0 arena 0
  exec.lane compute @l on @d
  exec.buffer trainable @a : tensor<35184372088832xf32> on @d at -1
  exec.buffer trainable @b : tensor<35184372088832xf32> on @d at -1
  exec.buffer trainable @c : tensor<35184372088832xf32> on @d at -1
}
