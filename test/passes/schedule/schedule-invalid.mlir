// RUN: lwcc-opt %s -train-schedule -verify-diagnostics

train.parameter trainable @w : tensor<2xf32> init<constant 0.0>
train.parameter optimizer @m : tensor<2xf32> init<constant 0.0>

// expected-error @+1 {{cannot be ordered: an op needs both the old and the new value of a parameter that is updated in place}}
func.func @both_values(%g: tensor<2xf32>, %scalars: tensor<64xui8> {train.role = #train.role<scalars>}, %loss: tensor<f32>) -> tensor<2xf32> {
  %w = train.read @w : tensor<2xf32>
  %m = train.read @m : tensor<2xf32>
  %n, %k = train.sgd(%w, %m, %scalars, %loss, %g) : (tensor<2xf32>, tensor<2xf32>, tensor<64xui8>, tensor<f32>, tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>)
  train.write @w, %n : tensor<2xf32>
  %both = train.map "x0 - x1"(%w, %n) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  return %both : tensor<2xf32>
}
