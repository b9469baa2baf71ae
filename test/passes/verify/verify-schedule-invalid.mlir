// RUN: lwcc-opt %s -split-input-file -exec-verify-schedule -verify-diagnostics
// Rules (E3) to (E8) of ir/exec/README.md, one violation per program.

// E3: alignment.
exec.program @p {
  exec.device @d node 0 gpu 0 arena 1024
  // expected-error @+1 {{starts at byte 128, which is not a multiple of 256}}
  exec.buffer activation @x : tensor<4xf32> on @d at 128
}

// -----

// E3: arena.
exec.program @p {
  exec.device @d node 0 gpu 0 arena 256
  // expected-error @+1 {{ends at byte 516 of @d, whose arena has 256}}
  exec.buffer activation @x : tensor<65xf32> on @d at 256
}

// -----

// E3: not planned.
exec.program @p {
  exec.device @d node 0 gpu 0 arena 256
  // expected-error @+2 {{starts at byte -1, which is not a multiple of 256}}
  // expected-error @+1 {{has no place in memory yet}}
  exec.buffer activation @x : tensor<4xf32> on @d at -1
}

// -----

// E3: views.
exec.program @p {
  exec.device @d node 0 gpu 0 arena 512
  exec.buffer activation @x : tensor<128xf32> on @d at 0
  // expected-error @+1 {{takes bytes 256 to 768 of @x, which has 512}}
  exec.buffer activation @y : tensor<128xf32> on @d view @x at 256
}

// -----

// E4.
exec.program @p {
  exec.device @d node 0 gpu 0 arena 1024
  // expected-note @+1 {{the other buffer}}
  exec.buffer activation @x : tensor<128xf32> on @d at 0
  // expected-error @+1 {{shares bytes with @x, and one of them keeps its value between runs}}
  exec.buffer trainable @w : tensor<64xf32> on @d at 256
}

// -----

// E5: recorded later, recorded never.
exec.program @p {
  exec.device @d node 0 gpu 0 arena 0
  exec.lane compute @l on @d
  exec.lane compute @m on @d
  exec.event @e
  exec.event @never
  exec.sequence @train_step {
    // expected-error @+1 {{waits for an event that is recorded later}}
    exec.wait @e on @m
    // expected-error @+1 {{waits for an event that the sequence never records}}
    exec.wait @never on @m
    // expected-note @+1 {{recorded here}}
    exec.record @e on @l
  }
}

// -----

// E5: recorded twice.
exec.program @p {
  exec.device @d node 0 gpu 0 arena 0
  exec.lane compute @l on @d
  exec.event @e
  exec.sequence @train_step {
    // expected-note @+1 {{first recorded here}}
    exec.record @e on @l
    // expected-error @+1 {{records an event for the second time in a sequence}}
    exec.record @e on @l
  }
}

// -----

// E6: read while it may be written.
exec.program @p {
  exec.device @d node 0 gpu 0 arena 512
  exec.lane compute @l on @d
  exec.lane compute @m on @d
  exec.buffer activation @x : tensor<4xf32> on @d at 0
  exec.buffer activation @y : tensor<4xf32> on @d at 256
  exec.sequence @train_step {
    // expected-note @+1 {{written here on @l}}
    exec.call "fill" [] -> [@x] on @l for "a" forward
    // expected-error @+1 {{reads @x on @m while it may still be written}}
    exec.call "reshape" [@x] -> [@y] on @m for "b" forward
  }
}

// -----

// E6: overwritten while it may be read, through reused memory; the event is
// recorded before the read.
exec.program @p {
  exec.device @d node 0 gpu 0 arena 512
  exec.lane compute @l on @d
  exec.lane compute @m on @d
  exec.event @e
  exec.buffer activation @x : tensor<4xf32> on @d at 0
  exec.buffer activation @y : tensor<4xf32> on @d at 256
  exec.buffer activation @z : tensor<64xf32> on @d at 0
  exec.sequence @train_step {
    exec.call "fill" [] -> [@x] on @l for "a" forward
    exec.record @e on @l
    // expected-note @+1 {{read here on @l}}
    exec.call "reshape" [@x] -> [@y] on @l for "b" forward
    exec.wait @e on @m
    // expected-error @+1 {{writes @z on @m while @x may still be read from the same bytes}}
    exec.call "fill" [] -> [@z] on @m for "c" forward
  }
}

// -----

// E6: two writes.
exec.program @p {
  exec.device @d node 0 gpu 0 arena 256
  exec.lane compute @l on @d
  exec.lane compute @m on @d
  exec.buffer activation @x : tensor<4xf32> on @d at 0
  exec.sequence @train_step {
    // expected-note @+1 {{written here on @l}}
    exec.call "fill" [] -> [@x] on @l for "a" forward
    // expected-error @+1 {{writes @x on @m while @x may still be written in the same bytes}}
    exec.call "fill" [] -> [@x] on @m for "b" forward
  }
}

// -----

