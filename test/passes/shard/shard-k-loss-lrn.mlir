// RUN: lwcc-opt %s -split-input-file -train-shard | FileCheck %s

// k=2: each tile sums half of the reduction; the bias is added once. Each device
// adds up half of the channels, and takes their ReLU. The functions' names say how
// they are cut.

#k2 = #train.tiling<n = 1 c = 1 h = 1 w = 1 k = 2 on [<"0.0.0">, <"0.1.0">]>

// CHECK-DAG: train.parameter trainable @w.part0 : tensor<4x3xf32> {{.*}}train.begin = array<i64: 0, 0>
// CHECK-DAG: train.parameter trainable @w.part1 : tensor<4x3xf32> {{.*}}train.begin = array<i64: 0, 3>
train.parameter trainable @w : tensor<4x6xf32> init<constant 1.0>
train.parameter trainable @b : tensor<4xf32> init<constant 1.0>

// CHECK-LABEL: func.func @train_step(
// CHECK-SAME: %[[X0:[^:]*]]: tensor<2x3xf32, #train.place<"0.0.0">> {train.begin = array<i64: 0, 0>
// CHECK-SAME: %[[X1:[^:]*]]: tensor<2x3xf32, #train.place<"0.1.0">> {train.begin = array<i64: 0, 3>
func.func @train_step(%x: tensor<2x6xf32> {train.name = "x"}) -> tensor<2x4xf32> {
  %w = train.read @w {train.tiling = #k2} : tensor<4x6xf32>
  %b = train.read @b {train.tiling = #k2} : tensor<4xf32>
  // CHECK: %[[P0:.*]] = train.matmul(%[[X0]], %{{.*}}, %{{.*}}) {train.names = ["y"], train.tile = #train.tile<k 0 of 2>
  // CHECK: %[[P1:.*]] = train.matmul(%[[X1]], %{{[^,]*}}) {train.names = ["y"], train.tile = #train.tile<k 1 of 2>
  // CHECK: %[[P0A:.*]] = train.slice(%[[P0]]) {start = array<i64: 0, 0>
  // CHECK: %[[P1A:.*]] = train.slice(%[[P1]]) {start = array<i64: 0, 0>
  // CHECK: %[[M1:.*]] = train.transfer(%[[P1A]])
  // CHECK: %[[SUM0:.*]] = train.sum(%[[P0A]], %[[M1]])
  // CHECK: train.map "max(x0, 0.0f)"(%[[SUM0]]) {{.*}}#train.tile<c 0 of 2>
  // CHECK: %[[P0B:.*]] = train.slice(%[[P0]]) {start = array<i64: 0, 2>
  // CHECK: %[[P1B:.*]] = train.slice(%[[P1]]) {start = array<i64: 0, 2>
  // CHECK: %[[M0:.*]] = train.transfer(%[[P0B]])
  // CHECK: %[[SUM1:.*]] = train.sum(%[[M0]], %[[P1B]])
  // CHECK: train.map "max(x0, 0.0f)"(%[[SUM1]]) {{.*}}#train.tile<c 1 of 2>
  %y = train.matmul(%x, %w, %b) {train.tiling = #k2, relu = true, transpose_b = true, train.names = ["y"]} : (tensor<2x6xf32>, tensor<4x6xf32>, tensor<4xf32>) -> tensor<2x4xf32>
  return %y : tensor<2x4xf32>
}

// -----

// Channels of a local normalization, in parts of given sizes: a tile computes
// what its window looks at, too, and keeps its part.

#c = #train.tiling<n = 1 c = 2 h = 1 w = 1 k = 1 on [<"0.0.0">, <"0.1.0">] sizes = {c = array<i64: 2, 6>}>

// CHECK-LABEL: func.func @train_step(
// CHECK-SAME: %[[X0:[^:]*]]: tensor<1x3x4x4xf32, #train.place<"0.0.0">>
// CHECK-SAME: %[[X1:[^:]*]]: tensor<1x7x4x4xf32, #train.place<"0.1.0">> {train.begin = array<i64: 0, 1, 0, 0>
func.func @train_step(%x: tensor<1x8x4x4xf32> {train.name = "x"}) -> tensor<1x8x4x4xf32> {
  // CHECK: %[[Y0:.*]] = train.lrn(%[[X0]])
  // CHECK: %[[Y1:.*]] = train.lrn(%[[X1]])
  // CHECK: %[[KEPT0:.*]] = train.slice(%[[Y0]]) {start = array<i64: 0, 0, 0, 0>, {{.*}} -> tensor<1x2x4x4xf32
  // CHECK: %[[KEPT1:.*]] = train.slice(%[[Y1]]) {start = array<i64: 0, 1, 0, 0>, {{.*}} -> tensor<1x6x4x4xf32
  // CHECK: %[[THERE:.*]] = train.transfer(%[[KEPT1]])
  // CHECK: train.concat(%[[KEPT0]], %[[THERE]]) {axis = 1
  %y = train.lrn(%x) {train.tiling = #c, alpha = 1.0 : f32, beta = 0.75 : f32, bias = 1.0 : f32, size = 3 : i64} : (tensor<1x8x4x4xf32>) -> tensor<1x8x4x4xf32>
  return %y : tensor<1x8x4x4xf32>
}

// -----

// A mean of losses: sums of the tiles, divided by the weight of all labels.

#n2 = #train.tiling<n = 2 c = 1 h = 1 w = 1 k = 1 on [<"0.0.0">, <"0.1.0">]>

// CHECK-LABEL: func.func @train_step(
func.func @train_step(%x: tensor<3x5xf32> {train.name = "x"}, %labels: tensor<3xi32> {train.name = "labels", train.role = #train.role<labels>}) -> (tensor<f32>, tensor<2xf32>) {
  // CHECK: train.loss_weight(%{{.*}}) {{.*}} : (tensor<2xi32, #train.place<"0.0.0">>)
  // CHECK: train.loss_weight(%{{.*}}) {{.*}} : (tensor<1xi32, #train.place<"0.1.0">>)
  // CHECK: train.cross_entropy(%{{.*}}) {sum = true, {{.*}} : (tensor<2x5xf32
  // CHECK: train.cross_entropy(%{{.*}}) {sum = true, {{.*}} : (tensor<1x5xf32
  // CHECK: train.sum
  // CHECK: train.sum
  // CHECK: train.map "x0 / x1"
  %loss, %probs = train.cross_entropy(%x, %labels) {train.tiling = #n2} : (tensor<3x5xf32>, tensor<3xi32>) -> (tensor<f32>, tensor<3x5xf32>)
  // CHECK: train.accuracy
  // CHECK: train.accuracy
  // CHECK: train.sum{{.*}} -> tensor<2xf32
  %counts = train.accuracy(%x, %labels) {train.tiling = #n2} : (tensor<3x5xf32>, tensor<3xi32>) -> tensor<2xf32>
  return %loss, %counts : tensor<f32>, tensor<2xf32>
}

// -----

// A large parameter in two copies: each device updates one half, of its own
// copy, and sends it to the other.

#n2 = #train.tiling<n = 2 c = 1 h = 1 w = 1 k = 1 on [<"0.0.0">, <"0.1.0">]>

// CHECK-DAG: train.parameter trainable @w.part0 : tensor<1024x512xf32>
// CHECK-DAG: train.parameter trainable @w.part1 : tensor<1024x512xf32>
// CHECK-DAG: train.parameter optimizer @m.part0 : tensor<512x512xf32> {{.*}}train.begin = array<i64: 0, 0>
// CHECK-DAG: train.parameter optimizer @m.part1 : tensor<512x512xf32> {{.*}}train.begin = array<i64: 512, 0>
train.parameter trainable @w : tensor<1024x512xf32> init<constant 1.0>
train.parameter optimizer @m : tensor<1024x512xf32> init<constant 0.0>

// CHECK-LABEL: func.func @train_step(
func.func @train_step(%x: tensor<2x512xf32> {train.name = "x"}, %scalars: tensor<64xui8> {train.name = "scalars", train.role = #train.role<scalars>}, %loss: tensor<f32> {train.name = "loss"}) -> tensor<2x1024xf32> {
  %w = train.read @w {train.tiling = #n2} : tensor<1024x512xf32>
  %m = train.read @m {train.tiling = #n2} : tensor<1024x512xf32>
  %y = train.matmul(%x, %w) {train.tiling = #n2, transpose_b = true} : (tensor<2x512xf32>, tensor<1024x512xf32>) -> tensor<2x1024xf32>
  %d = train.matmul(%y, %x) {train.tiling = #n2, train.axes = "c-n", transpose_a = true} : (tensor<2x1024xf32>, tensor<2x512xf32>) -> tensor<1024x512xf32>
  // CHECK: %[[NEW0:[a-z_0-9]+]], %{{.*}} = train.sgd({{.*}} -> (tensor<512x512xf32, #train.place<"0.0.sync">>
  // CHECK: %[[NEW1:[a-z_0-9]+]], %{{.*}} = train.sgd({{.*}} -> (tensor<512x512xf32, #train.place<"0.1.sync">>
  // CHECK: train.write @w.part0 at [0, 0], %[[NEW0]]
  // CHECK: %[[THERE:[0-9]+]] = train.transfer(%[[NEW1]])
  // CHECK: train.write @w.part0 at [512, 0], %[[THERE]]
  // CHECK: train.write @w.part1 at [0, 0]
  // CHECK: train.write @w.part1 at [512, 0], %[[NEW1]]
  %new, %m_new = train.sgd(%w, %m, %scalars, %loss, %d) {train.tiling = #n2} : (tensor<1024x512xf32>, tensor<1024x512xf32>, tensor<64xui8>, tensor<f32>, tensor<1024x512xf32>) -> (tensor<1024x512xf32>, tensor<1024x512xf32>)
  train.write @w, %new {train.tiling = #n2} : tensor<1024x512xf32>
  train.write @m, %m_new {train.tiling = #n2} : tensor<1024x512xf32>
  return %y : tensor<2x1024xf32>
}
