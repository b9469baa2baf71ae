// RUN: lwcc-opt %s -split-input-file -train-to-exec -verify-diagnostics

// expected-error @+1 {{has no function @train_step}}
module {
}

// -----

func.func @train_step(%x: tensor<2xf32>) {
  return
}
// expected-error @+1 {{has another signature than @train_step}}
func.func @evaluate(%x: tensor<3xf32>) {
  return
}

// -----

func.func @train_step(%x: tensor<2xf32>, %s: tensor<64xui8> {train.role = #train.role<scalars>}) -> tensor<2xf32> {
  // expected-error @+1 {{is not a runtime call}}
  %y = train.dropout(%x, %s) {ratio = 0.5 : f32, stream = 1 : i64} : (tensor<2xf32>, tensor<64xui8>) -> tensor<2xf32>
  return %y : tensor<2xf32>
}
func.func @evaluate(%x: tensor<2xf32>, %s: tensor<64xui8> {train.role = #train.role<scalars>}) -> tensor<2xf32> {
  return %x : tensor<2xf32>
}

// -----

train.parameter trainable @w : tensor<2xf32> init<constant 0.0>
func.func @train_step(%x: tensor<2xf32>) -> tensor<2xf32> {
  %w = train.read @w : tensor<2xf32>
  %y = train.map "x0"(%x) : (tensor<2xf32>) -> tensor<2xf32>
  // expected-error @+1 {{overwrites a value that is read later}}
  train.write @w, %y : tensor<2xf32>
  // expected-note @+1 {{read here}}
  %z = train.map "x0 + x1"(%x, %w) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  return %z : tensor<2xf32>
}
func.func @evaluate(%x: tensor<2xf32>) -> tensor<2xf32> {
  return %x : tensor<2xf32>
}

// -----

train.parameter trainable @w : tensor<2xf32> init<constant 0.0>
train.parameter optimizer @m : tensor<2xf32> init<constant 0.0>
func.func @train_step(%g: tensor<2xf32>, %s: tensor<64xui8> {train.role = #train.role<scalars>}, %loss: tensor<f32>) -> tensor<2xf32> {
  %w = train.read @w : tensor<2xf32>
  %m = train.read @m : tensor<2xf32>
  // expected-error @+1 {{works in place on 'w', whose old value is read later}}
  %n, %k = train.sgd(%w, %m, %s, %loss, %g) : (tensor<2xf32>, tensor<2xf32>, tensor<64xui8>, tensor<f32>, tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>)
  // expected-note @+1 {{read here}}
  %z = train.map "x0 + x1"(%w, %n) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  return %z : tensor<2xf32>
}
func.func @evaluate(%g: tensor<2xf32>, %s: tensor<64xui8> {train.role = #train.role<scalars>}, %loss: tensor<f32>) -> tensor<2xf32> {
  return %g : tensor<2xf32>
}
