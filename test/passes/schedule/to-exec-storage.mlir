// RUN: lwcc-opt %s -split-input-file -train-to-exec | FileCheck %s
// Which values share memory: views, overwriting, parameters. The functions are
// as small as the form allows: loss and counts are handed through.

// Reshapes and transposes that move nothing are views: ranks other than 4, and
// rank 4 where channels-last order is row-major order.
// CHECK-LABEL: exec.program @reshape_views
module attributes {train.model = "reshape_views"} {
  // CHECK-DAG: activation @flat : tensor<2x12xf32> on @gpu0 view @x at 0
  // CHECK-DAG: activation @pooled : tensor<2x12x1x1xf32> on @gpu0 view @x at 0
  // CHECK-DAG: activation @moved : tensor<2x3x2x2xf32> on @gpu0 at -1
  // CHECK-DAG: activation @column : tensor<12x1x2xf32> on @gpu0 at -1
  // CHECK-DAG: activation @same : tensor<2x1x12xf32> on @gpu0 view @x at 0
  func.func @train_step(%x: tensor<2x12x1xf32> {train.name = "x"}, %loss: tensor<f32> {train.name = "l"}, %counts: tensor<2xf32> {train.name = "c"}) -> (tensor<f32>, tensor<2xf32>) {
    %0 = train.reshape(%x) {train.names = ["flat"]} : (tensor<2x12x1xf32>) -> tensor<2x12xf32>
    %1 = train.reshape(%0) {train.names = ["pooled"]} : (tensor<2x12xf32>) -> tensor<2x12x1x1xf32>
    // CHECK: exec.call "reshape" [@x] -> [@moved]
    %2 = train.reshape(%x) {train.names = ["moved"]} : (tensor<2x12x1xf32>) -> tensor<2x3x2x2xf32>
    // CHECK-NEXT: exec.call "transpose" [@x] -> [@column]
    %3 = train.transpose(%x) {perm = array<i64: 1, 2, 0>, train.names = ["column"]} : (tensor<2x12x1xf32>) -> tensor<12x1x2xf32>
    %4 = train.transpose(%x) {perm = array<i64: 0, 2, 1>, train.names = ["same"]} : (tensor<2x12x1xf32>) -> tensor<2x1x12xf32>
    // CHECK-NEXT: exec.call "concat" [@flat, @flat] -> [@a]
    %a = train.concat(%0, %0) {axis = 0, train.names = ["a"]} : (tensor<2x12xf32>, tensor<2x12xf32>) -> tensor<4x12xf32>
    // CHECK-NEXT: exec.call "lrn" [@pooled]
    %b = train.lrn(%1) {alpha = 1.0 : f32, beta = 1.0 : f32, bias = 1.0 : f32, size = 5 : i64, train.names = ["b"]} : (tensor<2x12x1x1xf32>) -> tensor<2x12x1x1xf32>
    %c = train.map "x0"(%2) {train.names = ["c1"]} : (tensor<2x3x2x2xf32>) -> tensor<2x3x2x2xf32>
    %d = train.map "x0"(%3) {train.names = ["d1"]} : (tensor<12x1x2xf32>) -> tensor<12x1x2xf32>
    %e = train.map "x0"(%4) {train.names = ["e1"]} : (tensor<2x1x12xf32>) -> tensor<2x1x12xf32>
    %sum = train.reduce(%a) {axes = array<i64: 0, 1>, mean = false} : (tensor<4x12xf32>) -> tensor<f32>
    %sum1 = train.reduce(%b) {axes = array<i64: 0, 1, 2, 3>, mean = false} : (tensor<2x12x1x1xf32>) -> tensor<f32>
    %sum2 = train.reduce(%c) {axes = array<i64: 0, 1, 2, 3>, mean = false} : (tensor<2x3x2x2xf32>) -> tensor<f32>
    %sum3 = train.reduce(%d) {axes = array<i64: 0, 1, 2>, mean = false} : (tensor<12x1x2xf32>) -> tensor<f32>
    %sum4 = train.reduce(%e) {axes = array<i64: 0, 1, 2>, mean = false} : (tensor<2x1x12xf32>) -> tensor<f32>
    %r = train.map "x0 + x1 + x2 + x3 + x4"(%sum, %sum1, %sum2, %sum3, %sum4) : (tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>) -> tensor<f32>
    return %r, %counts : tensor<f32>, tensor<2xf32>
  }
  func.func @evaluate(%x: tensor<2x12x1xf32> {train.name = "x"}, %loss: tensor<f32> {train.name = "l"}, %counts: tensor<2xf32> {train.name = "c"}) -> (tensor<f32>, tensor<2xf32>) {
    return %loss, %counts : tensor<f32>, tensor<2xf32>
  }
}

