// RUN: lwcc-opt --split-input-file --train-fuse-attention --train-split-slices %s | FileCheck %s

// Queries, keys and values are parts of one product; queries and keys are scaled, and a
// constant mask is added.

train.parameter constant @mask : tensor<5x5xf32> init<constant 0.0>
// CHECK-LABEL: func.func @model(
// CHECK:         %[[S:.*]]:3 = train.split(%arg0) {axis = 2 : i64, sizes = array<i64: 6, 6, 6>
// CHECK:         %[[Y:.*]], %{{.*}}, %{{.*}} = train.attention(%[[S]]#0, %[[S]]#1, %[[S]]#2, %{{.*}}) {heads = 2 : i64, scale = 2.500000e-01 : f32, train.names = ["y", "y.largest", "y.inverse"], train.work = #train.work<"values" forward>}
// CHECK:         %[[H:.*]] = train.reshape(%[[Y]]) {{.*}} -> tensor<3x5x2x3xf32>
// CHECK:         %[[R:.*]] = train.reshape(%[[H]])
// CHECK-NOT:     train.softmax
// CHECK:         return %[[R]]
func.func @model(%x: tensor<3x5x18xf32> {train.name = "x"}) -> tensor<3x5x6xf32> {
  %s:3 = train.split(%x) {axis = 2 : i64, sizes = array<i64: 6, 6, 6>} : (tensor<3x5x18xf32>) -> (tensor<3x5x6xf32>, tensor<3x5x6xf32>, tensor<3x5x6xf32>)
  %q0 = train.reshape(%s#0) : (tensor<3x5x6xf32>) -> tensor<3x5x2x3xf32>
  %k0 = train.reshape(%s#1) : (tensor<3x5x6xf32>) -> tensor<3x5x2x3xf32>
  %v0 = train.reshape(%s#2) : (tensor<3x5x6xf32>) -> tensor<3x5x2x3xf32>
  %q1 = train.transpose(%q0) {perm = array<i64: 0, 2, 1, 3>} : (tensor<3x5x2x3xf32>) -> tensor<3x2x5x3xf32>
  %k1 = train.transpose(%k0) {perm = array<i64: 0, 2, 3, 1>} : (tensor<3x5x2x3xf32>) -> tensor<3x2x3x5xf32>
  %v = train.transpose(%v0) {perm = array<i64: 0, 2, 1, 3>} : (tensor<3x5x2x3xf32>) -> tensor<3x2x5x3xf32>
  %half = train.constant dense<0.5> : tensor<1xf32>
  %q = train.map "x0 * x1"(%q1, %half) {fn = "mul", params = {}} : (tensor<3x2x5x3xf32>, tensor<1xf32>) -> tensor<3x2x5x3xf32>
  %k = train.map "x0 * x1"(%k1, %half) {fn = "mul", params = {}} : (tensor<3x2x3x5xf32>, tensor<1xf32>) -> tensor<3x2x3x5xf32>
  %scores = train.matmul(%q, %k) : (tensor<3x2x5x3xf32>, tensor<3x2x3x5xf32>) -> tensor<3x2x5x5xf32>
  %mask = train.read @mask : tensor<5x5xf32>
  %masked = train.map "x0 + x1"(%scores, %mask) {fn = "add", params = {}} : (tensor<3x2x5x5xf32>, tensor<5x5xf32>) -> tensor<3x2x5x5xf32>
  %p = train.softmax(%masked) {axis = 3 : i64} : (tensor<3x2x5x5xf32>) -> tensor<3x2x5x5xf32>
  %y = train.matmul(%p, %v) {train.names = ["y"], train.work = #train.work<"values" forward>} : (tensor<3x2x5x5xf32>, tensor<3x2x5x3xf32>) -> tensor<3x2x5x3xf32>
  %t = train.transpose(%y) {perm = array<i64: 0, 2, 1, 3>} : (tensor<3x2x5x3xf32>) -> tensor<3x5x2x3xf32>
  %r = train.reshape(%t) : (tensor<3x5x2x3xf32>) -> tensor<3x5x6xf32>
  return %r : tensor<3x5x6xf32>
}

// -----

// Each from a tensor of its own; more keys than queries, of which there are other numbers of
// features; scores are scaled, and keys taken as they are.

// CHECK-LABEL: func.func @model(
// CHECK-NEXT:    %[[Y:.*]], %{{.*}}, %{{.*}} = train.attention(%arg0, %arg1, %arg2) {heads = 2 : i64, scale = 2.500000e-01 : f32
// CHECK-NEXT:    %[[H:.*]] = train.reshape(%[[Y]]) {{.*}} -> tensor<3x5x2x4xf32>
// CHECK-NEXT:    return %[[H]]
func.func @model(%q: tensor<3x5x6xf32> {train.name = "q"}, %k: tensor<3x7x6xf32> {train.name = "k"}, %v: tensor<3x7x8xf32> {train.name = "v"}) -> tensor<3x5x2x4xf32> {
  %q0 = train.reshape(%q) : (tensor<3x5x6xf32>) -> tensor<3x5x2x3xf32>
  %k0 = train.reshape(%k) : (tensor<3x7x6xf32>) -> tensor<3x7x2x3xf32>
  %v0 = train.reshape(%v) : (tensor<3x7x8xf32>) -> tensor<3x7x2x4xf32>
  %q1 = train.transpose(%q0) {perm = array<i64: 0, 2, 1, 3>} : (tensor<3x5x2x3xf32>) -> tensor<3x2x5x3xf32>
  %k1 = train.transpose(%k0) {perm = array<i64: 0, 2, 1, 3>} : (tensor<3x7x2x3xf32>) -> tensor<3x2x7x3xf32>
  %v1 = train.transpose(%v0) {perm = array<i64: 0, 2, 1, 3>} : (tensor<3x7x2x4xf32>) -> tensor<3x2x7x4xf32>
  %scores = train.matmul(%q1, %k1) {transpose_b = true} : (tensor<3x2x5x3xf32>, tensor<3x2x7x3xf32>) -> tensor<3x2x5x7xf32>
  %four = train.constant dense<4.0> : tensor<1xf32>
  %scaled = train.map "x0 / x1"(%scores, %four) {fn = "div", params = {}} : (tensor<3x2x5x7xf32>, tensor<1xf32>) -> tensor<3x2x5x7xf32>
  %p = train.softmax(%scaled) {axis = 3 : i64} : (tensor<3x2x5x7xf32>) -> tensor<3x2x5x7xf32>
  %y = train.matmul(%p, %v1) : (tensor<3x2x5x7xf32>, tensor<3x2x7x4xf32>) -> tensor<3x2x5x4xf32>
  %t = train.transpose(%y) {perm = array<i64: 0, 2, 1, 3>} : (tensor<3x2x5x4xf32>) -> tensor<3x5x2x4xf32>
  return %t : tensor<3x5x2x4xf32>
}

// -----

// As torchvision's networks have it: the three are brought ahead of the samples' tokens first.

// CHECK-LABEL: func.func @model(
// CHECK-NEXT:    %[[S:.*]]:3 = train.split(%arg0) {axis = 2 : i64, sizes = array<i64: 6, 6, 6>
// CHECK-NEXT:    train.attention(%[[S]]#0, %[[S]]#1, %[[S]]#2) {heads = 2
func.func @model(%x: tensor<3x5x18xf32> {train.name = "x"}) -> tensor<3x5x2x3xf32> {
  %x0 = train.reshape(%x) : (tensor<3x5x18xf32>) -> tensor<3x1x5x3x6xf32>
  %x1 = train.transpose(%x0) {perm = array<i64: 0, 3, 2, 1, 4>} : (tensor<3x1x5x3x6xf32>) -> tensor<3x3x5x1x6xf32>
  %x2 = train.reshape(%x1) : (tensor<3x3x5x1x6xf32>) -> tensor<3x3x5x6xf32>
  %s:3 = train.split(%x2) {axis = 1 : i64, sizes = array<i64: 1, 1, 1>} : (tensor<3x3x5x6xf32>) -> (tensor<3x1x5x6xf32>, tensor<3x1x5x6xf32>, tensor<3x1x5x6xf32>)
  %q0 = train.reshape(%s#0) : (tensor<3x1x5x6xf32>) -> tensor<3x5x2x3xf32>
  %k0 = train.reshape(%s#1) : (tensor<3x1x5x6xf32>) -> tensor<3x5x2x3xf32>
  %v0 = train.reshape(%s#2) : (tensor<3x1x5x6xf32>) -> tensor<3x5x2x3xf32>
  %q = train.transpose(%q0) {perm = array<i64: 0, 2, 1, 3>} : (tensor<3x5x2x3xf32>) -> tensor<3x2x5x3xf32>
  %k = train.transpose(%k0) {perm = array<i64: 0, 2, 1, 3>} : (tensor<3x5x2x3xf32>) -> tensor<3x2x5x3xf32>
  %v = train.transpose(%v0) {perm = array<i64: 0, 2, 1, 3>} : (tensor<3x5x2x3xf32>) -> tensor<3x2x5x3xf32>
  %scores = train.matmul(%q, %k) {transpose_b = true} : (tensor<3x2x5x3xf32>, tensor<3x2x5x3xf32>) -> tensor<3x2x5x5xf32>
  %p = train.softmax(%scores) {axis = 3 : i64} : (tensor<3x2x5x5xf32>) -> tensor<3x2x5x5xf32>
  %y = train.matmul(%p, %v) : (tensor<3x2x5x5xf32>, tensor<3x2x5x3xf32>) -> tensor<3x2x5x3xf32>
  %t = train.transpose(%y) {perm = array<i64: 0, 2, 1, 3>} : (tensor<3x2x5x3xf32>) -> tensor<3x5x2x3xf32>
  return %t : tensor<3x5x2x3xf32>
}

// -----

// A mask that is trained, and weights that the model returns, stay what they are; so does attention
// whose heads are not brought back behind tokens, or lie otherwise.

train.parameter trainable @mask : tensor<5x5xf32> init<constant 0.0>
// CHECK-LABEL: func.func @model(
// CHECK-NOT:     train.attention
// CHECK:         return
func.func @model(%x: tensor<3x5x6xf32> {train.name = "x"}) -> (tensor<3x5x2x3xf32>, tensor<3x5x2x3xf32>, tensor<3x2x5x5xf32>, tensor<3x2x5x3xf32>, tensor<3x5x3x2xf32>) {
  %x0 = train.reshape(%x) : (tensor<3x5x6xf32>) -> tensor<3x5x2x3xf32>
  %h = train.transpose(%x0) {perm = array<i64: 0, 2, 1, 3>} : (tensor<3x5x2x3xf32>) -> tensor<3x2x5x3xf32>
  %scores = train.matmul(%h, %h) {transpose_b = true} : (tensor<3x2x5x3xf32>, tensor<3x2x5x3xf32>) -> tensor<3x2x5x5xf32>
  %mask = train.read @mask : tensor<5x5xf32>
  %masked = train.map "x0 + x1"(%scores, %mask) {fn = "add", params = {}} : (tensor<3x2x5x5xf32>, tensor<5x5xf32>) -> tensor<3x2x5x5xf32>
  %p0 = train.softmax(%masked) {axis = 3 : i64} : (tensor<3x2x5x5xf32>) -> tensor<3x2x5x5xf32>
  %y0 = train.matmul(%p0, %h) : (tensor<3x2x5x5xf32>, tensor<3x2x5x3xf32>) -> tensor<3x2x5x3xf32>
  %t0 = train.transpose(%y0) {perm = array<i64: 0, 2, 1, 3>} : (tensor<3x2x5x3xf32>) -> tensor<3x5x2x3xf32>
  %p1 = train.softmax(%scores) {axis = 3 : i64} : (tensor<3x2x5x5xf32>) -> tensor<3x2x5x5xf32>
  %y1 = train.matmul(%p1, %h) : (tensor<3x2x5x5xf32>, tensor<3x2x5x3xf32>) -> tensor<3x2x5x3xf32>
  %t1 = train.transpose(%y1) {perm = array<i64: 0, 2, 1, 3>} : (tensor<3x2x5x3xf32>) -> tensor<3x5x2x3xf32>
  %p2 = train.softmax(%scores) {axis = 3 : i64} : (tensor<3x2x5x5xf32>) -> tensor<3x2x5x5xf32>
  %y2 = train.matmul(%p2, %h) : (tensor<3x2x5x5xf32>, tensor<3x2x5x3xf32>) -> tensor<3x2x5x3xf32>
  %x3 = train.reshape(%x) : (tensor<3x5x6xf32>) -> tensor<3x5x2x3xf32>
  %g = train.transpose(%x3) {perm = array<i64: 0, 3, 1, 2>} : (tensor<3x5x2x3xf32>) -> tensor<3x3x5x2xf32>
  %s3 = train.matmul(%g, %g) {transpose_b = true} : (tensor<3x3x5x2xf32>, tensor<3x3x5x2xf32>) -> tensor<3x3x5x5xf32>
  %p3 = train.softmax(%s3) {axis = 3 : i64} : (tensor<3x3x5x5xf32>) -> tensor<3x3x5x5xf32>
  %y3 = train.matmul(%p3, %g) : (tensor<3x3x5x5xf32>, tensor<3x3x5x2xf32>) -> tensor<3x3x5x2xf32>
  %t3 = train.transpose(%y3) {perm = array<i64: 0, 2, 1, 3>} : (tensor<3x3x5x2xf32>) -> tensor<3x5x3x2xf32>
  return %t0, %t1, %p1, %y2, %t3 : tensor<3x5x2x3xf32>, tensor<3x5x2x3xf32>, tensor<3x2x5x5xf32>, tensor<3x2x5x3xf32>, tensor<3x5x3x2xf32>
}
