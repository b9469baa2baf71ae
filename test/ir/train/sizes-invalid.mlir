// RUN: lwcc-opt %s -split-input-file -verify-diagnostics
// Numbers of which no sum or product of extents can be made: each is refused
// where it stands, before anything is computed with it.

func.func @elements(%x: tensor<9223372036854775807x3xf32>) {
  // expected-error @below {{has a value of type 'tensor<9223372036854775807x3xf32>': more than 256 TiB or 8 dimensions}}
  %y = train.map "x0"(%x) : (tensor<9223372036854775807x3xf32>) -> tensor<9223372036854775807x3xf32>
  return
}

// -----

func.func @unknown(%x: tensor<?xf32>) {
  // expected-error @below {{has a value of type 'tensor<?xf32>': an extent that is not known}}
  %y = train.map "x0"(%x) : (tensor<?xf32>) -> tensor<?xf32>
  return
}

// -----

func.func @reshape(%x: tensor<1099511627776x16777216xf32>) {
  // expected-error @below {{has a value of type 'tensor<1099511627776x16777216xf32>'}}
  %y = train.reshape(%x) : (tensor<1099511627776x16777216xf32>) -> tensor<0xf32>
  return
}

// -----

// expected-error @below {{has a value of type 'tensor<4294967296x4294967296xf32>'}}
train.parameter trainable @w : tensor<4294967296x4294967296xf32> init<constant 0.0>

// -----

// expected-error @below {{no weights have a byte -1}}
train.parameter trainable @w : tensor<4xf32> init<blob at -1>

// -----

// expected-error @below {{no weights have a byte 9223372036854775807}}
train.parameter trainable @w : tensor<4xf32> init<blob at 9223372036854775807>

// -----

// expected-error @below {{has train.dims of no tensor}}
train.parameter trainable @w : tensor<4xf32> init<constant 0.0> {train.tensor = "w", train.dims = array<i64: -9223372036854775808>, train.begin = array<i64: 0>}

// -----

// expected-error @below {{has train.begin of no tensor}}
train.parameter trainable @w : tensor<4xf32> init<constant 0.0> {train.tensor = "w", train.dims = array<i64: 4>, train.begin = array<i64: 9223372036854775807>}

// -----

func.func @slice_far(%x: tensor<4xf32>) {
  // expected-error @below {{start is [9223372036854775807]; no tensor has such extents}}
  %y = train.slice(%x) {start = array<i64: 9223372036854775807>, step = array<i64: 1>} : (tensor<4xf32>) -> tensor<2xf32>
  return
}

// -----

func.func @slice_step(%x: tensor<4xf32>) {
  // expected-error @below {{step is [-9223372036854775808]; no tensor has such extents}}
  %y = train.slice(%x) {start = array<i64: 1>, step = array<i64: -9223372036854775808>} : (tensor<4xf32>) -> tensor<2xf32>
  return
}

// -----

func.func @slice_reach(%x: tensor<4xf32>) {
  // expected-error @below {{takes 4294967296 elements by steps of 4294967296 of dimension 0, which has 4}}
  %y = train.slice(%x) {start = array<i64: 0>, step = array<i64: 4294967296>} : (tensor<4xf32>) -> tensor<4294967296xf32>
  return
}

// -----