// -----

// Split and concat along the outermost axis, slices of whole rows: views where
// the pieces begin at multiples of 256 bytes; along another axis: calls.
// CHECK-LABEL: exec.program @pieces
module attributes {train.model = "pieces"} {
  // CHECK-DAG: activation @low : tensor<1x64xf32> on @gpu0 view @x at 0
  // CHECK-DAG: activation @high : tensor<1x64xf32> on @gpu0 view @x at 256
  // CHECK-DAG: activation @row : tensor<1x64xf32> on @gpu0 view @x at 256
  // CHECK-DAG: activation @joined : tensor<2x64xf32> on @gpu0 at -1
  // CHECK-DAG: activation @p : tensor<1x64xf32> on @gpu0 view @joined at 0
  // CHECK-DAG: activation @q : tensor<1x64xf32> on @gpu0 view @joined at 256
  func.func @train_step(%x: tensor<2x64xf32> {train.name = "x"}, %loss: tensor<f32> {train.name = "l"}, %counts: tensor<2xf32> {train.name = "c"}) -> (tensor<f32>, tensor<2xf32>) {
    %low, %high = train.split(%x) {axis = 0, sizes = array<i64: 1, 1>, train.names = ["low", "high"]} : (tensor<2x64xf32>) -> (tensor<1x64xf32>, tensor<1x64xf32>)
    %row = train.slice(%x) {start = array<i64: 1, 0>, step = array<i64: 1, 1>, train.names = ["row"]} : (tensor<2x64xf32>) -> tensor<1x64xf32>
    // CHECK: exec.call "map" @add [@low, @high] -> [@p]
    // CHECK-NEXT: exec.call "map" @mul [@row, @low] -> [@q]
    %p = train.map "x0 + x1"(%low, %high) {fn = "add", train.names = ["p"]} : (tensor<1x64xf32>, tensor<1x64xf32>) -> tensor<1x64xf32>
    %q = train.map "x0 * x1"(%row, %low) {fn = "mul", train.names = ["q"]} : (tensor<1x64xf32>, tensor<1x64xf32>) -> tensor<1x64xf32>
    %joined = train.concat(%p, %q) {axis = 0, train.names = ["joined"]} : (tensor<1x64xf32>, tensor<1x64xf32>) -> tensor<2x64xf32>
    // A result of split that nobody reads is left out.
    // CHECK-NEXT: exec.call "split" [@joined] -> [@left, unit]
    %left, %right = train.split(%joined) {axis = 1, sizes = array<i64: 32, 32>, train.names = ["left", "right"]} : (tensor<2x64xf32>) -> (tensor<2x32xf32>, tensor<2x32xf32>)
    // CHECK-NEXT: exec.call "concat" [@left, @left] -> [@wide]
    %wide = train.concat(%left, %left) {axis = 1, train.names = ["wide"]} : (tensor<2x32xf32>, tensor<2x32xf32>) -> tensor<2x64xf32>
    %sum = train.reduce(%wide) {axes = array<i64: 0, 1>, mean = false} : (tensor<2x64xf32>) -> tensor<f32>
    return %sum, %counts : tensor<f32>, tensor<2xf32>
  }
  func.func @evaluate(%x: tensor<2x64xf32> {train.name = "x"}, %loss: tensor<f32> {train.name = "l"}, %counts: tensor<2xf32> {train.name = "c"}) -> (tensor<f32>, tensor<2xf32>) {
    return %loss, %counts : tensor<f32>, tensor<2xf32>
  }
}

// -----

