// RUN: lwcc-opt --split-input-file --train-matrix-rows --canonicalize %s | FileCheck %s
// What attention multiplies gets a dimension of extent 1 ahead of its last two, from the
// reshape that makes heads to the one that joins them; so it lies row-major.

// The mask is read as it is, the bias of heads with the new dimension.
// CHECK-LABEL: func.func @model(
// CHECK: %[[Q:.*]] = train.reshape(%arg0) {{.*}} : (tensor<2x3x8xf32>) -> tensor<2x3x1x2x4xf32>
// CHECK: %[[T:.*]] = train.transpose(%[[Q]]) {perm = array<i64: 0, 3, 2, 1, 4>{{.*}} -> tensor<2x2x1x3x4xf32>
// CHECK: %[[S:.*]] = train.matmul(%[[T]], %[[T]]) {{.*}}transpose_b = true{{.*}} -> tensor<2x2x1x3x3xf32>
// CHECK: %[[B:.*]] = train.reshape(%{{.*}}) {{.*}} : (tensor<1x2x3x3xf32>) -> tensor<1x2x1x3x3xf32>
// CHECK: %[[M:.*]] = train.map "x0 + x1 + x2"(%[[S]], %{{.*}}, %[[B]]) {{.*}} : (tensor<2x2x1x3x3xf32>, tensor<3x3xf32>, tensor<1x2x1x3x3xf32>) -> tensor<2x2x1x3x3xf32>
// CHECK: %[[P:.*]] = train.softmax(%[[M]]) {axis = 4
// CHECK: %[[O:.*]] = train.matmul(%[[P]], %[[T]]) {{.*}} -> tensor<2x2x1x3x4xf32>
// CHECK: train.reduce(%[[O]]) {axes = array<i64: 1, 2, 3>, {{.*}} -> tensor<2x4xf32>
// CHECK: train.reduce(%[[O]]) {axes = array<i64: 3>, {{.*}} -> tensor<2x2x1x1x4xf32>
// CHECK: %[[Y:.*]] = train.transpose(%[[O]]) {perm = array<i64: 0, 3, 2, 1, 4>{{.*}} -> tensor<2x3x1x2x4xf32>
// CHECK: train.reshape(%[[Y]]) {{.*}} : (tensor<2x3x1x2x4xf32>) -> tensor<2x3x8xf32>
func.func @model(%x: tensor<2x3x8xf32> {train.name = "x"}, %mask: tensor<3x3xf32> {train.name = "mask"}) -> (tensor<2x3x8xf32>, tensor<2x4xf32>, tensor<2x8xf32>) {
  %b = train.read @b {train.work = #train.work<"add" forward>, train.names = ["b"]} : tensor<1x2x3x3xf32>
  %q = train.reshape(%x) {train.work = #train.work<"q" forward>, train.names = ["q"]} : (tensor<2x3x8xf32>) -> tensor<2x3x2x4xf32>
  %t = train.transpose(%q) {perm = array<i64: 0, 2, 1, 3>, train.work = #train.work<"t" forward>, train.names = ["t"]} : (tensor<2x3x2x4xf32>) -> tensor<2x2x3x4xf32>
  %s = train.matmul(%t, %t) {transpose_b = true, train.work = #train.work<"s" forward>, train.names = ["s"]} : (tensor<2x2x3x4xf32>, tensor<2x2x3x4xf32>) -> tensor<2x2x3x3xf32>
  %m = train.map "x0 + x1 + x2"(%s, %mask, %b) {train.work = #train.work<"add" forward>, train.names = ["m"]} : (tensor<2x2x3x3xf32>, tensor<3x3xf32>, tensor<1x2x3x3xf32>) -> tensor<2x2x3x3xf32>
  %p = train.softmax(%m) {axis = 3, train.work = #train.work<"p" forward>, train.names = ["p"]} : (tensor<2x2x3x3xf32>) -> tensor<2x2x3x3xf32>
  %o = train.matmul(%p, %t) {train.work = #train.work<"o" forward>, train.names = ["o"]} : (tensor<2x2x3x3xf32>, tensor<2x2x3x4xf32>) -> tensor<2x2x3x4xf32>
  %mean = train.reduce(%o) {axes = array<i64: 1, 2>, mean = true, train.work = #train.work<"mean" forward>, train.names = ["mean"]} : (tensor<2x2x3x4xf32>) -> tensor<2x4xf32>
  %kept = train.reduce(%o) {axes = array<i64: 2>, train.work = #train.work<"kept" forward>, train.names = ["kept"]} : (tensor<2x2x3x4xf32>) -> tensor<2x2x1x4xf32>
  %flat = train.reshape(%kept) {train.work = #train.work<"flat" forward>, train.names = ["flat"]} : (tensor<2x2x1x4xf32>) -> tensor<2x8xf32>
  %u = train.transpose(%o) {perm = array<i64: 0, 2, 1, 3>, train.work = #train.work<"u" forward>, train.names = ["u"]} : (tensor<2x2x3x4xf32>) -> tensor<2x3x2x4xf32>
  %y = train.reshape(%u) {train.work = #train.work<"y" forward>, train.names = ["y"]} : (tensor<2x3x2x4xf32>) -> tensor<2x3x8xf32>
  return %y, %mean, %flat : tensor<2x3x8xf32>, tensor<2x4xf32>, tensor<2x8xf32>
}
train.parameter trainable @b : tensor<1x2x3x3xf32> init<constant 1.0>

// -----

// Other ops that a dimension is counted in: parts, and a border.
// CHECK-LABEL: func.func @model(
// CHECK: train.split(%{{.*}}) {axis = 4 : i64, {{.*}}-> (tensor<2x1x1x3x2xf32>, tensor<2x1x1x3x2xf32>)
// CHECK: train.concat(%{{.*}}) {axis = 3 : i64, {{.*}}-> tensor<2x1x1x6x2xf32>
// CHECK: train.slice(%{{.*}}) {start = array<i64: 0, 0, 0, 1, 0>, step = array<i64: 1, 1, 1, 2, 1>{{.*}} -> tensor<2x1x1x3x2xf32>
// CHECK: train.pad(%{{.*}}) {low = array<i64: 0, 0, 0, 1, 0>{{.*}} -> tensor<2x1x1x4x2xf32>
func.func @model(%x: tensor<2x12xf32> {train.name = "x"}) -> (tensor<2x8xf32>, tensor<2x9xf32>) {
  %q = train.reshape(%x) {train.work = #train.work<"q" forward>, train.names = ["q"]} : (tensor<2x12xf32>) -> tensor<2x4x3x1xf32>
  %t = train.transpose(%q) {perm = array<i64: 0, 3, 2, 1>, train.work = #train.work<"t" forward>, train.names = ["t"]} : (tensor<2x4x3x1xf32>) -> tensor<2x1x3x4xf32>
  %a, %b = train.split(%t) {axis = 3, sizes = array<i64: 2, 2>, train.work = #train.work<"s" forward>, train.names = ["a", "b"]} : (tensor<2x1x3x4xf32>) -> (tensor<2x1x3x2xf32>, tensor<2x1x3x2xf32>)
  %c = train.concat(%a, %b) {axis = 2, train.work = #train.work<"c" forward>, train.names = ["c"]} : (tensor<2x1x3x2xf32>, tensor<2x1x3x2xf32>) -> tensor<2x1x6x2xf32>
  %d = train.slice(%c) {start = array<i64: 0, 0, 1, 0>, step = array<i64: 1, 1, 2, 1>, train.work = #train.work<"d" forward>, train.names = ["d"]} : (tensor<2x1x6x2xf32>) -> tensor<2x1x3x2xf32>
  %f = train.matmul(%d, %d) {transpose_b = true, train.work = #train.work<"f" forward>, train.names = ["f"]} : (tensor<2x1x3x2xf32>, tensor<2x1x3x2xf32>) -> tensor<2x1x3x3xf32>
  %e = train.pad(%d) {low = array<i64: 0, 0, 1, 0>, value = 0.0 : f32, train.work = #train.work<"e" forward>, train.names = ["e"]} : (tensor<2x1x3x2xf32>) -> tensor<2x1x4x2xf32>
  %y = train.reshape(%e) {train.work = #train.work<"y" forward>, train.names = ["y"]} : (tensor<2x1x4x2xf32>) -> tensor<2x8xf32>
  %z = train.reshape(%f) {train.work = #train.work<"z" forward>, train.names = ["z"]} : (tensor<2x1x3x3xf32>) -> tensor<2x9xf32>
  return %y, %z : tensor<2x8xf32>, tensor<2x9xf32>
}

// -----

// Nothing is multiplied.
// CHECK-LABEL: func.func @model(
// CHECK-NOT: x1x
func.func @model(%x: tensor<2x24xf32> {train.name = "x"}) -> tensor<2x24xf32> {
  %q = train.reshape(%x) {train.work = #train.work<"q" forward>, train.names = ["q"]} : (tensor<2x24xf32>) -> tensor<2x2x3x4xf32>
  %t = train.transpose(%q) {perm = array<i64: 0, 2, 1, 3>, train.work = #train.work<"t" forward>, train.names = ["t"]} : (tensor<2x2x3x4xf32>) -> tensor<2x3x2x4xf32>
  %y = train.reshape(%t) {train.work = #train.work<"y" forward>, train.names = ["y"]} : (tensor<2x3x2x4xf32>) -> tensor<2x24xf32>
  return %y : tensor<2x24xf32>
}

// -----

// An image stays one, with all that leads to it, and what is returned.
// CHECK-LABEL: func.func @model(
// CHECK-NOT: x1x
func.func @model(%x: tensor<2x24xf32> {train.name = "x"}) -> tensor<2x3x2x4xf32> {
  %q = train.reshape(%x) {train.work = #train.work<"q" forward>, train.names = ["q"]} : (tensor<2x24xf32>) -> tensor<2x2x3x4xf32>
  %t = train.transpose(%q) {perm = array<i64: 0, 2, 1, 3>, train.work = #train.work<"t" forward>, train.names = ["t"]} : (tensor<2x2x3x4xf32>) -> tensor<2x3x2x4xf32>
  return %t : tensor<2x3x2x4xf32>
}

// -----

// What a reduction makes of a higher rank.
// CHECK-LABEL: func.func @model(
// CHECK-NOT: x1x
func.func @model(%x: tensor<2x72xf32> {train.name = "x"}) -> tensor<2x18xf32> {
  %q = train.reshape(%x) {train.work = #train.work<"q" forward>, train.names = ["q"]} : (tensor<2x72xf32>) -> tensor<2x2x3x3x4xf32>
  %r = train.reduce(%q) {axes = array<i64: 4>, train.work = #train.work<"r" forward>, train.names = ["r"]} : (tensor<2x2x3x3x4xf32>) -> tensor<2x2x3x3xf32>
  %p = train.matmul(%r, %r) {train.work = #train.work<"p" forward>, train.names = ["p"]} : (tensor<2x2x3x3xf32>, tensor<2x2x3x3xf32>) -> tensor<2x2x3x3xf32>
  %y = train.reshape(%p) {train.work = #train.work<"y" forward>, train.names = ["y"]} : (tensor<2x2x3x3xf32>) -> tensor<2x18xf32>
  return %y : tensor<2x18xf32>
}

// -----

// What broadcasts to a higher rank.
// CHECK-LABEL: func.func @model(
// CHECK: train.matmul({{.*}} -> tensor<2x2x3x3xf32>
// CHECK: train.map "x0 + x1"({{.*}} : (tensor<2x2x3x3xf32>, tensor<2x2x2x3x3xf32>) -> tensor<2x2x2x3x3xf32>
func.func @model(%x: tensor<2x18xf32> {train.name = "x"}, %z: tensor<2x2x2x3x3xf32> {train.name = "z"}) -> tensor<2x2x2x3x3xf32> {
  %q = train.reshape(%x) {train.work = #train.work<"q" forward>, train.names = ["q"]} : (tensor<2x18xf32>) -> tensor<2x2x3x3xf32>
  %p = train.matmul(%q, %q) {train.work = #train.work<"p" forward>, train.names = ["p"]} : (tensor<2x2x3x3xf32>, tensor<2x2x3x3xf32>) -> tensor<2x2x3x3xf32>
  %y = train.map "x0 + x1"(%p, %z) {train.work = #train.work<"y" forward>, train.names = ["y"]} : (tensor<2x2x3x3xf32>, tensor<2x2x2x3x3xf32>) -> tensor<2x2x2x3x3xf32>
  return %y : tensor<2x2x2x3x3xf32>
}

// -----

// Rows that are normalized.
// CHECK-LABEL: func.func @model(
// CHECK: train.layer_norm({{.*}} -> (tensor<2x2x1x3x3xf32>, tensor<2x2x1x3x1xf32>)
func.func @model(%x: tensor<2x18xf32> {train.name = "x"}) -> tensor<2x18xf32> {
  %q = train.reshape(%x) {train.work = #train.work<"q" forward>, train.names = ["q"]} : (tensor<2x18xf32>) -> tensor<2x2x3x3xf32>
  %n, %s = train.layer_norm(%q) {epsilon = 1.0e-5 : f32, train.work = #train.work<"n" forward>, train.names = ["n", "s"]} : (tensor<2x2x3x3xf32>) -> (tensor<2x2x3x3xf32>, tensor<2x2x3x1xf32>)
  %p = train.matmul(%n, %n) {train.work = #train.work<"p" forward>, train.names = ["p"]} : (tensor<2x2x3x3xf32>, tensor<2x2x3x3xf32>) -> tensor<2x2x3x3xf32>
  %y = train.reshape(%p) {train.work = #train.work<"y" forward>, train.names = ["y"]} : (tensor<2x2x3x3xf32>) -> tensor<2x18xf32>
  return %y : tensor<2x18xf32>
}
