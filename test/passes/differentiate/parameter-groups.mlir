// RUN: lwcc-opt %s '-train-parameter-groups=freeze=^first groups={fc:lr-scale=0.25},{weight:weight-decay-scale=3} no-decay=bias,norm' | FileCheck %s
// RUN: lwcc-opt %s '-train-parameter-groups=freeze=^first groups={fc:lr-scale=0.25},{weight:weight-decay-scale=3} no-decay=norm' -train-add-loss -train-split-modes -train-autodiff=optimizer=adam | FileCheck %s --check-prefix=STEP

// Saved and exported, but neither gradient nor state; of two groups the first
// counts; a kind only takes the decay away.
// CHECK-DAG: train.parameter frozen @first : tensor<3x3xf32> init<constant 1.000000e+00>{{$}}
// CHECK-DAG: train.parameter trainable @fc.weight : tensor<3x3xf32> init<constant 1.000000e+00> {train.lr_scale = 2.500000e-01 : f32}
// CHECK-DAG: train.parameter trainable @fc.bias : tensor<3xf32> init<constant 1.000000e+00> {train.decay_scale = 0.000000e+00 : f32, train.lr_scale = 2.500000e-01 : f32}
// CHECK-DAG: train.parameter trainable @last.weight : tensor<4x3xf32> init<constant 1.000000e+00> {train.decay_scale = 3.000000e+00 : f32}
// CHECK-DAG: train.parameter trainable @norm.scale : tensor<3xf32> init<constant 1.000000e+00> {train.decay_scale = 0.000000e+00 : f32}
// CHECK-DAG: train.parameter statistic @norm.mean : tensor<3xf32> init<constant 0.000000e+00>{{$}}

// STEP-NOT: @first.exp_avg
// STEP-DAG: train.parameter trainable @fc.weight : tensor<3x3xf32> init<constant 1.000000e+00>{{$}}
// STEP-DAG: train.parameter optimizer @norm.scale.exp_avg_sq
// STEP-LABEL: func.func @train_step
// STEP: %[[LAST:.*]] = train.read @last.weight
// STEP: train.adam(%[[LAST]], {{.*}}) {decay_scale = 3.000000e+00 : f32, train.work = #train.work<"last" update>}
// STEP: train.adam({{.*}}) {decay_scale = 0.000000e+00 : f32, train.work = #train.work<"norm" update>}
// STEP: train.adam({{.*}}) {lr_scale = 2.500000e-01 : f32, train.work = #train.work<"fc" update>}
// STEP: train.adam({{.*}}) {lr_scale = 2.500000e-01 : f32, train.work = #train.work<"fc" update>}
// STEP-NOT: #train.work<"first" backward>
// STEP-NOT: #train.work<"first" update>

train.parameter trainable @first : tensor<3x3xf32> init<constant 1.0>
train.parameter trainable @fc.weight : tensor<3x3xf32> init<constant 1.0>
train.parameter trainable @fc.bias : tensor<3xf32> init<constant 1.0>
train.parameter trainable @last.weight : tensor<4x3xf32> init<constant 1.0>
train.parameter trainable @norm.scale : tensor<3xf32> init<constant 1.0>
train.parameter trainable @norm.bias : tensor<3xf32> init<constant 0.0>
train.parameter statistic @norm.mean : tensor<3xf32> init<constant 0.0>
train.parameter statistic @norm.variance : tensor<3xf32> init<constant 1.0>

func.func @model(%x: tensor<8x3xf32> {train.name = "x"}, %scalars: tensor<64xui8> {train.name = "scalars", train.role = #train.role<scalars>}) -> tensor<8x4xf32> {
  %first = train.read @first {train.work = #train.work<"first" forward>} : tensor<3x3xf32>
  %w = train.read @fc.weight {train.work = #train.work<"fc" forward>} : tensor<3x3xf32>
  %b = train.read @fc.bias {train.work = #train.work<"fc" forward>} : tensor<3xf32>
  %scale = train.read @norm.scale {train.work = #train.work<"norm" forward>} : tensor<3xf32>
  %shift = train.read @norm.bias {train.work = #train.work<"norm" forward>} : tensor<3xf32>
  %mean = train.read @norm.mean {train.work = #train.work<"norm" forward>} : tensor<3xf32>
  %variance = train.read @norm.variance {train.work = #train.work<"norm" forward>} : tensor<3xf32>
  %last = train.read @last.weight {train.work = #train.work<"last" forward>} : tensor<4x3xf32>
  %0 = train.matmul(%x, %first) {transpose_b = true, train.names = ["first"], train.work = #train.work<"first" forward>} : (tensor<8x3xf32>, tensor<3x3xf32>) -> tensor<8x3xf32>
  %1 = train.matmul(%0, %w, %b) {transpose_b = true, train.names = ["fc"], train.work = #train.work<"fc" forward>} : (tensor<8x3xf32>, tensor<3x3xf32>, tensor<3xf32>) -> tensor<8x3xf32>
  %y, %m, %i, %nm, %nv = train.batch_norm(%1, %scale, %shift, %mean, %variance) {epsilon = 1.0e-5 : f32, momentum = 0.9 : f32, train.names = ["norm", "", "", "", ""], train.work = #train.work<"norm" forward>} : (tensor<8x3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> (tensor<8x3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>)
  %2 = train.matmul(%y, %last) {transpose_b = true, train.names = ["last"], train.work = #train.work<"last" forward>} : (tensor<8x3xf32>, tensor<4x3xf32>) -> tensor<8x4xf32>
  return %2 : tensor<8x4xf32>
}
