// RUN: lwcc-opt %s -split-input-file -verify-diagnostics
// Rule (E2) of ir/exec/README.md, one violation per program.

exec.program @p {
  exec.device @d node 0 gpu 0 arena 0
  // expected-error @+1 {{refers to unknown device @e}}
  exec.lane compute @l on @e
}

// -----

exec.program @p {
  exec.device @d node 0 gpu 0 arena 0
  // expected-error @+1 {{refers to unknown device @e}}
  exec.buffer input @x : tensor<4xf32> on @e at -1
}

// -----

exec.program @p {
  exec.device @d node 0 gpu 0 arena 0
  // expected-error @+1 {{needs a ranked tensor type with static shape, found 'tensor<?xf32>'}}
  exec.buffer input @x : tensor<?xf32> on @d at -1
}

// -----

exec.program @p {
  exec.device @d node 0 gpu 0 arena 0
  // expected-error @+1 {{has elements of type 'i8'; expected f32, i32 or ui8}}
  exec.buffer input @x : tensor<4xi8> on @d at -1
}

// -----

exec.program @p {
  exec.device @d node 0 gpu 0 arena 0
  // expected-error @+1 {{has elements of type 'f64'; expected f32, i32 or ui8}}
  exec.buffer input @y : tensor<4xf64> on @d at -1
}

// -----

exec.program @p {
  exec.device @d node 0 gpu 0 arena 0
  // expected-error @+1 {{has negative offset -2}}
  exec.buffer input @x : tensor<4xf32> on @d at -2
}

// -----

exec.program @p {
  exec.device @d node 0 gpu 0 arena 0
  exec.buffer activation @x : tensor<4xf32> on @d at -1
  // expected-error @+1 {{has negative offset -1}}
  exec.buffer activation @y : tensor<4xf32> on @d view @x at -1
}

// -----

exec.program @p {
  exec.device @d node 0 gpu 0 arena 0
  // expected-error @+1 {{refers to unknown buffer @x}}
  exec.buffer activation @y : tensor<4xf32> on @d view @x at 0
}

// -----

exec.program @p {
  exec.device @d node 0 gpu 0 arena 0
  // expected-error @+1 {{is a view of @x, which is declared after it}}
  exec.buffer activation @y : tensor<4xf32> on @d view @x at 0
  exec.buffer activation @x : tensor<4xf32> on @d at -1
}

// -----

exec.program @p {
  exec.device @d node 0 gpu 0 arena 0
  exec.device @e node 0 gpu 1 arena 0
  exec.buffer activation @x : tensor<4xf32> on @d at -1
  // expected-error @+1 {{is on @e but a view of @x on @d}}
  exec.buffer activation @y : tensor<4xf32> on @e view @x at 0
}

// -----

exec.program @p {
  exec.device @d node 0 gpu 0 arena 0
  exec.buffer activation @x : tensor<4x4xf32> on @d at -1
  // expected-error @+1 {{is no part of @x}}
  exec.buffer activation @y : tensor<2x3xf32> on @d view @x window [0, 2] at 8
}

// -----

exec.program @p {
  exec.device @d node 0 gpu 0 arena 0
  exec.buffer activation @x : tensor<4x4xf32> on @d at -1
  // expected-error @+1 {{begins at byte 20 of @x, not at 16}}
  exec.buffer activation @y : tensor<2x3xf32> on @d view @x window [1, 1] at 16
}

// -----

exec.program @p {
  exec.device @d node 0 gpu 0 arena 0
  // expected-error @+1 {{is a window of nothing}}
  exec.buffer activation @y : tensor<2x3xf32> on @d window [1, 1] at 16
}

// -----

exec.program @p {
  // expected-error @+1 {{has a negative number of inputs}}
  exec.kernel @k(-1) = "x0"
}

// -----

exec.program @p {
  // expected-error @+1 {{has elements '(f32, ui8) -> f32'; expected f32, i32 or ui8 for each of 1 inputs and for the result}}
  exec.kernel @k(1) = "x0" elements (f32, ui8) -> f32
}

// -----

exec.program @p {
  // expected-error @+1 {{has elements '(f16) -> f32'; expected f32, i32 or ui8 for each of 1 inputs and for the result}}
  exec.kernel @k(1) = "x0" elements (f16) -> f32
}

// -----

exec.program @p {
  exec.device @d node 0 gpu 0 arena 0
  exec.lane compute @l on @d
  exec.buffer activation @x : tensor<4xi32> on @d at -1
  exec.buffer activation @y : tensor<4xf32> on @d at -1
  exec.kernel @k(1) = "x0"
  exec.sequence @train_step {
    // expected-error @+1 {{gives @x of type 'tensor<4xi32>' to @k, which takes 'f32' there}}
    exec.call "map" @k [@x] -> [@y] on @l for "a" forward
  }
}

// -----

