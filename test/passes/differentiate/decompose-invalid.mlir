// RUN: lwcc-opt %s -train-decompose -verify-diagnostics

func.func @one_value_per_channel(%x: tensor<1x4xf32>, %c: tensor<4xf32>) -> tensor<1x4xf32> {
  // expected-error @below {{batch normalization needs more than one value per channel to train; found an input of 'tensor<1x4xf32>' (use a larger batch)}}
  %n:5 = train.batch_norm(%x, %c, %c, %c, %c) {epsilon = 1.0e-3 : f32, momentum = 0.9 : f32} : (tensor<1x4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<1x4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>)
  return %n#0 : tensor<1x4xf32>
}