// A map overwrites the operand that nobody reads any more, through views too;
// never what is read later, never an input or a parameter.
// CHECK-LABEL: exec.program @overwriting
module attributes {train.model = "overwriting"} {
  // CHECK-DAG: activation @a : tensor<2x4xf32> on @gpu0 at -1
  // CHECK-DAG: activation @b : tensor<2x4xf32> on @gpu0 at -1
  // CHECK-DAG: activation @c : tensor<2x4xf32> on @gpu0 view @a at 0
  // CHECK-DAG: activation @flat : tensor<8xf32> on @gpu0 view @a at 0
  // CHECK-DAG: activation @d : tensor<8xf32> on @gpu0 at -1
  // CHECK-DAG: activation @e : tensor<8xf32> on @gpu0 view @d at 0
  func.func @train_step(%x: tensor<2x4xf32> {train.name = "x"}, %loss: tensor<f32> {train.name = "l"}, %counts: tensor<2xf32> {train.name = "c1"}) -> (tensor<f32>, tensor<2xf32>) {
    %a = train.map "max(x0, 0.0f)"(%x) {train.names = ["a"]} : (tensor<2x4xf32>) -> tensor<2x4xf32>
    %b = train.map "exp(x0)"(%a) {train.names = ["b"]} : (tensor<2x4xf32>) -> tensor<2x4xf32>
    %c = train.map "x0 * x1"(%a, %b) {train.names = ["c"]} : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
    %flat = train.reshape(%c) {train.names = ["flat"]} : (tensor<2x4xf32>) -> tensor<8xf32>
    %d = train.map "sqrt(x0)"(%flat) {train.names = ["d"]} : (tensor<8xf32>) -> tensor<8xf32>
    %e = train.map "x0 + x1"(%d, %flat) {train.names = ["e"]} : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
    %sum = train.reduce(%e) {axes = array<i64: 0>, mean = false} : (tensor<8xf32>) -> tensor<f32>
    return %sum, %counts : tensor<f32>, tensor<2xf32>
  }
  func.func @evaluate(%x: tensor<2x4xf32> {train.name = "x"}, %loss: tensor<f32> {train.name = "l"}, %counts: tensor<2xf32> {train.name = "c1"}) -> (tensor<f32>, tensor<2xf32>) {
    return %loss, %counts : tensor<f32>, tensor<2xf32>
  }
}

// -----

// A statistic's new value is made in place where the old one is read by its own
// map only; otherwise it is copied when everybody has read the old one.
// CHECK-LABEL: exec.program @statistics
module attributes {train.model = "statistics"} {
  train.parameter statistic @mean : tensor<4xf32> init<constant 0.0>
  train.parameter statistic @var : tensor<4xf32> init<constant 1.0>
  // CHECK-DAG: activation @new_var : tensor<4xf32> on @gpu0 at -1
  // CHECK-NOT: @new_mean
  func.func @train_step(%x: tensor<4xf32> {train.name = "x"}, %loss: tensor<f32> {train.name = "l"}, %counts: tensor<2xf32> {train.name = "c"}) -> (tensor<f32>, tensor<2xf32>) {
    %mean = train.read @mean : tensor<4xf32>
    %var = train.read @var : tensor<4xf32>
    // CHECK: exec.call "map" @running_average [@mean, @x] -> [@mean]
    %m = train.map "x0 * 0.9f + x1 * 0.1f"(%mean, %x) {train.names = ["new_mean"]} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    train.write @mean, %m : tensor<4xf32>
    // CHECK-NEXT: exec.call "map" @running_average [@var, @x] -> [@new_var]
    %v = train.map "x0 * 0.9f + x1 * 0.1f"(%var, %x) {train.names = ["new_var"]} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    // CHECK-NEXT: exec.call "reduce" [@var] -> [@loss]
    %sum = train.reduce(%var) {axes = array<i64: 0>, mean = false, train.names = ["loss"]} : (tensor<4xf32>) -> tensor<f32>
    // CHECK-NEXT: exec.call "reshape" [@new_var] -> [@var]
    train.write @var, %v : tensor<4xf32>
    // What is handed through is copied.
    // CHECK-NEXT: exec.call "reshape" [@c] -> [@c_2]
    return %sum, %counts : tensor<f32>, tensor<2xf32>
  }
  func.func @evaluate(%x: tensor<4xf32> {train.name = "x"}, %loss: tensor<f32> {train.name = "l"}, %counts: tensor<2xf32> {train.name = "c"}) -> (tensor<f32>, tensor<2xf32>) {
    return %loss, %counts : tensor<f32>, tensor<2xf32>
  }
}