exec.program @p {
  exec.device @d node 0 gpu 0 arena 0
  exec.lane compute @l on @d
  exec.buffer activation @x : tensor<4xf32> on @d at -1
  exec.kernel @k(1) = "x0" elements (f32) -> i32
  exec.sequence @train_step {
    // expected-error @+1 {{gives @x of type 'tensor<4xf32>' to @k, which takes 'i32' there}}
    exec.call "map" @k [@x] -> [@x] on @l for "a" forward
  }
}

// -----

exec.program @p {
  // expected-error @+1 {{does not belong into an exec.program}}
  builtin.module {}
}

// -----

exec.program @p {
  exec.device @d node 0 gpu 0 arena 0
  exec.lane compute @l on @d
  exec.sequence @train_step {
    // expected-error @+1 {{refers to unknown event @e}}
    exec.record @e on @l
  }
}

// -----

exec.program @p {
  exec.event @e
  exec.sequence @train_step {
    // expected-error @+1 {{refers to unknown lane @l}}
    exec.wait @e on @l
  }
}

// -----

exec.program @p {
  exec.device @d node 0 gpu 0 arena 0
  exec.lane compute @l on @d
  exec.sequence @train_step {
    // expected-error @+1 {{calls unknown runtime function 'frobnicate'}}
    exec.call "frobnicate" [] -> [] on @l for "a" forward
  }
}

// -----

exec.program @p {
  exec.device @d node 0 gpu 0 arena 0
  exec.lane compute @l on @d
  exec.sequence @train_step {
    // expected-error @+1 {{has 0 operands; expected 1}}
    exec.call "lrn" [] -> [unit] on @l for "a" forward
  }
}

// -----

exec.program @p {
  exec.device @d node 0 gpu 0 arena 0
  exec.lane compute @l on @d
  exec.sequence @train_step {
    // expected-error @+1 {{has 2 results; expected 1}}
    exec.call "lrn" [unit] -> [unit, unit] on @l for "a" forward
  }
}

// -----

exec.program @p {
  exec.device @d node 0 gpu 0 arena 0
  exec.lane compute @l on @d
  exec.sequence @train_step {
    // expected-error @+1 {{has among its operands what is neither a buffer nor unit: 1 : i64}}
    exec.call "lrn" [1] -> [unit] on @l for "a" forward
  }
}

// -----

exec.program @p {
  exec.device @d node 0 gpu 0 arena 0
  exec.lane compute @l on @d
  exec.sequence @train_step {
    // expected-error @+1 {{needs a kernel exactly when it calls map}}
    exec.call "map" [unit] -> [unit] on @l for "a" forward
  }
}

// -----

exec.program @p {
  exec.device @d node 0 gpu 0 arena 0
  exec.lane compute @l on @d
  exec.sequence @train_step {
    // expected-error @+1 {{refers to unknown kernel @k}}
    exec.call "map" @k [unit] -> [unit] on @l for "a" forward
  }
}

// -----

exec.program @p {
  exec.device @d node 0 gpu 0 arena 0
  exec.lane compute @l on @d
  exec.kernel @k(1) = "x0"
  exec.sequence @train_step {
    // expected-error @+1 {{has 3 operands, but @k takes 1 inputs (and the scalars if it is random)}}
    exec.call "map" @k [unit, unit, unit] -> [unit] on @l for "a" forward
  }
}

// -----

exec.program @p {
  exec.device @d node 0 gpu 0 arena 0
  exec.lane compute @l on @d
  exec.sequence @train_step {
    // expected-error @+1 {{refers to unknown buffer @x}}
    exec.call "lrn" [@x] -> [unit] on @l for "a" forward
  }
}

// -----

exec.program @p {
  exec.device @d node 0 gpu 0 arena 0
  exec.device @e node 0 gpu 1 arena 0
  exec.lane compute @l on @d
  exec.buffer input @x : tensor<4xf32> on @e at -1
  exec.sequence @train_step {
    // expected-error @+1 {{runs on @l of @d but @x lies on @e}}
    exec.call "lrn" [@x] -> [unit] on @l for "a" forward
  }
}

// -----

exec.program @p {
  exec.device @d node 0 gpu 0 arena 0
  // expected-error @+1 {{has the shape of more than 256 TiB or 8 dimensions}}
  exec.buffer input @x : tensor<16777216x4x16777216x16777216xf32> on @d at -1
}

// -----

exec.program @p {
  exec.device @d node 0 gpu 0 arena 0
  // expected-error @+1 {{has the shape of more than 256 TiB or 8 dimensions}}
  exec.buffer input @x : tensor<1x1x1x1x1x1x1x1x1xf32> on @d at -1
}

// -----

exec.program @p {
  exec.device @d node 0 gpu 0 arena 0
  // expected-error @+1 {{has the offset 9223372036854775807, beyond any arena}}
  exec.buffer input @x : tensor<4xf32> on @d at 9223372036854775807
}

// -----

