// RUN: lwcc-opt %s -split-input-file -train-shard -verify-diagnostics

func.func @train_step(%x: tensor<2xf32>) -> tensor<2xf32> {
  // expected-error @+1 {{has no train.tiling}}
  %y = train.map "x0"(%x) : (tensor<2xf32>) -> tensor<2xf32>
  return %y : tensor<2xf32>
}

// -----

#two = #train.tiling<n = 2 c = 1 h = 1 w = 1 k = 1 on [<"0.0.0">, <"0.0.1">]>
func.func @train_step(%x: tensor<2xf32>) -> tensor<2xf32> {
  // expected-error @+1 {{has 2 tiles; that needs more than one device, which this version cannot place yet}}
  %y = train.map "x0"(%x) {train.tiling = #two} : (tensor<2xf32>) -> tensor<2xf32>
  return %y : tensor<2xf32>
}

// -----

#a = #train.tiling<n = 1 c = 1 h = 1 w = 1 k = 1 on [<"0.0.0">]>
#b = #train.tiling<n = 1 c = 1 h = 1 w = 1 k = 1 on [<"0.1.0">]>
func.func @train_step(%x: tensor<2xf32>) -> tensor<2xf32> {
  %y = train.map "x0"(%x) {train.tiling = #a, train.names = ["y"]} : (tensor<2xf32>) -> tensor<2xf32>
  // expected-error @+1 {{runs at #train.place<"0.1.0"> but its operand 'y' lies at #train.place<"0.0.0">; transfers between devices cannot be made yet}}
  %z = train.map "x0"(%y) {train.tiling = #b} : (tensor<2xf32>) -> tensor<2xf32>
  return %z : tensor<2xf32>
}
