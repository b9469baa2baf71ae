// RUN: lwcc-opt %s -train-add-loss -split-input-file -verify-diagnostics

// expected-error @below {{expected a function @model}}
module {
}

// -----

// expected-error @below {{@model has no argument that is #train.role<scalars>}}
func.func @model(%x: tensor<2x10xf32> {train.name = "x"}) -> tensor<2x10xf32> {
  return %x : tensor<2x10xf32>
}

// -----

// expected-error @below {{logits have rank 1; expected scores of samples and classes}}
func.func @model(%x: tensor<2xf32> {train.name = "x"}, %scalars: tensor<64xui8> {train.name = "scalars", train.role = #train.role<scalars>}) -> tensor<2xf32> {
  return %x : tensor<2xf32>
}

// -----

// An image of the input's own size is no map of classes.
func.func @model(%x: tensor<2x3x4x4xf32> {train.name = "x"}, %scalars: tensor<64xui8> {train.name = "scalars", train.role = #train.role<scalars>}) -> tensor<2x3x4x4xf32> {
  // expected-error @below {{gives as many numbers for a sample as its input has (48), as an autoencoder does}}
  %y = train.map "x0 * 2.0f"(%x) : (tensor<2x3x4x4xf32>) -> tensor<2x3x4x4xf32>
  return %y : tensor<2x3x4x4xf32>
}

// -----

// expected-error @below {{@model has 3 results; expected logits, or loss and logits}}
func.func @model(%x: tensor<2x10xf32>) -> (tensor<2x10xf32>, tensor<2x10xf32>, tensor<2x10xf32>) {
  return %x, %x, %x : tensor<2x10xf32>, tensor<2x10xf32>, tensor<2x10xf32>
}

// -----

// expected-error @below {{@model has a loss but no argument that is #train.role<labels>}}
func.func @model(%x: tensor<2x10xf32>, %loss: tensor<f32>) -> (tensor<f32>, tensor<2x10xf32>) {
  return %loss, %x : tensor<f32>, tensor<2x10xf32>
}
