// RUN: lwcc-opt %s -train-add-loss -train-split-modes -train-autodiff -train-decompose -train-fuse | FileCheck %s
// The whole chapter on a small net with every kind of layer: what a reader of
// the differentiated form should find, and that nothing else is left.

// Optimizer state stands beside its parameter; statistics have none.
// CHECK:       train.parameter {{ *}}trainable @conv.weight
// CHECK-NEXT:  train.parameter {{ *}}optimizer @conv.weight.momentum : tensor<4x1x3x3xf32>
// CHECK:       statistic @bn.running_mean
// CHECK-NEXT:  statistic @bn.running_var

// CHECK-LABEL: func.func @train_step
// CHECK-NOT:     train.constant
// CHECK:         %[[CONV:.*]] = train.conv
// CHECK:         %[[MEAN:.*]], %[[VARIANCE:.*]], %[[INVSTD:.*]] = train.batch_norm_stats(%[[CONV]])
// CHECK:         train.write @bn.running_mean
// CHECK-NEXT:    train.write @bn.running_var
// CHECK-NEXT:    %[[RELU:.*]] = train.map "max((x0 - x1) * (x2 * x3) + x4, 0.0f)"(%[[CONV]],
// CHECK-NEXT:    %[[POOL:.*]], %[[INDEX:.*]] = train.max_pool(%[[RELU]])
// CHECK-NEXT:    %[[FLAT:.*]] = train.reshape(%[[POOL]])
// CHECK-NEXT:    %[[DROP:.*]] = train.map "x0 * dropout_mask(0.5f, 7u)"(%[[FLAT]])
// CHECK-NEXT:    %[[LOGITS:.*]] = train.matmul(%[[DROP]],
// CHECK-NEXT:    %[[LOSS:.*]], %[[PROBS:.*]] = train.cross_entropy(%[[LOGITS]],
// CHECK-NEXT:    %[[COUNTS:.*]] = train.accuracy
// CHECK-NEXT:    %[[ONE:.*]] = train.fill
// CHECK-NEXT:    %[[DLOGITS:.*]] = train.cross_entropy_grad(%[[ONE]], %[[PROBS]],
// CHECK-NEXT:    %[[DDROP:.*]] = train.matmul(%[[DLOGITS]],
// CHECK:         train.write @fc.weight,
// CHECK:         train.write @fc.bias,
// CHECK:         train.map "x0 * dropout_mask(0.5f, 7u)"(%[[DDROP]])
// CHECK:         %[[DRELU:.*]] = train.max_pool_grad(%{{.*}}, %[[INDEX]])
// CHECK-NEXT:    %[[DBN:.*]] = train.map "x1 <= 0.0f ? 0.0f : x0"(%[[DRELU]], %[[RELU]])
// CHECK-NEXT:    train.batch_norm_grad_stats(%[[DBN]], %[[CONV]], %[[MEAN]], %[[INVSTD]])
// CHECK:         train.write @bn.weight,
// CHECK:         train.write @bn.bias,
// CHECK-NOT:     train.conv_grad_input
// CHECK:         train.conv_grad_weight
// CHECK:         train.write @conv.weight,
// CHECK:         return %[[LOSS]], %[[COUNTS]]

// CHECK-LABEL: func.func @evaluate
// CHECK-NOT:     dropout
// CHECK-NOT:     train.write
// CHECK-NOT:     train.work = #train.work<{{.*}}backward>
// CHECK:         return

module attributes {train.batch = 2 : i64, train.model = "small.onnx"} {
  train.parameter trainable @conv.weight : tensor<4x1x3x3xf32> init<normal 0.0, 0.1>
  train.parameter trainable @bn.weight : tensor<4xf32> init<constant 1.0>
  train.parameter trainable @bn.bias : tensor<4xf32> init<constant 0.0>
  train.parameter statistic @bn.running_mean : tensor<4xf32> init<constant 0.0>
  train.parameter statistic @bn.running_var : tensor<4xf32> init<constant 1.0>
  train.parameter trainable @fc.weight : tensor<10x64xf32> init<blob at 0>
  train.parameter trainable @fc.bias : tensor<10xf32> init<blob at 2560>

  func.func @model(%x: tensor<2x1x8x8xf32> {train.name = "image"},
                   %scalars: tensor<64xui8> {train.name = "scalars", train.role = #train.role<scalars>}) -> tensor<2x10xf32> {
    %w = train.read @conv.weight : tensor<4x1x3x3xf32>
    %s = train.read @bn.weight : tensor<4xf32>
    %b = train.read @bn.bias : tensor<4xf32>
    %m = train.read @bn.running_mean : tensor<4xf32>
    %v = train.read @bn.running_var : tensor<4xf32>
    %fw = train.read @fc.weight : tensor<10x64xf32>
    %fb = train.read @fc.bias : tensor<10xf32>
    %c = train.conv(%x, %w) {dilation = array<i64: 1, 1>, group = 1 : i64, pad = array<i64: 1, 1, 1, 1>, stride = array<i64: 1, 1>, train.work = #train.work<"conv" forward>, train.names = ["conv_out"]} : (tensor<2x1x8x8xf32>, tensor<4x1x3x3xf32>) -> tensor<2x4x8x8xf32>
    %n:5 = train.batch_norm(%c, %s, %b, %m, %v) {epsilon = 1.0e-5 : f32, momentum = 0.9 : f32, train.work = #train.work<"bn" forward>, train.names = ["bn_out", "", "", "", ""]} : (tensor<2x4x8x8xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<2x4x8x8xf32>, tensor<4x1x1xf32>, tensor<4x1x1xf32>, tensor<4xf32>, tensor<4xf32>)
    %r = train.map "max(x0, 0.0f)" (%n#0) {fn = "relu", train.work = #train.work<"relu" forward>, train.names = ["relu_out"]} : (tensor<2x4x8x8xf32>) -> tensor<2x4x8x8xf32>
    %p:2 = train.max_pool(%r) {dilation = array<i64: 1, 1>, kernel = array<i64: 2, 2>, pad = array<i64: 0, 0, 0, 0>, stride = array<i64: 2, 2>, train.work = #train.work<"pool" forward>, train.names = ["pool_out", "pool_index"]} : (tensor<2x4x8x8xf32>) -> (tensor<2x4x4x4xf32>, tensor<2x4x4x4xui8>)
    %f = train.reshape(%p#0) {train.work = #train.work<"flatten" forward>, train.names = ["flat"]} : (tensor<2x4x4x4xf32>) -> tensor<2x64xf32>
    %d = train.dropout(%f, %scalars) {ratio = 0.5 : f32, stream = 7 : i64, train.work = #train.work<"drop" forward>, train.names = ["drop_out"]} : (tensor<2x64xf32>, tensor<64xui8>) -> tensor<2x64xf32>
    %l = train.matmul(%d, %fw, %fb) {transpose_b = true, train.work = #train.work<"fc" forward>, train.names = ["logits"]} : (tensor<2x64xf32>, tensor<10x64xf32>, tensor<10xf32>) -> tensor<2x10xf32>
    return %l : tensor<2x10xf32>
  }
}
