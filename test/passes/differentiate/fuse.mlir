// RUN: lwcc-opt %s -train-fuse -split-input-file | FileCheck %s

// Bias and ReLU belong to the product; the fused op has the ReLU's name.

// CHECK-LABEL: func.func @product
// CHECK-SAME:    %[[X:[^:]*]]: tensor<2x4xf32>, %[[W:[^:]*]]: tensor<4x5xf32>, %[[B:[^:]*]]: tensor<5xf32>
// CHECK:         %[[Y:.*]] = train.matmul(%[[X]], %[[W]], %[[B]]) {relu = true, train.names = ["y"], train.work = #train.work<"fc" forward>}
// CHECK-NOT:     train.map
// CHECK:         return %[[Y]]
func.func @product(%x: tensor<2x4xf32>, %w: tensor<4x5xf32>, %b: tensor<5xf32>) -> tensor<2x5xf32> {
  %p = train.matmul(%x, %w) {train.work = #train.work<"fc" forward>, train.names = ["p"]} : (tensor<2x4xf32>, tensor<4x5xf32>) -> tensor<2x5xf32>
  %s = train.map "x0 + x1"(%b, %p) {fn = "add", train.names = ["s"]} : (tensor<5xf32>, tensor<2x5xf32>) -> tensor<2x5xf32>
  %y = train.map "max(x0, 0.0f)"(%s) {fn = "relu", train.names = ["y"]} : (tensor<2x5xf32>) -> tensor<2x5xf32>
  return %y : tensor<2x5xf32>
}

// -----

// A product that somebody else reads keeps its result as it is.

// CHECK-LABEL: func.func @product_is_read_twice
// CHECK:         train.matmul(%{{.*}}, %{{.*}}) :
// CHECK:         train.map "max(x0, 0.0f)"
func.func @product_is_read_twice(%x: tensor<2x4xf32>, %w: tensor<4x5xf32>) -> (tensor<2x5xf32>, tensor<2x5xf32>) {
  %p = train.matmul(%x, %w) : (tensor<2x4xf32>, tensor<4x5xf32>) -> tensor<2x5xf32>
  %y = train.map "max(x0, 0.0f)"(%p) {fn = "relu"} : (tensor<2x5xf32>) -> tensor<2x5xf32>
  return %y, %p : tensor<2x5xf32>, tensor<2x5xf32>
}

// -----

// The end of a residual block is one kernel, with the last one's labels.

// CHECK-LABEL: func.func @residual
// CHECK-SAME:    %[[X:[^:]*]]: tensor<2x4xf32>, %[[SKIP:[^:]*]]: tensor<2x4xf32>, %[[C:[^:]*]]: tensor<4xf32>
// CHECK-NEXT:    %[[Y:.*]] = train.map "max((x0 - x1) * (x1 * x1) + x1 + x2, 0.0f)"(%[[X]], %[[C]], %[[SKIP]]) {train.names = ["y"], train.work = #train.work<"relu" forward>}
// CHECK-NEXT:    return %[[Y]]
func.func @residual(%x: tensor<2x4xf32>, %skip: tensor<2x4xf32>, %c: tensor<4xf32>) -> tensor<2x4xf32> {
  %n = train.map "(x0 - x1) * (x2 * x3) + x4"(%x, %c, %c, %c, %c) {fn = "batch_norm_apply", train.work = #train.work<"bn" forward>} : (tensor<2x4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
  %s = train.map "x0 + x1"(%n, %skip) {fn = "add", train.work = #train.work<"add" forward>} : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  %y = train.map "max(x0, 0.0f)"(%s) {fn = "relu", train.work = #train.work<"relu" forward>, train.names = ["y"]} : (tensor<2x4xf32>) -> tensor<2x4xf32>
  return %y : tensor<2x4xf32>
}

// -----

// Splat constants are literals; one that a kernel reads is filled in memory.

// CHECK-LABEL: func.func @constants
// CHECK-SAME:    %[[X:[^:]*]]: tensor<2x4xf32>
// CHECK:         %[[FILL:.*]] = train.fill() {value = 2.000000e+00 : f32} : () -> tensor<4x4xf32>
// CHECK:         %[[Y:.*]] = train.map "x0 / 3.0f"(%[[X]])
// CHECK:         train.matmul(%[[Y]], %[[FILL]])
// CHECK-NOT:     train.constant
func.func @constants(%x: tensor<2x4xf32>) -> tensor<2x4xf32> {
  %two = train.constant dense<2.0> : tensor<4x4xf32>
  %three = train.constant dense<3.0> : tensor<f32>
  %y = train.map "x0 / x1"(%x, %three) {fn = "div"} : (tensor<2x4xf32>, tensor<f32>) -> tensor<2x4xf32>
  %z = train.matmul(%y, %two) : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
  return %z : tensor<2x4xf32>
}

// -----

// A small map is not computed anew for every element that it is broadcast to.

// CHECK-LABEL: func.func @broadcast
// CHECK:         %[[GATE:.*]] = train.map "sigmoid(x0)"
// CHECK:         train.map "x0 * x1"(%{{.*}}, %[[GATE]])
func.func @broadcast(%x: tensor<2x4x8x8xf32>, %g: tensor<2x4x1x1xf32>) -> tensor<2x4x8x8xf32> {
  %s = train.map "sigmoid(x0)"(%g) {fn = "sigmoid"} : (tensor<2x4x1x1xf32>) -> tensor<2x4x1x1xf32>
  %y = train.map "x0 * x1"(%x, %s) {fn = "mul"} : (tensor<2x4x8x8xf32>, tensor<2x4x1x1xf32>) -> tensor<2x4x8x8xf32>
  return %y : tensor<2x4x8x8xf32>
}

// -----

// Not across phases: the backward pass would keep x instead of y. And dropout
// keeps its mask and its scalars when it is fused.

// CHECK-LABEL: func.func @phases
// CHECK:         train.map "2.0f * x0 * dropout_mask(0.5f, 1u)"(%{{.*}}) scalars(%{{.*}} : tensor<64xui8>) {{{.*}}train.work = #train.work<{{.*}}forward>}
// CHECK:         train.map "x0 * x1"(%{{.*}}) {fn = "mul", {{.*}}train.work = #train.work<{{.*}}backward>}
func.func @phases(%dy: tensor<2x4xf32>, %scalars: tensor<64xui8> {train.role = #train.role<scalars>}) -> tensor<2x4xf32> {
  %x = train.fill() {value = 1.0 : f32} : () -> tensor<2x4xf32>
  %d = train.map "2.0f * x0"(%x) {train.work = #train.work<"" forward>} : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %y = train.map "x0 * dropout_mask(0.5f, 1u)"(%d) scalars(%scalars : tensor<64xui8>) {train.work = #train.work<"" forward>} : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %z = train.map "x0 * x1"(%dy, %y) {fn = "mul", train.work = #train.work<"" backward>} : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  return %z : tensor<2x4xf32>
}

// -----

// A normalization whose activation looks at its input again in the backward
// pass: recomputed there, since the convolution's result is kept anyway.

// CHECK-LABEL: func.func @recompute
// CHECK:         %[[C:.*]] = train.fill
// CHECK:         %[[Y:.*]] = train.map "min(max(x0 * x1, 0.0f), 6.0f)"(%[[C]], %[[S:[^)]*]])
// CHECK:         train.softmax(%[[Y]])
// CHECK:         train.map "x1 * x2 >= 0.0f && x1 * x2 <= 6.0f ? x0 : 0.0f"(%{{.*}}, %[[C]], %[[S]])
func.func @recompute(%dy: tensor<2x4xf32>, %s: tensor<4xf32>) -> tensor<2x4xf32> {
  %c = train.fill() {value = 1.0 : f32} : () -> tensor<2x4xf32>
  %n = train.map "x0 * x1"(%c, %s) {train.work = #train.work<"" forward>} : (tensor<2x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
  %y = train.map "min(max(x0, 0.0f), 6.0f)"(%n) {train.work = #train.work<"" forward>} : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %p = train.softmax(%y) {axis = 1 : i64} : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %dn = train.map "x1 >= 0.0f && x1 <= 6.0f ? x0 : 0.0f"(%dy, %n) {train.work = #train.work<"" backward>} : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  %dc = train.softmax_grad(%dn, %c) {axis = 1 : i64, train.work = #train.work<"" backward>} : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  %r = train.map "x0 + x1"(%dc, %p) {train.work = #train.work<"" backward>} : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  return %r : tensor<2x4xf32>
}

// -----

// A sum of gradients is not put off, which would keep both summands, but it
// may wait for an update, which takes no memory.

// CHECK-LABEL: func.func @sums
// CHECK:         train.map "x0 + x1"
// CHECK:         train.softmax
// CHECK:         train.sgd
// CHECK:         train.map "x0 + x1 + 1.0f"
func.func @sums(%x: tensor<2x4xf32>, %w: tensor<4xf32>, %scalars: tensor<64xui8> {train.role = #train.role<scalars>}, %loss: tensor<f32>) -> tensor<2x4xf32> {
  %a = train.softmax(%x) {axis = 1 : i64} : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %b = train.softmax(%x) {axis = 0 : i64} : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %ab = train.map "x0 + x1"(%a, %b) : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  %c = train.softmax(%x) {axis = 1 : i64} : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %abc = train.map "x0 + x1"(%ab, %c) : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  %new, %m = train.sgd(%w, %w, %scalars, %loss, %w) {train.work = #train.work<"" update>} : (tensor<4xf32>, tensor<4xf32>, tensor<64xui8>, tensor<f32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
  train.write @w, %new {train.work = #train.work<"" update>} : tensor<4xf32>
  %y = train.map "x0 + 1.0f"(%abc) : (tensor<2x4xf32>) -> tensor<2x4xf32>
  return %y : tensor<2x4xf32>
}

// -----

// The gradient of x now reads the old weight later; the update waits for it.

// CHECK-LABEL: func.func @update_waits
// CHECK:         %[[W:.*]] = train.read @w
// CHECK:         train.map "x2 <= 0.0f ? 0.0f : x0 * x1"(%{{.*}}, %[[W]], %{{.*}})
// CHECK-NEXT:    %[[NEW:.*]], %[[M:.*]] = train.sgd(%[[W]]
// CHECK-NEXT:    train.write @w, %[[NEW]]
// CHECK-NEXT:    train.write @w.momentum, %[[M]]
train.parameter trainable @w : tensor<2x4xf32> init<constant 1.0>
train.parameter optimizer @w.momentum : tensor<2x4xf32> init<constant 0.0>
func.func @update_waits(%dy: tensor<2x4xf32>, %y: tensor<2x4xf32>, %scalars: tensor<64xui8> {train.role = #train.role<scalars>}, %loss: tensor<f32>) -> tensor<2x4xf32> {
  %w = train.read @w : tensor<2x4xf32>
  %dx = train.map "x0 * x1"(%dy, %w) {train.work = #train.work<"" backward>} : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  %m = train.read @w.momentum : tensor<2x4xf32>
  %new, %mnew = train.sgd(%w, %m, %scalars, %loss, %dy) {train.work = #train.work<"" update>} : (tensor<2x4xf32>, tensor<2x4xf32>, tensor<64xui8>, tensor<f32>, tensor<2x4xf32>) -> (tensor<2x4xf32>, tensor<2x4xf32>)
  train.write @w, %new : tensor<2x4xf32>
  train.write @w.momentum, %mnew : tensor<2x4xf32>
  %dz = train.map "x1 <= 0.0f ? 0.0f : x0"(%dx, %y) {train.work = #train.work<"" backward>} : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  return %dz : tensor<2x4xf32>
}
