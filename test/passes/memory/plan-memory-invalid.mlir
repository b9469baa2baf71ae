// RUN: lwcc-opt %s -exec-plan-memory -verify-diagnostics

exec.program @p {
  exec.device @d node 0 gpu 0 arena 0
  exec.lane @l on @d
  // expected-error @+1 {{is used by two sequences, but keeps no value between runs}}
  exec.buffer activation @a : tensor<8xf32> on @d at -1
  exec.sequence @train_step {
    exec.call "fill" [] -> [@a] on @l for "a" "forward"
  }
  exec.sequence @evaluate {
    exec.call "fill" [] -> [@a] on @l for "a" "forward"
  }
}