exec.program @p {
  exec.device @d node 0 gpu 0 arena 0
  // expected-error @+1 {{is part of a tensor of impossible extents}}
  exec.buffer trainable @x : tensor<4xf32> on @d at -1 {exec.dims = array<i64: 1099511627776, 16777216>, exec.begin = array<i64: 0, 0>}
}

// -----

exec.program @p {
  exec.device @d node 0 gpu 0 arena 0
  // expected-error @+1 {{is no part of a tensor of extents [8]}}
  exec.buffer trainable @x : tensor<4xf32> on @d at -1 {exec.dims = array<i64: 8>, exec.begin = array<i64: 5>}
}

// -----

exec.program @p {
  exec.device @d node 0 gpu 0 arena 0
  // expected-error @+1 {{of type 'tensor<4xf32>', at array<i64: 9223372036854775807>, is no part of a tensor of extents [8]}}
  exec.buffer trainable @x : tensor<4xf32> on @d at -1 {exec.dims = array<i64: 8>, exec.begin = array<i64: 9223372036854775807>}
}

// -----

exec.program @p {
  exec.device @d node 0 gpu 0 arena 0
  // expected-error @+1 {{is no part of a tensor}}
  exec.buffer trainable @x : tensor<4xf32> on @d at -1 {exec.dims = array<i64: 4>, exec.begin = array<i64: -1>}
}

// -----

exec.program @p {
  exec.device @d node 0 gpu 0 arena 0
  // expected-error @+1 {{of type 'tensor<4xf32>', at array<i64: 9223372036854775807>, is no part of a tensor}}
  exec.buffer trainable @x : tensor<4xf32> on @d at -1 {exec.begin = array<i64: 9223372036854775807>}
}

// -----

exec.program @p {
  exec.device @d node 0 gpu 0 arena 0
  // expected-error @+1 {{is no part of a tensor}}
  exec.buffer trainable @x : tensor<4x4xf32> on @d at -1 {exec.dims = array<i64: 4, 4>, exec.begin = array<i64: 0>}
}

// -----

exec.program @p {
  exec.device @d node 0 gpu 0 arena 0
  // expected-error @+1 {{is no part of a tensor}}
  exec.buffer trainable @x : tensor<4x4xf32> on @d at -1 {exec.dims = array<i64: 16>}
}

// -----

exec.program @p {
  exec.device @d node 0 gpu 0 arena 0
  // expected-error @+1 {{at "first", is no part of a tensor}}
  exec.buffer trainable @x : tensor<4xf32> on @d at -1 {exec.begin = "first"}
}

// -----

exec.program @p {
  exec.device @d node 0 gpu 0 arena 0
  exec.buffer activation @x : tensor<4x8xf32> on @d at -1
  exec.buffer activation @part : tensor<4x4xf32> on @d view @x window [0, 2] at 8
  // expected-error @+1 {{is a view of @part, which is a window itself}}
  exec.buffer activation @inner : tensor<2x4xf32> on @d view @part window [1, 0] at 16
}

// -----

// A transfer copies bytes: of a window it would bring others.
exec.program @p {
  exec.device @d node 0 gpu 0 arena 0
  exec.lane compute @l on @d
  exec.buffer activation @x : tensor<4x8xf32> on @d at -1
  exec.buffer activation @part : tensor<4x4xf32> on @d view @x window [0, 2] at 8
  exec.buffer activation @y : tensor<4x4xf32> on @d at -1
  exec.sequence @train_step {
    // expected-error @+1 {{reads @part, which is a window, but takes dense tensors only}}
    exec.call "transfer" [@part] -> [@y] on @l for "a" forward
  }
}

// -----

// A sum reads all its terms with the strides of the first.
exec.program @p {
  exec.device @d node 0 gpu 0 arena 0
  exec.lane compute @l on @d
  exec.buffer activation @x : tensor<4x8xf32> on @d at -1
  exec.buffer activation @part : tensor<4x4xf32> on @d view @x window [0, 2] at 8
  exec.buffer activation @y : tensor<4x4xf32> on @d at -1
  exec.buffer activation @z : tensor<4x4xf32> on @d at -1
  exec.sequence @train_step {
    // expected-error @+1 {{reads @part with other strides than @y}}
    exec.call "sum" [@y, @part] -> [@z] on @l for "a" forward
  }
}

// -----

exec.program @p {
  exec.device @d node 0 gpu 0 arena 0
  exec.lane compute @l on @d
  exec.buffer activation @x : tensor<4x8xf32> on @d at -1
  exec.buffer activation @part : tensor<4x4xf32> on @d view @x window [0, 2] at 8
  exec.buffer activation @y : tensor<4x4xf32> on @d at -1
  exec.sequence @train_step {
    // expected-error @+1 {{writes to @part, which is a window; results are dense}}
    exec.call "sum" [@y] -> [@part] on @l for "a" forward
  }
}
