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

// expected-error @below {{gives one number for a sample; say what it is}}
func.func @model(%x: tensor<2xf32> {train.name = "x"}, %scalars: tensor<64xui8> {train.name = "scalars", train.role = #train.role<scalars>}) -> tensor<2xf32> {
  return %x : tensor<2xf32>
}

// -----

// One number could be meant for several losses.
func.func @model(%x: tensor<2x3xf32> {train.name = "x"}, %w: tensor<3x1xf32>, %scalars: tensor<64xui8> {train.name = "scalars", train.role = #train.role<scalars>}) -> tensor<2x1xf32> {
  // expected-error @below {{gives one number for a sample; say what it is: --loss=bce of two classes, --loss=mse (l1, huber) of a quantity, or --loss=output if the model computes its loss itself}}
  %y = train.matmul(%x, %w) : (tensor<2x3xf32>, tensor<3x1xf32>) -> tensor<2x1xf32>
  return %y : tensor<2x1xf32>
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

// -----

// Outputs beside the main one are trained against its labels.
module attributes {train.auxiliary = [{name = "early", weight = 3.0e-1}, {name = "late", weight = 1.0}]} {
  func.func @model(%x: tensor<2x10xf32> {train.name = "x"}, %scalars: tensor<64xui8> {train.name = "scalars", train.role = #train.role<scalars>}) -> (tensor<2x10xf32>, tensor<2x4xf32>, tensor<2x10x3xf32>) {
    // expected-error @below {{gives 2x4 as output 'early' (--aux), where the main one gives 2x10}}
    %a = train.constant dense<1.0> : tensor<2x4xf32>
    // expected-error @below {{gives 2x10x3 as output 'late' (--aux), where the main one gives 2x10}}
    %b = train.constant dense<1.0> : tensor<2x10x3xf32>
    return %x, %a, %b : tensor<2x10xf32>, tensor<2x4xf32>, tensor<2x10x3xf32>
  }
}

// -----

module attributes {train.auxiliary = [{name = "early", weight = 3.0e-1}]} {
  // expected-error @below {{@model has 1 results; expected logits, or loss and logits, or logits and the train.auxiliary outputs}}
  func.func @model(%x: tensor<2x10xf32> {train.name = "x"}, %scalars: tensor<64xui8> {train.name = "scalars", train.role = #train.role<scalars>}) -> tensor<2x10xf32> {
    return %x : tensor<2x10xf32>
  }
}
