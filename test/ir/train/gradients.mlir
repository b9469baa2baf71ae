// RUN: lwcc-opt %s -train-autodiff -split-input-file | FileCheck %s
// The gradient of one op each, by shape and operands; the numbers are checked
// against PyTorch in the parity tests. Every loss is the sum of the result.

// Groups, stride and padding are handed on; a bias alone needs no convolution.

// CHECK-LABEL: func.func @train_step
// CHECK-SAME:    %[[X:[^:]*]]: tensor<2x4x7x7xf32>
// CHECK:         %[[DY:.*]] = train.map "x0"(%{{.*}}) {{.*}} : (tensor<1x1x1x1xf32>) -> tensor<2x6x3x4xf32>
// CHECK:         train.reduce(%[[DY]]) {axes = array<i64: 0, 2, 3>, {{.*}}"d_b"
// CHECK-NOT:     train.conv_grad
train.parameter frozen @w : tensor<6x2x3x3xf32> init<constant 0.0>
train.parameter trainable @b : tensor<6xf32> init<constant 0.0>
func.func @train_step(%x: tensor<2x4x7x7xf32>, %scalars: tensor<64xui8> {train.role = #train.role<scalars>}) -> tensor<f32> {
  %w = train.read @w : tensor<6x2x3x3xf32>
  %b = train.read @b : tensor<6xf32>
  %y = train.conv(%x, %w, %b) {dilation = array<i64: 1, 1>, group = 2 : i64, pad = array<i64: 0, 1, 0, 2>, stride = array<i64: 2, 2>} : (tensor<2x4x7x7xf32>, tensor<6x2x3x3xf32>, tensor<6xf32>) -> tensor<2x6x3x4xf32>
  %loss = train.reduce(%y) {axes = array<i64: 0, 1, 2, 3>, mean = false} : (tensor<2x6x3x4xf32>) -> tensor<f32>
  return %loss : tensor<f32>
}

// -----

// Both factors transposed.

// CHECK-LABEL: func.func @train_step
// CHECK:         %[[A:.*]] = train.read @a
// CHECK:         %[[B:.*]] = train.read @b
// CHECK:         %[[DC:.*]] = train.map "x0"
// CHECK:         train.matmul(%[[B]], %[[DC]]) {{.*}}"d_a"{{.*}}transpose_a = true, transpose_b = true} : {{.*}} -> tensor<3x2xf32>
// CHECK:         train.matmul(%[[DC]], %[[A]]) {{.*}}"d_b"{{.*}}transpose_a = true, transpose_b = true} : {{.*}} -> tensor<4x3xf32>
train.parameter trainable @a : tensor<3x2xf32> init<constant 0.0>
train.parameter trainable @b : tensor<4x3xf32> init<constant 0.0>
func.func @train_step(%scalars: tensor<64xui8> {train.role = #train.role<scalars>}) -> tensor<f32> {
  %a = train.read @a : tensor<3x2xf32>
  %b = train.read @b : tensor<4x3xf32>
  %c = train.matmul(%a, %b) {transpose_a = true, transpose_b = true} : (tensor<3x2xf32>, tensor<4x3xf32>) -> tensor<2x4xf32>
  %loss = train.reduce(%c) {axes = array<i64: 0, 1>, mean = false} : (tensor<2x4xf32>) -> tensor<f32>
  return %loss : tensor<f32>
}

// -----

// One matrix for the whole batch: its gradient is one product over all rows.

// CHECK-LABEL: func.func @train_step
// CHECK:         %[[DC:.*]] = train.map "x0"
// CHECK:         train.matmul(%[[DC]], %{{.*}}) {{.*}}"d_a"{{.*}}transpose_b = true} : (tensor<5x2x4xf32>, tensor<3x4xf32>) -> tensor<5x2x3xf32>
// CHECK-DAG:     %[[ROWS:.*]] = train.reshape(%{{.*}}) {{.*}} : (tensor<5x2x3xf32>) -> tensor<10x3xf32>
// CHECK-DAG:     %[[DROWS:.*]] = train.reshape(%[[DC]]) {{.*}} : (tensor<5x2x4xf32>) -> tensor<10x4xf32>
// CHECK:         train.matmul(%[[ROWS]], %[[DROWS]]) {{.*}}"d_b"{{.*}}transpose_a = true}
// CHECK:         train.reduce(%[[DC]]) {axes = array<i64: 0, 1>, {{.*}}"d_bias"
train.parameter trainable @a : tensor<5x2x3xf32> init<constant 0.0>
train.parameter trainable @b : tensor<3x4xf32> init<constant 0.0>
train.parameter trainable @bias : tensor<4xf32> init<constant 0.0>
func.func @train_step(%scalars: tensor<64xui8> {train.role = #train.role<scalars>}) -> tensor<f32> {
  %a = train.read @a : tensor<5x2x3xf32>
  %b = train.read @b : tensor<3x4xf32>
  %bias = train.read @bias : tensor<4xf32>
  %c = train.matmul(%a, %b, %bias) : (tensor<5x2x3xf32>, tensor<3x4xf32>, tensor<4xf32>) -> tensor<5x2x4xf32>
  %loss = train.reduce(%c) {axes = array<i64: 0, 1, 2>, mean = false} : (tensor<5x2x4xf32>) -> tensor<f32>
  return %loss : tensor<f32>
}

// -----

// A transposed batch of factors and one matrix: through the transpose, since
// only the second factor may serve every batch.

// CHECK-LABEL: func.func @train_step
// CHECK:         %[[DC:.*]] = train.map "x0"
// CHECK:         %[[DAT:.*]] = train.matmul(%[[DC]], %{{.*}}) {{.*}}transpose_b = true} : (tensor<5x2x4xf32>, tensor<3x4xf32>) -> tensor<5x2x3xf32>
// CHECK:         train.transpose(%[[DAT]]) {perm = array<i64: 0, 2, 1>, {{.*}}"d_a"
train.parameter trainable @a : tensor<5x3x2xf32> init<constant 0.0>
train.parameter frozen @b : tensor<3x4xf32> init<constant 0.0>
func.func @train_step(%scalars: tensor<64xui8> {train.role = #train.role<scalars>}) -> tensor<f32> {
  %a = train.read @a : tensor<5x3x2xf32>
  %b = train.read @b : tensor<3x4xf32>
  %c = train.matmul(%a, %b) {transpose_a = true} : (tensor<5x3x2xf32>, tensor<3x4xf32>) -> tensor<5x2x4xf32>
  %loss = train.reduce(%c) {axes = array<i64: 0, 1, 2>, mean = false} : (tensor<5x2x4xf32>) -> tensor<f32>
  return %loss : tensor<f32>
}

// -----

// A ReLU inside the product is undone first, from the result.

// CHECK-LABEL: func.func @train_step
// CHECK:         %[[C:.*]] = train.matmul({{.*}}relu = true
// CHECK:         %[[DC:.*]] = train.map "x1 <= 0.0f ? 0.0f : x0"(%{{.*}}, %[[C]])
// CHECK:         train.matmul(%{{.*}}, %[[DC]])
train.parameter trainable @b : tensor<3x4xf32> init<constant 0.0>
func.func @train_step(%x: tensor<2x3xf32>, %scalars: tensor<64xui8> {train.role = #train.role<scalars>}) -> tensor<f32> {
  %b = train.read @b : tensor<3x4xf32>
  %c = train.matmul(%x, %b) {relu = true} : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
  %loss = train.reduce(%c) {axes = array<i64: 0, 1>, mean = false} : (tensor<2x4xf32>) -> tensor<f32>
  return %loss : tensor<f32>
}

// -----

// Windows, normalization and softmax.

// CHECK-LABEL: func.func @train_step
// CHECK:         %[[Y:.*]], %[[INDEX:.*]] = train.max_pool
// CHECK:         %[[LRN:.*]] = train.lrn(%[[Y]])
// CHECK:         %[[SOFT:.*]] = train.softmax
// CHECK:         %[[D1:.*]] = train.softmax_grad(%{{.*}}, %[[SOFT]]) {axis = 1 : i64, log = true
// CHECK:         %[[D2:.*]] = train.avg_pool_grad(%[[D1]]) {{.*}} -> tensor<2x3x3x3xf32>
// CHECK:         %[[D3:.*]] = train.lrn_grad(%[[D2]], %[[Y]]) {alpha = {{.*}}size = 5
// CHECK:         train.max_pool_grad(%[[D3]], %[[INDEX]]) {{.*}}"d_x"{{.*}} -> tensor<2x3x7x7xf32>
train.parameter trainable @x : tensor<2x3x7x7xf32> init<constant 0.0>
func.func @train_step(%scalars: tensor<64xui8> {train.role = #train.role<scalars>}) -> tensor<f32> {
  %x = train.read @x : tensor<2x3x7x7xf32>
  %y, %index = train.max_pool(%x) {dilation = array<i64: 1, 1>, kernel = array<i64: 3, 3>, pad = array<i64: 0, 0, 0, 0>, stride = array<i64: 2, 2>} : (tensor<2x3x7x7xf32>) -> (tensor<2x3x3x3xf32>, tensor<2x3x3x3xui8>)
  %n = train.lrn(%y) {alpha = 1.0e-4 : f32, beta = 0.75 : f32, bias = 1.0 : f32, size = 5 : i64} : (tensor<2x3x3x3xf32>) -> tensor<2x3x3x3xf32>
  %a = train.avg_pool(%n) {count_include_pad = false, dilation = array<i64: 1, 1>, kernel = array<i64: 2, 2>, pad = array<i64: 0, 0, 0, 0>, stride = array<i64: 1, 1>} : (tensor<2x3x3x3xf32>) -> tensor<2x3x2x2xf32>
  %s = train.softmax(%a) {axis = 1 : i64, log = true} : (tensor<2x3x2x2xf32>) -> tensor<2x3x2x2xf32>
  %loss = train.reduce(%s) {axes = array<i64: 0, 1, 2, 3>, mean = true} : (tensor<2x3x2x2xf32>) -> tensor<f32>
  return %loss : tensor<f32>
}

// -----

// Rows: the gradient reads what was made, not what it was made of.

// CHECK-LABEL: func.func @train_step
// CHECK:         %[[Y:.*]], %[[INVSTD:.*]] = train.layer_norm
// CHECK:         train.layer_norm_grad(%{{.*}}, %[[Y]], %[[INVSTD]]) {center = false, {{.*}}"d_x"{{.*}} -> tensor<2x3x7xf32>
train.parameter trainable @x : tensor<2x3x7xf32> init<constant 0.0>
func.func @train_step(%scalars: tensor<64xui8> {train.role = #train.role<scalars>}) -> tensor<f32> {
  %x = train.read @x : tensor<2x3x7xf32>
  %y, %invstd = train.layer_norm(%x) {center = false, epsilon = 1.0e-5 : f32} : (tensor<2x3x7xf32>) -> (tensor<2x3x7xf32>, tensor<2x3x1xf32>)
  %loss = train.reduce(%y) {axes = array<i64: 0, 1, 2>, mean = false} : (tensor<2x3x7xf32>) -> tensor<f32>
  return %loss : tensor<f32>
}

// -----

// Attention: scores are computed once more; a mask has no gradient.

// CHECK-LABEL: func.func @train_step
// CHECK:         %{{.*}}, %[[LARGEST:.*]], %[[INVERSE:.*]] = train.attention
// CHECK:         %[[DQ:.*]], %[[DK:.*]], %[[DV:.*]] = train.attention_grad(%{{.*}}, %[[X:.*]], %[[X]], %[[X]], %[[LARGEST]], %[[INVERSE]], %{{.*}}) {heads = 2 : i64, scale = 5.000000e-01 : f32
train.parameter trainable @x : tensor<2x3x8xf32> init<constant 0.0>
train.parameter constant @mask : tensor<3x3xf32> init<constant 0.0>
func.func @train_step(%scalars: tensor<64xui8> {train.role = #train.role<scalars>}) -> tensor<f32> {
  %x = train.read @x : tensor<2x3x8xf32>
  %mask = train.read @mask : tensor<3x3xf32>
  %y:3 = train.attention(%x, %x, %x, %mask) {heads = 2 : i64, scale = 0.5 : f32} : (tensor<2x3x8xf32>, tensor<2x3x8xf32>, tensor<2x3x8xf32>, tensor<3x3xf32>) -> (tensor<2x3x8xf32>, tensor<2x2x3xf32>, tensor<2x2x3xf32>)
  %loss = train.reduce(%y#0) {axes = array<i64: 0, 1, 2>, mean = false} : (tensor<2x3x8xf32>) -> tensor<f32>
  return %loss : tensor<f32>
}

// -----

// Movement is undone; parts that nobody reads have gradient zero.

// CHECK-LABEL: func.func @train_step
// CHECK:         %[[DL:.*]]:2 = train.split(%{{.*}}) {axis = 0 : i64, sizes = array<i64: 3, 2>
// CHECK:         %[[DS:.*]] = train.slice_grad(%[[DL]]#1) {start = array<i64: 3, 0>, step = array<i64: -2, 1>
// CHECK:         %[[DP:.*]] = train.pad(%[[DL]]#0) {low = array<i64: 1, 0>, {{.*}}value = 0.0
// CHECK:         %[[SUM:.*]] = train.map "x0 + x1"(%[[DS]], %[[DP]])
// CHECK:         %[[DT:.*]] = train.transpose(%[[SUM]]) {perm = array<i64: 1, 0>
// CHECK:         %[[ZERO:.*]] = train.fill() {{.*}}value = 0.0{{.*}} -> tensor<1x4xf32>
// CHECK:         train.concat(%[[DT]], %[[ZERO]]) {axis = 0 : i64, {{.*}}"d_x"
train.parameter trainable @x : tensor<3x4xf32> init<constant 0.0>
func.func @train_step(%scalars: tensor<64xui8> {train.role = #train.role<scalars>}) -> tensor<f32> {
  %x = train.read @x : tensor<3x4xf32>
  %s:2 = train.split(%x) {axis = 0 : i64, sizes = array<i64: 2, 1>} : (tensor<3x4xf32>) -> (tensor<2x4xf32>, tensor<1x4xf32>)
  %t = train.transpose(%s#0) {perm = array<i64: 1, 0>} : (tensor<2x4xf32>) -> tensor<4x2xf32>
  %p = train.pad(%t) {low = array<i64: -1, 0>, value = 1.0 : f32} : (tensor<4x2xf32>) -> tensor<3x2xf32>
  %l = train.slice(%t) {start = array<i64: 3, 0>, step = array<i64: -2, 1>} : (tensor<4x2xf32>) -> tensor<2x2xf32>
  %c = train.concat(%p, %l) {axis = 0 : i64} : (tensor<3x2xf32>, tensor<2x2xf32>) -> tensor<5x2xf32>
  %sq = train.map "x0 * x0"(%c) {fn = "square"} : (tensor<5x2xf32>) -> tensor<5x2xf32>
  %loss = train.reduce(%sq) {axes = array<i64: 0, 1>, mean = false} : (tensor<5x2xf32>) -> tensor<f32>
  return %loss : tensor<f32>
}

// -----

// A mean over some dimensions is spread over them again.

// CHECK-LABEL: func.func @train_step
// CHECK:         %[[KEPT:.*]] = train.reshape(%{{.*}}) {{.*}} : (tensor<3xf32>) -> tensor<3x1xf32>
// CHECK:         train.map "x0 * 0.25f"(%[[KEPT]]) {{.*}}"d_x"{{.*}} -> tensor<3x4xf32>
train.parameter trainable @x : tensor<3x4xf32> init<constant 0.0>
func.func @train_step(%scalars: tensor<64xui8> {train.role = #train.role<scalars>}) -> tensor<f32> {
  %x = train.read @x : tensor<3x4xf32>
  %m = train.reduce(%x) {axes = array<i64: 1>, mean = true} : (tensor<3x4xf32>) -> tensor<3xf32>
  %sq = train.map "x0 * x0"(%m) {fn = "square"} : (tensor<3xf32>) -> tensor<3xf32>
  %loss = train.reduce(%sq) {axes = array<i64: 0>, mean = false} : (tensor<3xf32>) -> tensor<f32>
  return %loss : tensor<f32>
}

// -----

// Gradients of broadcast inputs, to [3, 1] and to a scalar, and class weights.

// CHECK-LABEL: func.func @train_step
// CHECK:         train.cross_entropy_grad(%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}) {ignore_index = 7 : i64, sum = true
// CHECK:         train.reduce(%{{.*}}) {axes = array<i64: 0, 1>, {{.*}}"d_b"{{.*}} -> tensor<f32>
// CHECK:         train.reduce(%{{.*}}) {axes = array<i64: 1>, {{.*}}"d_a"{{.*}} -> tensor<3x1xf32>
train.parameter trainable @a : tensor<3x1xf32> init<constant 0.0>
train.parameter trainable @b : tensor<f32> init<constant 0.0>
func.func @train_step(%x: tensor<3x4xf32>, %labels: tensor<3xi32> {train.role = #train.role<labels>}, %weight: tensor<4xf32>, %scalars: tensor<64xui8> {train.role = #train.role<scalars>}) -> tensor<f32> {
  %a = train.read @a : tensor<3x1xf32>
  %b = train.read @b : tensor<f32>
  %y = train.map "x0 * x1"(%x, %a) {fn = "mul"} : (tensor<3x4xf32>, tensor<3x1xf32>) -> tensor<3x4xf32>
  %z = train.map "x0 - x1"(%y, %b) {fn = "sub"} : (tensor<3x4xf32>, tensor<f32>) -> tensor<3x4xf32>
  %loss, %probs = train.cross_entropy(%z, %labels, %weight) {ignore_index = 7 : i64, sum = true} : (tensor<3x4xf32>, tensor<3xi32>, tensor<4xf32>) -> (tensor<f32>, tensor<3x4xf32>)
  return %loss : tensor<f32>
}

// -----

// A table of which rows are taken; the numbers have no gradient.

// CHECK-LABEL: func.func @train_step
// CHECK-SAME:    %[[AT:[^:]*]]: tensor<2x5xf32>
// CHECK:         %[[DY:.*]] = train.map "x0"
// CHECK:         train.embedding_grad(%[[DY]], %[[AT]]) {{.*}}"d_table"{{.*}} -> tensor<4x3xf32>
train.parameter trainable @table : tensor<4x3xf32> init<constant 0.0>
func.func @train_step(%at: tensor<2x5xf32>, %scalars: tensor<64xui8> {train.role = #train.role<scalars>}) -> tensor<f32> {
  %table = train.read @table : tensor<4x3xf32>
  %y = train.embedding(%table, %at) : (tensor<4x3xf32>, tensor<2x5xf32>) -> tensor<2x5x3xf32>
  %loss = train.reduce(%y) {axes = array<i64: 0, 1, 2>, mean = false} : (tensor<2x5x3xf32>) -> tensor<f32>
  return %loss : tensor<f32>
}
