// RUN: lwcc-opt --split-input-file --train-channels-second %s | FileCheck %s
// Between two convolutions transposes of images meet and vanish: a bias, a number, an
// activation and a residual connection are computed with channels second.

// CHECK-LABEL: func.func @model(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<2x4x6x5xf32>
// CHECK-NOT: train.transpose
// CHECK: %[[BIAS:.*]] = train.reshape({{.*}}) {train.names = ["b.channels_second"]{{.*}}-> tensor<4x1x1xf32>
// CHECK: %[[SUM:.*]] = train.map "x0 + x1"(%[[X]], %[[BIAS]]) {fn = "add", params = {}, train.names = ["sum.channels_second"], train.work = #train.work<"sum" forward>} : (tensor<2x4x6x5xf32>, tensor<4x1x1xf32>)
// CHECK: %[[ACT:.*]] = train.map "max(x0, 0.0f)"(%[[SUM]])
// CHECK: %[[TWICE:.*]] = train.map "x0 * x1"(%[[ACT]], %{{.*}}) {{.*}} : (tensor<2x4x6x5xf32>, tensor<f32>)
// CHECK: %[[Y:.*]] = train.map "x0 + x1"(%[[TWICE]], %[[X]])
// CHECK-NOT: train.transpose
// CHECK: return %[[Y]]
func.func @model(%x: tensor<2x4x6x5xf32> {train.name = "x"}) -> tensor<2x4x6x5xf32> {
  %t = train.transpose(%x) {perm = array<i64: 0, 2, 3, 1>, train.names = ["t"], train.work = #train.work<"t" forward>} : (tensor<2x4x6x5xf32>) -> tensor<2x6x5x4xf32>
  %b = train.read @b {train.work = #train.work<"sum" forward>, train.names = ["b"]} : tensor<4xf32>
  %sum = train.map "x0 + x1"(%t, %b) {fn = "add", params = {}, train.names = ["sum"], train.work = #train.work<"sum" forward>} : (tensor<2x6x5x4xf32>, tensor<4xf32>) -> tensor<2x6x5x4xf32>
  %act = train.map "max(x0, 0.0f)"(%sum) {fn = "relu", params = {}, train.names = ["act"], train.work = #train.work<"act" forward>} : (tensor<2x6x5x4xf32>) -> tensor<2x6x5x4xf32>
  %two = train.constant {train.names = ["two"], train.work = #train.work<"twice" forward>} dense<2.0> : tensor<f32>
  %twice = train.map "x0 * x1"(%act, %two) {fn = "mul", params = {}, train.names = ["twice"], train.work = #train.work<"twice" forward>} : (tensor<2x6x5x4xf32>, tensor<f32>) -> tensor<2x6x5x4xf32>
  %y = train.map "x0 + x1"(%twice, %t) {fn = "add", params = {}, train.names = ["y"], train.work = #train.work<"y" forward>} : (tensor<2x6x5x4xf32>, tensor<2x6x5x4xf32>) -> tensor<2x6x5x4xf32>
  %back = train.transpose(%y) {perm = array<i64: 0, 3, 1, 2>, train.names = ["back"], train.work = #train.work<"back" forward>} : (tensor<2x6x5x4xf32>) -> tensor<2x4x6x5xf32>
  return %back : tensor<2x4x6x5xf32>
}

// -----

// Joining, padding, cutting, and a mean over the images: of its result no element moves.
// CHECK-LABEL: func.func @model(
// CHECK-NOT: train.transpose
// CHECK: %[[C:.*]] = train.concat(%arg0, %arg1) {axis = 1 : i64, {{.*}}-> tensor<2x8x6x5xf32>
// CHECK: %[[P:.*]] = train.pad(%[[C]]) {low = array<i64: 0, 0, 1, 2>, {{.*}}-> tensor<2x8x8x8xf32>
// CHECK: %[[S:.*]] = train.slice(%[[P]]) {start = array<i64: 0, 3, 1, 0>, step = array<i64: 1, 1, 2, 1>, {{.*}}-> tensor<2x2x3x8xf32>
// CHECK: %[[M:.*]] = train.reduce(%[[S]]) {axes = array<i64: 2, 3>, mean = true, {{.*}}-> tensor<2x2x1x1xf32>
// CHECK: %[[R:.*]] = train.reshape(%[[M]]) {{.*}}-> tensor<2x1x1x2xf32>
// CHECK: return %[[R]]
func.func @model(%x: tensor<2x4x6x5xf32> {train.name = "x"}, %z: tensor<2x4x6x5xf32> {train.name = "z"}) -> tensor<2x1x1x2xf32> {
  %t = train.transpose(%x) {perm = array<i64: 0, 2, 3, 1>, train.names = ["t"], train.work = #train.work<"t" forward>} : (tensor<2x4x6x5xf32>) -> tensor<2x6x5x4xf32>
  %u = train.transpose(%z) {perm = array<i64: 0, 2, 3, 1>, train.names = ["u"], train.work = #train.work<"u" forward>} : (tensor<2x4x6x5xf32>) -> tensor<2x6x5x4xf32>
  %c = train.concat(%t, %u) {axis = 3 : i64, train.names = ["c"], train.work = #train.work<"c" forward>} : (tensor<2x6x5x4xf32>, tensor<2x6x5x4xf32>) -> tensor<2x6x5x8xf32>
  %p = train.pad(%c) {low = array<i64: 0, 1, 2, 0>, value = 0.0 : f32, train.names = ["p"], train.work = #train.work<"p" forward>} : (tensor<2x6x5x8xf32>) -> tensor<2x8x8x8xf32>
  %s = train.slice(%p) {start = array<i64: 0, 1, 0, 3>, step = array<i64: 1, 2, 1, 1>, train.names = ["s"], train.work = #train.work<"s" forward>} : (tensor<2x8x8x8xf32>) -> tensor<2x3x8x2xf32>
  %m = train.reduce(%s) {axes = array<i64: 1, 2>, mean = true, train.names = ["m"], train.work = #train.work<"m" forward>} : (tensor<2x3x8x2xf32>) -> tensor<2x1x1x2xf32>
  return %m : tensor<2x1x1x2xf32>
}

// -----

// Another operand that differs by sample, one with two dimensions, another order, and
// matrices: there is nothing to gain, or too little known.
// CHECK-LABEL: func.func @model(
// CHECK: %[[T:.*]] = train.transpose(%arg0)
// CHECK: train.map {{.*}}(%[[T]], %arg1) {{.*}}train.names = ["a"]
// CHECK: train.map {{.*}}(%[[T]], %{{.*}}) {{.*}}train.names = ["b"]
// CHECK: %[[U:.*]] = train.transpose(%arg0) {perm = array<i64: 0, 2, 1, 3>
// CHECK: train.map {{.*}}(%[[U]]) {{.*}}train.names = ["c"]
// CHECK: %[[V:.*]] = train.transpose(%arg2)
// CHECK: train.map {{.*}}(%[[V]]) {{.*}}train.names = ["d"]
func.func @model(%x: tensor<2x4x6x5xf32> {train.name = "x"}, %z: tensor<2x6x5x4xf32> {train.name = "z"}, %m: tensor<2x4x6xf32> {train.name = "m"}) -> (tensor<2x6x5x4xf32>, tensor<2x6x5x4xf32>, tensor<2x6x4x5xf32>, tensor<2x6x4xf32>) {
  %t = train.transpose(%x) {perm = array<i64: 0, 2, 3, 1>, train.names = ["t"], train.work = #train.work<"t" forward>} : (tensor<2x4x6x5xf32>) -> tensor<2x6x5x4xf32>
  %a = train.map "x0 + x1"(%t, %z) {fn = "add", params = {}, train.names = ["a"], train.work = #train.work<"a" forward>} : (tensor<2x6x5x4xf32>, tensor<2x6x5x4xf32>) -> tensor<2x6x5x4xf32>
  %w = train.read @w {train.work = #train.work<"b" forward>, train.names = ["w"]} : tensor<5x4xf32>
  %b = train.map "x0 + x1"(%t, %w) {fn = "add", params = {}, train.names = ["b"], train.work = #train.work<"b" forward>} : (tensor<2x6x5x4xf32>, tensor<5x4xf32>) -> tensor<2x6x5x4xf32>
  %u = train.transpose(%x) {perm = array<i64: 0, 2, 1, 3>, train.names = ["u"], train.work = #train.work<"u" forward>} : (tensor<2x4x6x5xf32>) -> tensor<2x6x4x5xf32>
  %c = train.map "max(x0, 0.0f)"(%u) {fn = "relu", params = {}, train.names = ["c"], train.work = #train.work<"c" forward>} : (tensor<2x6x4x5xf32>) -> tensor<2x6x4x5xf32>
  %v = train.transpose(%m) {perm = array<i64: 0, 2, 1>, train.names = ["v"], train.work = #train.work<"v" forward>} : (tensor<2x4x6xf32>) -> tensor<2x6x4xf32>
  %d = train.map "max(x0, 0.0f)"(%v) {fn = "relu", params = {}, train.names = ["d"], train.work = #train.work<"d" forward>} : (tensor<2x6x4xf32>) -> tensor<2x6x4xf32>
  return %a, %b, %c, %d : tensor<2x6x5x4xf32>, tensor<2x6x5x4xf32>, tensor<2x6x4x5xf32>, tensor<2x6x4xf32>
}

// -----

// No images at all.
// CHECK-LABEL: func.func @model(
// CHECK: train.map "x0 + x1"(%arg0, %arg1)
func.func @model(%a: tensor<4xf32> {train.name = "a"}, %b: tensor<f32> {train.name = "b"}) -> tensor<4xf32> {
  %c = train.map "x0 + x1"(%a, %b) {fn = "add", params = {}, train.names = ["c"], train.work = #train.work<"c" forward>} : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  return %c : tensor<4xf32>
}