// E7: never written; written in part.
exec.program @p {
  exec.device @d node 0 gpu 0 arena 1024
  exec.lane compute @l on @d
  exec.buffer activation @x : tensor<128xf32> on @d at 0
  exec.buffer activation @x.low : tensor<64xf32> on @d view @x at 0
  exec.buffer activation @y : tensor<128xf32> on @d at 512
  exec.sequence @train_step {
    // expected-error @+1 {{reads @x before it is written (byte 0)}}
    exec.call "reshape" [@x] -> [@y] on @l for "a" forward
    exec.call "fill" [] -> [@x.low] on @l for "a" forward
    // expected-error @+1 {{reads @x before it is written (byte 256)}}
    exec.call "reshape" [@x] -> [@y] on @l for "b" forward
  }
}

// -----

// E7: overwritten by another buffer.
exec.program @p {
  exec.device @d node 0 gpu 0 arena 512
  exec.lane compute @l on @d
  exec.buffer activation @x : tensor<64xf32> on @d at 0
  exec.buffer activation @z : tensor<4xf32> on @d at 0
  exec.buffer activation @y : tensor<64xf32> on @d at 256
  exec.sequence @train_step {
    exec.call "fill" [] -> [@x] on @l for "a" forward
    // expected-note @+1 {{written here}}
    exec.call "fill" [] -> [@z] on @l for "b" forward
    // expected-error @+1 {{reads @x, but its byte 0 holds a value of @z}}
    exec.call "reshape" [@x] -> [@y] on @l for "c" forward
  }
}

// -----

// E8: two results in one place, a result over an operand, an update elsewhere.
exec.program @p {
  exec.device @d node 0 gpu 0 arena 2048
  exec.lane compute @l on @d
  exec.buffer input @x : tensor<1x1x8x8xf32> on @d at 0
  exec.buffer activation @y : tensor<1x1x8x8xf32> on @d at 256
  exec.buffer trainable @w : tensor<4xf32> on @d at 512
  exec.buffer optimizer @m : tensor<4xf32> on @d at 768
  exec.buffer scalars @s : tensor<64xui8> on @d at 1024
  exec.buffer loss @loss : tensor<f32> on @d at 1280
  exec.buffer activation @v : tensor<4xf32> on @d at 1536
  exec.sequence @train_step {
    // expected-error @+1 {{writes two results, @y and @y, to the same bytes}}
    exec.call "max_pool" [@x] -> [@y, @y] on @l for "a" forward
    // expected-error @+1 {{writes result @y over its operand @y, which 'lrn' does not allow}}
    exec.call "lrn" [@y] -> [@y] on @l for "b" forward
    // expected-error @+1 {{writes result @v elsewhere than its operand @w, which 'sgd' does not allow}}
    exec.call "sgd" [@w, @m, @s, @loss, @w] -> [@v, @m] on @l for "c" update
  }
}

// -----

// E9: a copy that is updated in part, and one that is not updated at all.
exec.program @p {
  exec.device @d node 0 gpu 0 arena 1024
  exec.device @e node 0 gpu 1 arena 1024
  exec.lane compute @l on @d
  exec.buffer trainable @w.d of "w" : tensor<2x64xf32> on @d at 0
  exec.buffer activation @part : tensor<1x64xf32> on @d view @w.d at 256
  exec.buffer trainable @v.d of "v" : tensor<4xf32> on @d at 512 {exec.dims = array<i64: 6>}
  exec.buffer trainable @v.e of "v" : tensor<2xf32> on @e at 0 {exec.begin = array<i64: 2>, exec.dims = array<i64: 6>}
  exec.buffer trainable @rest of "v" : tensor<2xf32> on @e at 256 {exec.begin = array<i64: 4>, exec.dims = array<i64: 6>}
  // expected-error @+2 {{writes 256 bytes of @w.d, which has 512}}
  // expected-error @+1 {{writes @v.d, but not @v.e, which holds elements of 'v', too}}
  exec.sequence @train_step {
    exec.call "fill" [] -> [@part] on @l for "a" update
    exec.call "fill" [] -> [@v.d] on @l for "b" update
  }
}

// -----

// E9: parts that do not fit together. Of what rank is @v?
exec.program @p {
  exec.device @d node 0 gpu 0 arena 2048
  exec.lane compute @l on @d
  // expected-note @+1 {{the other part}}
  exec.buffer trainable @v : tensor<4xf32> on @d at 0
  // expected-error @+1 {{is a part of 'v', but differs from another part, @v, in the tensor's extents}}
  exec.buffer trainable @w of "v" : tensor<4x1xf32> on @d at 256
  // expected-note @+1 {{the other part}}
  exec.buffer trainable @a : tensor<4xf32> on @d at 512
  // expected-error @+1 {{differs from another part, @a, in the tensor's role}}
  exec.buffer statistic @b of "a" : tensor<4xf32> on @d at 768
  // expected-note @+1 {{the other part}}
  exec.buffer input @x : tensor<4xf32> on @d at 1024
  // expected-error @+1 {{differs from another part, @x, in the tensor's element type}}
  exec.buffer input @y of "x" : tensor<4xi32> on @d at 1280
  exec.sequence @train_step {
    exec.call "fill" [] -> [@v] on @l for "b" update
  }
}
