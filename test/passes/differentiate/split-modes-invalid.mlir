// RUN: lwcc-opt %s -train-split-modes -split-input-file -verify-diagnostics

// expected-error @below {{expected a function @model}}
module {
}

// -----

func.func @model(%x: tensor<2x4xf32>, %c: tensor<4xf32>) -> tensor<2x4xf32> {
  // expected-error @below {{running statistics are computed; expected parameters}}
  %n:5 = train.batch_norm(%x, %c, %c, %c, %c) {epsilon = 1.0e-3 : f32, momentum = 0.9 : f32} : (tensor<2x4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<2x4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>)
  return %n#0 : tensor<2x4xf32>
}
