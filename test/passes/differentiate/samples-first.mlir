// RUN: lwcc-opt --split-input-file --train-samples-first --canonicalize %s | FileCheck %s
// Samples in the second dimension come to the first one, with all that is computed there;
// an op without a rule gets what it had.

// As attention has it: transposed, heads merged with the samples, and back.
// CHECK-LABEL: func.func @model(
// CHECK-NOT: train.transpose
// CHECK: train.matmul(%arg0, %{{.*}}) {{.*}} -> tensor<4x3x6xf32>
// CHECK-NOT: train.transpose
// CHECK: train.map "x0 + x1"(%{{.*}}, %{{.*}}) {{.*}}train.names = ["biased"]{{.*}} : (tensor<4x3x6xf32>, tensor<3x6xf32>) -> tensor<4x3x6xf32>
// CHECK: train.reshape(%{{.*}}) {{.*}} : (tensor<4x3x6xf32>) -> tensor<4x3x2x3xf32>
// CHECK: train.transpose(%{{.*}}) {perm = array<i64: 0, 2, 1, 3>{{.*}} -> tensor<4x2x3x3xf32>
// CHECK: train.reshape(%{{.*}}) {{.*}} : (tensor<4x2x3x3xf32>) -> tensor<8x3x3xf32>
// CHECK: train.softmax(%{{.*}}) {axis = 2 : i64
// CHECK: return %{{.*}} : tensor<8x9xf32>
func.func @model(%x: tensor<4x3x5xf32> {train.name = "x"}, %scalars: tensor<64xui8> {train.name = "scalars", train.role = #train.role<scalars>}) -> tensor<8x9xf32> {
  %w = train.read @w {train.work = #train.work<"fc" forward>, train.names = ["w"]} : tensor<5x6xf32>
  %b = train.read @b {train.work = #train.work<"add" forward>, train.names = ["b"]} : tensor<3x1x6xf32>
  %t = train.transpose(%x) {perm = array<i64: 1, 0, 2>, train.work = #train.work<"t" forward>, train.names = ["t"]} : (tensor<4x3x5xf32>) -> tensor<3x4x5xf32>
  %y = train.matmul(%t, %w) {train.work = #train.work<"fc" forward>, train.names = ["y"]} : (tensor<3x4x5xf32>, tensor<5x6xf32>) -> tensor<3x4x6xf32>
  %biased = train.map "x0 + x1"(%y, %b) {fn = "add", params = {}, train.work = #train.work<"add" forward>, train.names = ["biased"]} : (tensor<3x4x6xf32>, tensor<3x1x6xf32>) -> tensor<3x4x6xf32>
  %heads = train.reshape(%biased) {train.work = #train.work<"heads" forward>, train.names = ["heads"]} : (tensor<3x4x6xf32>) -> tensor<3x8x3xf32>
  %back = train.transpose(%heads) {perm = array<i64: 1, 0, 2>, train.work = #train.work<"back" forward>, train.names = ["back"]} : (tensor<3x8x3xf32>) -> tensor<8x3x3xf32>
  %s = train.softmax(%back) {axis = 2, train.work = #train.work<"s" forward>, train.names = ["s"]} : (tensor<8x3x3xf32>) -> tensor<8x3x3xf32>
  %r = train.reshape(%s) {train.work = #train.work<"r" forward>, train.names = ["r"]} : (tensor<8x3x3xf32>) -> tensor<8x9xf32>
  return %r : tensor<8x9xf32>
}
train.parameter trainable @w : tensor<5x6xf32> init<constant 1.0>
train.parameter trainable @b : tensor<3x1x6xf32> init<constant 1.0>

// -----

// Samples merged behind tokens; then dropout, which draws its numbers by element.
// CHECK-LABEL: func.func @model(
// CHECK: %[[Y:.*]] = train.matmul(%{{.*}}, %{{.*}}) {{.*}} : (tensor<4x3x5xf32>, tensor<5x6xf32>) -> tensor<4x3x6xf32>
// CHECK: %[[T:.*]] = train.transpose(%[[Y]]) {perm = array<i64: 1, 0, 2>
// CHECK: %[[R:.*]] = train.reshape(%[[T]]) {{.*}} : (tensor<3x4x6xf32>) -> tensor<12x6xf32>
// CHECK: train.dropout(%[[R]]
func.func @model(%x: tensor<4x3x5xf32> {train.name = "x"}, %scalars: tensor<64xui8> {train.name = "scalars", train.role = #train.role<scalars>}) -> tensor<12x6xf32> {
  %w = train.read @w {train.work = #train.work<"fc" forward>, train.names = ["w"]} : tensor<5x6xf32>
  %t = train.transpose(%x) {perm = array<i64: 1, 0, 2>, train.work = #train.work<"t" forward>, train.names = ["t"]} : (tensor<4x3x5xf32>) -> tensor<3x4x5xf32>
  %m = train.reshape(%t) {train.work = #train.work<"m" forward>, train.names = ["m"]} : (tensor<3x4x5xf32>) -> tensor<12x5xf32>
  %y = train.matmul(%m, %w) {train.work = #train.work<"fc" forward>, train.names = ["y"]} : (tensor<12x5xf32>, tensor<5x6xf32>) -> tensor<12x6xf32>
  %d = train.dropout(%y, %scalars) {ratio = 0.5 : f32, stream = 3 : i64, train.work = #train.work<"d" forward>, train.names = ["d"]} : (tensor<12x6xf32>, tensor<64xui8>) -> tensor<12x6xf32>
  return %d : tensor<12x6xf32>
}
train.parameter trainable @w : tensor<5x6xf32> init<constant 1.0>

// -----

// With one sample any dimension could be it.
// CHECK-LABEL: func.func @model(
// CHECK: train.transpose(%arg0) {perm = array<i64: 1, 0>
func.func @model(%x: tensor<1x3xf32> {train.name = "x"}, %scalars: tensor<64xui8> {train.name = "scalars", train.role = #train.role<scalars>}) -> tensor<3x1xf32> {
  %t = train.transpose(%x) {perm = array<i64: 1, 0>, train.work = #train.work<"t" forward>, train.names = ["t"]} : (tensor<1x3xf32>) -> tensor<3x1xf32>
  return %t : tensor<3x1xf32>
}

// -----

// Rows along the last dimension, unless the samples are there.
// CHECK-LABEL: func.func @model(
// CHECK-NOT: train.transpose
// CHECK: train.layer_norm(%arg0) {{.*}} : (tensor<4x3x5xf32>) -> (tensor<4x3x5xf32>, tensor<4x3x1xf32>)
// CHECK: %[[T:.*]] = train.transpose(%{{.*}}) {perm = array<i64: 1, 2, 0>
// CHECK: train.layer_norm(%[[T]]) {{.*}} : (tensor<3x5x4xf32>) -> (tensor<3x5x4xf32>, tensor<3x5x1xf32>)
func.func @model(%x: tensor<4x3x5xf32> {train.name = "x"}) -> tensor<3x5x4xf32> {
  %t = train.transpose(%x) {perm = array<i64: 1, 0, 2>, train.work = #train.work<"t" forward>, train.names = ["t"]} : (tensor<4x3x5xf32>) -> tensor<3x4x5xf32>
  %a, %s = train.layer_norm(%t) {epsilon = 1.0e-5 : f32, train.work = #train.work<"a" forward>, train.names = ["a", "s"]} : (tensor<3x4x5xf32>) -> (tensor<3x4x5xf32>, tensor<3x4x1xf32>)
  %u = train.transpose(%a) {perm = array<i64: 0, 2, 1>, train.work = #train.work<"u" forward>, train.names = ["u"]} : (tensor<3x4x5xf32>) -> tensor<3x5x4xf32>
  %b, %r = train.layer_norm(%u) {epsilon = 1.0e-5 : f32, train.work = #train.work<"b" forward>, train.names = ["b", "r"]} : (tensor<3x5x4xf32>) -> (tensor<3x5x4xf32>, tensor<3x5x1xf32>)
  return %b : tensor<3x5x4xf32>
}