func.func @slice_grad(%dy: tensor<2xf32>) {
  // expected-error @below {{takes elements 3 to 4 of dimension 0; expected 0 to 3}}
  %dx = train.slice_grad(%dy) {start = array<i64: 3>, step = array<i64: 1>} : (tensor<2xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @pad(%x: tensor<4xf32>) {
  // expected-error @below {{low is [-9223372036854775808]; no tensor has such extents}}
  %y = train.pad(%x) {low = array<i64: -9223372036854775808>, value = 0.0 : f32} : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @split(%x: tensor<4xf32>) {
  // expected-error @below {{result 0 has shape [4]; expected [9223372036854775807]}}
  %y:2 = train.split(%x) {axis = 0 : i64, sizes = array<i64: 9223372036854775807, 9223372036854775807>} : (tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
  return
}

// -----

func.func @conv_dilation(%x: tensor<1x4x8x8xf32>, %w: tensor<6x4x3x3xf32>) {
  // expected-error @below {{the taps of the window, 3 by steps of 9223372036854775807, reach beyond any tensor}}
  %c = train.conv(%x, %w) {dilation = array<i64: 9223372036854775807, 1>, group = 1 : i64, pad = array<i64: 0, 0, 0, 0>, stride = array<i64: 1, 1>} : (tensor<1x4x8x8xf32>, tensor<6x4x3x3xf32>) -> tensor<1x6x6x6xf32>
  return
}

// -----

func.func @conv_pad(%x: tensor<1x4x8x8xf32>, %w: tensor<6x4x3x3xf32>) {
  // expected-error @below {{pad is [9223372036854775807, 0, 9223372036854775807, 0]; no tensor has such extents}}
  %c = train.conv(%x, %w) {dilation = array<i64: 1, 1>, group = 1 : i64, pad = array<i64: 9223372036854775807, 0, 9223372036854775807, 0>, stride = array<i64: 1, 1>} : (tensor<1x4x8x8xf32>, tensor<6x4x3x3xf32>) -> tensor<1x6x6x6xf32>
  return
}

// -----

func.func @conv_grad_input(%dy: tensor<1x6x6x6xf32>, %w: tensor<6x4x3x3xf32>) {
  // expected-error @below {{the positions of the window, 6 by steps of 9223372036854775807, reach beyond any tensor}}
  %dx = train.conv_grad_input(%dy, %w) {dilation = array<i64: 1, 1>, group = 1 : i64, pad = array<i64: 0, 0, 0, 0>, stride = array<i64: 9223372036854775807, 1>} : (tensor<1x6x6x6xf32>, tensor<6x4x3x3xf32>) -> tensor<1x4x8x8xf32>
  return
}

// -----

func.func @conv_grad_weight(%dy: tensor<1x6x6x6xf32>, %x: tensor<1x4x8x8xf32>) {
  // expected-error @below {{dilation is [0, 1]; expected positive numbers}}
  %dw = train.conv_grad_weight(%dy, %x) {dilation = array<i64: 0, 1>, group = 1 : i64, pad = array<i64: 0, 0, 0, 0>, stride = array<i64: 1, 1>} : (tensor<1x6x6x6xf32>, tensor<1x4x8x8xf32>) -> tensor<6x4x3x3xf32>
  return
}

// -----

func.func @pool_taps(%x: tensor<1x4x8x8xf32>) {
  // expected-error @below {{kernel is [4294967296, 4294967296]; its taps cannot be counted}}
  %y:2 = train.max_pool(%x) {dilation = array<i64: 1, 1>, kernel = array<i64: 4294967296, 4294967296>, pad = array<i64: 4294967296, 4294967296, 0, 0>, stride = array<i64: 1, 1>} : (tensor<1x4x8x8xf32>) -> (tensor<1x4x9x9xf32>, tensor<1x4x9x9xui8>)
  return
}

// -----

func.func @max_pool_grad(%dy: tensor<1x4x4x4xf32>, %index: tensor<1x4x4x3xui8>) {
  // expected-error @below {{index has shape [1, 4, 4, 3]; expected [1, 4, 4, 4]}}
  %dx = train.max_pool_grad(%dy, %index) {dilation = array<i64: 1, 1>, kernel = array<i64: 2, 2>, pad = array<i64: 0, 0, 0, 0>, stride = array<i64: 2, 2>} : (tensor<1x4x4x4xf32>, tensor<1x4x4x3xui8>) -> tensor<1x4x8x8xf32>
  return
}

// -----

func.func @avg_pool_grad(%dy: tensor<1x4x4x4xf32>) {
  // expected-error @below {{pad has 2 entries; expected 4}}
  %dx = train.avg_pool_grad(%dy) {count_include_pad = true, dilation = array<i64: 1, 1>, kernel = array<i64: 2, 2>, pad = array<i64: 0, 0>, stride = array<i64: 2, 2>} : (tensor<1x4x4x4xf32>) -> tensor<1x4x8x8xf32>
  return
}

// -----

func.func @reduce_max(%x: tensor<2x4xf32>) {
  // expected-error @below {{axis is 2; expected 0 to 1}}
  %y = train.reduce_max(%x) {axis = 2 : i64} : (tensor<2x4xf32>) -> tensor<2x1xf32>
  return
}

// -----

func.func @softmax_grad(%x: tensor<2x4xf32>) {
  // expected-error @below {{axis is 9223372036854775807; expected 0 to 1}}
  %y = train.softmax_grad(%x, %x) {axis = 9223372036854775807 : i64} : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  return
}

// -----

func.func @one_hot(%labels: tensor<2xi32>) {
  // expected-error @below {{first_class is -9223372036854775808}}
  %y = train.one_hot(%labels) {first_class = -9223372036854775808 : i64} : (tensor<2xi32>) -> tensor<2x4xf32>
  return
}

// -----

// The product of the degrees is 1 in 64 bits.
func.func @tiles(%x: tensor<4xf32>) {
  // expected-error @below {{a tiling cuts into 4294967296 x 4294967296 x 1 x 1 x 1 tiles}}
  %y = train.map "x0"(%x) {train.tiling = #train.tiling<n = 4294967296 c = 4294967296 h = 1 w = 1 k = 1 on [<"0.0.0">]>} : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @no_tiles(%x: tensor<4xf32>) {
  // expected-error @below {{a tiling cuts into -1 x -1 x 1 x 1 x 1 tiles}}
  %y = train.map "x0"(%x) {train.tiling = #train.tiling<n = -1 c = -1 h = 1 w = 1 k = 1 on [<"0.0.0">]>} : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @places(%x: tensor<4xf32>) {
  // expected-error @below {{2 tiles have 1 places}}
  %y = train.map "x0"(%x) {train.tiling = #train.tiling<n = 2 c = 1 h = 1 w = 1 k = 1 on [<"0.0.0">]>} : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @sizes(%x: tensor<4xf32>) {
  // expected-error @below {{sizes of a tiling are not those of its parts: "n" = array<i64: 9223372036854775807, 9223372036854775807>}}
  %y = train.map "x0"(%x) {train.tiling = #train.tiling<n = 2 c = 1 h = 1 w = 1 k = 1 on [<"0.0.0">, <"0.0.0">] sizes = {n = array<i64: 9223372036854775807, 9223372036854775807>}>} : (tensor<4xf32>) -> tensor<4xf32>
  return
}
