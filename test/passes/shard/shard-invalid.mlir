// RUN: lwcc-opt %s -split-input-file -train-shard -verify-diagnostics

func.func @train_step(%x: tensor<2xf32>) -> tensor<2xf32> {
  // expected-error @+1 {{has no train.tiling}}
  %y = train.map "x0"(%x) : (tensor<2xf32>) -> tensor<2xf32>
  return %y : tensor<2xf32>
}
