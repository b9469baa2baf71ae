// RUN: lwcc-opt %s -train-split-modes=group=4 -split-input-file -verify-diagnostics

// expected-error @below {{expected a function @model}}
module {
}

// -----

func.func @model(%x: tensor<4x4xf32>, %c: tensor<4xf32>) -> tensor<4x4xf32> {
  // expected-error @below {{running statistics are computed; expected parameters}}
  %n:5 = train.batch_norm(%x, %c, %c, %c, %c) {epsilon = 1.0e-3 : f32, momentum = 0.9 : f32} : (tensor<4x4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<4x4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>)
  return %n#0 : tensor<4x4xf32>
}

// -----

// Groups must be whole.

train.parameter trainable @c : tensor<3xf32> init<constant 0.0>
// expected-error @below {{--bn=group:4: the batch of 18 samples has no whole groups of 4; use 3 or 6}}
func.func @model(%x: tensor<18x3xf32>) -> tensor<18x3xf32> {
  %c = train.read @c : tensor<3xf32>
  %n:5 = train.batch_norm(%x, %c, %c, %c, %c) {epsilon = 1.0e-3 : f32, momentum = 0.9 : f32} : (tensor<18x3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> (tensor<18x3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>)
  return %n#0 : tensor<18x3xf32>
}

// -----

train.parameter trainable @c : tensor<3xf32> init<constant 0.0>
// expected-error @below {{--bn=group:4: the batch of 2 samples has no whole groups of 4; use 2}}
func.func @model(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %c = train.read @c : tensor<3xf32>
  %n:5 = train.batch_norm(%x, %c, %c, %c, %c) {epsilon = 1.0e-3 : f32, momentum = 0.9 : f32} : (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>)
  return %n#0 : tensor<2x3xf32>
}

// -----

// What is normalized must have a row per sample.

train.parameter trainable @c : tensor<3xf32> init<constant 0.0>
func.func @model(%x: tensor<8x6xf32>) -> tensor<16x3xf32> {
  %c = train.read @c : tensor<3xf32>
  %r = train.reshape(%x) : (tensor<8x6xf32>) -> tensor<16x3xf32>
  // expected-error @below {{--bn=group:4: layer 'bn' normalizes 16 rows, not one for each of the 8 samples; use --bn=global}}
  %n:5 = train.batch_norm(%r, %c, %c, %c, %c) {epsilon = 1.0e-3 : f32, momentum = 0.9 : f32, train.work = #train.work<"bn" forward>} : (tensor<16x3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> (tensor<16x3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>)
  return %n#0 : tensor<16x3xf32>
}
