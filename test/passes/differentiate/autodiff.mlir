// RUN: lwcc-opt %s -train-autodiff -split-input-file | FileCheck %s
// Not tested here: the numbers (parity tests), batch_norm (decompose.mlir).

// Data gradient before weight gradient; every parameter is updated as soon as
// its gradient exists; nobody needs the gradient of the input.

// CHECK:       train.parameter optimizer @conv.momentum : tensor<4x3x3x3xf32> init<constant 0.0
// CHECK-LABEL: func.func @train_step
// CHECK-SAME:    %[[X:[^:]*]]: tensor<2x3x4x4xf32>, %[[LABELS:[^:]*]]: tensor<2xi32> {{{.*}}}, %[[SCALARS:[^:]*]]: tensor<64xui8>
// CHECK-DAG:     %[[W:.*]] = train.read @conv
// CHECK-DAG:     %[[B:.*]] = train.read @conv.bias
// CHECK-DAG:     %[[FC:.*]] = train.read @fc
// CHECK:         %[[RELU:.*]] = train.map "max(x0, 0.0f)"
// CHECK:         %[[FLAT:.*]] = train.reshape(%[[RELU]])
// CHECK:         %[[LOSS:.*]], %[[PROBS:.*]] = train.cross_entropy
// CHECK:         %[[ONE:.*]] = train.constant {{.*}}train.names = ["d_loss"]{{.*}} dense<1.0
// CHECK:         %[[DLOGITS:.*]] = train.cross_entropy_grad(%[[ONE]], %[[PROBS]], %[[LABELS]]) {{.*}}train.names = ["d_logits"], train.work = #train.work<{{.*}}backward>
// CHECK:         %[[DFLAT:.*]] = train.matmul(%[[DLOGITS]], %[[FC]]) {train.axes = "n-c", train.names = ["d_flat"], train.work = #train.work<"fc" backward>}
// CHECK:         %[[DFC:.*]] = train.matmul(%[[DLOGITS]], %[[FLAT]]) {{.*}}transpose_a = true
// CHECK:         %[[M:.*]] = train.read @fc.momentum {{.*}}train.work = #train.work<{{.*}}update>
// CHECK:         %[[FCNEW:.*]], %[[MNEW:.*]] = train.sgd(%[[FC]], %[[M]], %[[SCALARS]], %[[LOSS]], %[[DFC]]) {{{.*}}train.work = #train.work<"fc" update>}
// CHECK:         train.write @fc, %[[FCNEW]]
// CHECK:         train.write @fc.momentum, %[[MNEW]]
// CHECK:         %[[DRELU:.*]] = train.reshape(%[[DFLAT]])
// CHECK:         %[[DCONV:.*]] = train.map "x1 <= 0.0f ? 0.0f : x0"(%[[DRELU]], %[[RELU]])
// CHECK-NOT:     train.conv_grad_input
// CHECK:         %[[DW:.*]], %[[DB:.*]] = train.conv_grad_weight(%[[DCONV]], %[[X]]) {{.*}}train.names = ["d_conv", "d_conv.bias"]
// CHECK:         train.sgd(%[[W]], {{.*}}, %[[DW]])
// CHECK:         train.sgd(%[[B]], {{.*}}, %[[DB]])
train.parameter trainable @conv : tensor<4x3x3x3xf32> init<normal 0.0, 0.1>
train.parameter trainable @conv.bias : tensor<4xf32> init<constant 0.0>
train.parameter trainable @fc : tensor<10x64xf32> init<normal 0.0, 0.1>
func.func @train_step(%x: tensor<2x3x4x4xf32>, %labels: tensor<2xi32> {train.role = #train.role<labels>}, %scalars: tensor<64xui8> {train.role = #train.role<scalars>}) -> tensor<f32> {
  %w = train.read @conv : tensor<4x3x3x3xf32>
  %b = train.read @conv.bias : tensor<4xf32>
  %fc = train.read @fc : tensor<10x64xf32>
  %c = train.conv(%x, %w, %b) {dilation = array<i64: 1, 1>, group = 1 : i64, pad = array<i64: 1, 1, 1, 1>, stride = array<i64: 1, 1>, train.work = #train.work<"conv" forward>} : (tensor<2x3x4x4xf32>, tensor<4x3x3x3xf32>, tensor<4xf32>) -> tensor<2x4x4x4xf32>
  %r = train.map "max(x0, 0.0f)"(%c) {fn = "relu", train.work = #train.work<"relu" forward>} : (tensor<2x4x4x4xf32>) -> tensor<2x4x4x4xf32>
  %f = train.reshape(%r) {train.names = ["flat"]} : (tensor<2x4x4x4xf32>) -> tensor<2x64xf32>
  %l = train.matmul(%f, %fc) {transpose_b = true, train.work = #train.work<"fc" forward>, train.names = ["logits"]} : (tensor<2x64xf32>, tensor<10x64xf32>) -> tensor<2x10xf32>
  %loss, %probs = train.cross_entropy(%l, %labels) {train.names = ["loss", "probs"]} : (tensor<2x10xf32>, tensor<2xi32>) -> (tensor<f32>, tensor<2x10xf32>)
  return %loss : tensor<f32>
}

// -----

// A shared parameter: one sum of gradients, one update, after its first use.

// CHECK-LABEL: func.func @train_step
// CHECK:         %[[W:.*]] = train.read @w
// CHECK:         %[[D2:.*]] = train.matmul({{.*}}transpose_a = true
// CHECK-NOT:     train.sgd
// CHECK:         %[[D1:.*]] = train.matmul({{.*}}transpose_a = true
// CHECK:         %[[SUM:.*]] = train.map "x0 + x1"(%[[D2]], %[[D1]]) {{.*}}train.names = ["d_w"]
// CHECK:         train.sgd(%[[W]], {{.*}}, %[[SUM]])
// CHECK-NOT:     train.sgd
train.parameter trainable @w : tensor<4x4xf32> init<normal 0.0, 0.1>
func.func @train_step(%x: tensor<2x4xf32>, %labels: tensor<2xi32> {train.role = #train.role<labels>}, %scalars: tensor<64xui8> {train.role = #train.role<scalars>}) -> tensor<f32> {
  %w = train.read @w : tensor<4x4xf32>
  %a = train.matmul(%x, %w) : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
  %b = train.matmul(%a, %w) : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
  %loss, %probs = train.cross_entropy(%b, %labels) : (tensor<2x4xf32>, tensor<2xi32>) -> (tensor<f32>, tensor<2x4xf32>)
  return %loss : tensor<f32>
}

// -----

// A residual addition hands its gradient on; the two paths meet in a sum. A
// branch that does not reach the loss is gone.

// CHECK-LABEL: func.func @train_step
// CHECK-NOT:     train.softmax
// CHECK:         %[[DY:.*]] = train.cross_entropy_grad
// CHECK:         %[[DBRANCH:.*]] = train.matmul(%[[DY]],
// CHECK:         %[[DA:.*]] = train.map "x0 + x1"(%[[DY]], %[[DBRANCH]]) {{.*}}train.names = ["d_a"]
// CHECK:         train.matmul(%{{.*}}, %[[DA]])
train.parameter trainable @v : tensor<4x4xf32> init<normal 0.0, 0.1>
train.parameter trainable @w : tensor<4x4xf32> init<normal 0.0, 0.1>
func.func @train_step(%x: tensor<2x4xf32>, %labels: tensor<2xi32> {train.role = #train.role<labels>}, %scalars: tensor<64xui8> {train.role = #train.role<scalars>}) -> tensor<f32> {
  %v = train.read @v : tensor<4x4xf32>
  %w = train.read @w : tensor<4x4xf32>
  %a = train.matmul(%x, %v) {train.names = ["a"]} : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
  %unused = train.softmax(%a) {axis = 1 : i64} : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %b = train.matmul(%a, %w) : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
  %y = train.map "x0 + x1"(%a, %b) {fn = "add"} : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  %loss, %probs = train.cross_entropy(%y, %labels) : (tensor<2x4xf32>, tensor<2xi32>) -> (tensor<f32>, tensor<2x4xf32>)
  return %loss : tensor<f32>
}

// -----

// Gradients of broadcast inputs are summed to their shape; a frozen parameter
// has neither gradient nor update.

// CHECK-LABEL: func.func @train_step
// CHECK:         %[[DY:.*]] = train.cross_entropy_grad
// CHECK:         %[[FULL:.*]] = train.map "x0 * x1"(%[[DY]], %{{.*}}) {{.*}}train.names = ["d_y.map"]
// CHECK:         %[[DS:.*]] = train.reduce(%[[FULL]]) {axes = array<i64: 0>, mean = false, {{.*}}train.names = ["d_s"]
// CHECK-NOT:     train.matmul
// CHECK:         train.sgd
// CHECK-NOT:     train.sgd
train.parameter trainable @s : tensor<4xf32> init<constant 1.0>
train.parameter frozen @w : tensor<4x4xf32> init<normal 0.0, 0.1>
func.func @train_step(%x: tensor<2x4xf32>, %labels: tensor<2xi32> {train.role = #train.role<labels>}, %scalars: tensor<64xui8> {train.role = #train.role<scalars>}) -> tensor<f32> {
  %s = train.read @s : tensor<4xf32>
  %w = train.read @w : tensor<4x4xf32>
  %a = train.matmul(%x, %w) : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
  %y = train.map "x0 * x1"(%a, %s) {fn = "mul", train.names = ["y"]} : (tensor<2x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
  %loss, %probs = train.cross_entropy(%y, %labels) : (tensor<2x4xf32>, tensor<2xi32>) -> (tensor<f32>, tensor<2x4xf32>)
  return %loss : tensor<f32>
}
