// RUN: lwcc-opt %s -train-autodiff -split-input-file -verify-diagnostics

// expected-error @below {{expected a function @train_step}}
module {
}

// -----

train.parameter frozen @w : tensor<4x4xf32> init<normal 0.0, 0.1>
// expected-error @below {{no trainable parameter influences the loss}}
func.func @train_step(%x: tensor<2x4xf32>, %labels: tensor<2xi32> {train.role = #train.role<labels>}, %scalars: tensor<64xui8> {train.role = #train.role<scalars>}) -> tensor<f32> {
  %w = train.read @w : tensor<4x4xf32>
  %a = train.matmul(%x, %w) : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
  %loss, %probs = train.cross_entropy(%a, %labels) : (tensor<2x4xf32>, tensor<2xi32>) -> (tensor<f32>, tensor<2x4xf32>)
  return %loss : tensor<f32>
}

// -----

train.parameter trainable @w : tensor<4x4xf32> init<normal 0.0, 0.1>
func.func @train_step(%x: tensor<2x4xf32>, %labels: tensor<2xi32> {train.role = #train.role<labels>}, %scalars: tensor<64xui8> {train.role = #train.role<scalars>}) -> tensor<f32> {
  %w = train.read @w : tensor<4x4xf32>
  %a = train.matmul(%x, %w) : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
  // expected-error @below {{'train.map' op has no gradient, but a trainable parameter influences the loss through it}}
  %b = train.map "floor(x0)"(%a) : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %loss, %probs = train.cross_entropy(%b, %labels) : (tensor<2x4xf32>, tensor<2xi32>) -> (tensor<f32>, tensor<2x4xf32>)
  return %loss : tensor<f32>
}

// -----

train.parameter trainable @w : tensor<4x4xf32> init<normal 0.0, 0.1>
func.func @train_step(%x: tensor<2x4xf32>, %labels: tensor<2xi32> {train.role = #train.role<labels>}, %scalars: tensor<64xui8> {train.role = #train.role<scalars>}) -> tensor<f32> {
  %w = train.read @w : tensor<4x4xf32>
  %a = train.matmul(%x, %w) : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
  // expected-error @below {{'train.cross_entropy' op can be differentiated by its first result only}}
  %loss, %probs = train.cross_entropy(%a, %labels) : (tensor<2x4xf32>, tensor<2xi32>) -> (tensor<f32>, tensor<2x4xf32>)
  %sum = train.reduce(%probs) {axes = array<i64: 0, 1>, mean = false} : (tensor<2x4xf32>) -> tensor<f32>
  return %sum : tensor<f32>
}

// -----

train.parameter trainable @w : tensor<4x4xf32> init<normal 0.0, 0.1>
train.parameter trainable @u : tensor<4xf32> init<constant 0.0>
train.parameter trainable @v : tensor<4xf32> init<constant 0.0>
// expected-warning @below {{the loss does not depend on these trainable parameters, which keep their values: u, v}}
func.func @train_step(%x: tensor<2x4xf32>, %labels: tensor<2xi32> {train.role = #train.role<labels>}, %scalars: tensor<64xui8> {train.role = #train.role<scalars>}) -> tensor<f32> {
  %w = train.read @w : tensor<4x4xf32>
  %u = train.read @u : tensor<4xf32>
  %v = train.read @v : tensor<4xf32>
  %a = train.matmul(%x, %w) : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
  %b = train.map "x0 + x1"(%u, %v) {fn = "add"} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %loss, %probs = train.cross_entropy(%a, %labels) : (tensor<2x4xf32>, tensor<2xi32>) -> (tensor<f32>, tensor<2x4xf32>)
  return %loss : tensor<f32>
}

// -----

// expected-error @below {{has no argument that is #train.role<scalars>}}
func.func @train_step(%x: tensor<2x4xf32>) -> tensor<f32> {
  %y = train.reduce(%x) {axes = array<i64: 0, 1>, mean = false} : (tensor<2x4xf32>) -> tensor<f32>
  return %y : tensor<f32>
}
