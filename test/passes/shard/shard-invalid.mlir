// RUN: lwcc-opt %s -split-input-file -train-shard -verify-diagnostics

func.func @train_step(%x: tensor<2xf32>) -> tensor<2xf32> {
  // expected-error @+1 {{has no train.tiling}}
  %y = train.map "x0"(%x) : (tensor<2xf32>) -> tensor<2xf32>
  return %y : tensor<2xf32>
}

// -----

#k = #train.tiling<n = 1 c = 1 h = 1 w = 1 k = 2 on [<"0.0.0">, <"0.1.0">]>
func.func @train_step(%x: tensor<2xf32>) -> tensor<2xf32> {
  // expected-error @+1 {{is cut along its reduction (k), which this version cannot do yet}}
  %y = train.map "x0"(%x) {train.tiling = #k} : (tensor<2xf32>) -> tensor<2xf32>
  return %y : tensor<2xf32>
}
