// RUN: lwcc-opt %s -verify-roundtrip | FileCheck %s
// What the verifiers must accept: shapes at the edge of their rules.

// CHECK:      #tiling = #train.tiling<n = 2 c = 1 h = 1 w = 1 k = 1 on{{ ?}}[<"0.0.0">, <"0.1.0">]>
// CHECK:      train.parameter {{ *}}trainable @w : tensor<4xf32> init<uniform -5.000000e-01, 5.000000e-01> fresh<normal 0.000000e+00, 1.000000e-01>
train.parameter trainable @w : tensor<4xf32> init<uniform -0.5, 0.5> fresh<normal 0.0, 0.1>
// CHECK-NEXT: train.parameter {{ *}}constant @c : tensor<4xf32> init<blob at 128>
train.parameter constant @c : tensor<4xf32> init<blob at 128>

// CHECK-LABEL: func.func @places
// CHECK:         train.read @w {train.tiling = #tiling} : tensor<4xf32, #train.place<"0.1.0">>
func.func @places() {
  %w = train.read @w {train.tiling = #train.tiling<n = 2 c = 1 h = 1 w = 1 k = 1 on [<"0.0.0">, <"0.1.0">]>} : tensor<4xf32, #train.place<"0.1.0">>
  return
}

// CHECK-LABEL: func.func @windows
func.func @windows(%x: tensor<1x4x8x7xf32>, %w: tensor<6x2x3x2xf32>, %b: tensor<6xf32>) {
  // Groups, stride, dilation and uneven padding.
  // CHECK: train.conv
  %c = train.conv(%x, %w, %b) {dilation = array<i64: 2, 1>, group = 2 : i64, pad = array<i64: 1, 0, 2, 1>, stride = array<i64: 2, 3>} : (tensor<1x4x8x7xf32>, tensor<6x2x3x2xf32>, tensor<6xf32>) -> tensor<1x6x4x3xf32>
  // floor and ceil_mode.
  // CHECK: train.max_pool
  %f:2 = train.max_pool(%x) {dilation = array<i64: 1, 1>, kernel = array<i64: 3, 3>, pad = array<i64: 0, 0, 0, 0>, stride = array<i64: 2, 2>} : (tensor<1x4x8x7xf32>) -> (tensor<1x4x3x3xf32>, tensor<1x4x3x3xui8>)
  // CHECK: train.avg_pool
  %g = train.avg_pool(%x) {count_include_pad = true, dilation = array<i64: 1, 1>, kernel = array<i64: 3, 3>, pad = array<i64: 0, 0, 0, 0>, stride = array<i64: 2, 2>} : (tensor<1x4x8x7xf32>) -> tensor<1x4x4x3xf32>
  return
}

// CHECK-LABEL: func.func @large_window
func.func @large_window(%x: tensor<1x1x17x17xf32>) {
  // CHECK: train.max_pool
  %f:2 = train.max_pool(%x) {dilation = array<i64: 1, 1>, kernel = array<i64: 17, 17>, pad = array<i64: 0, 0, 0, 0>, stride = array<i64: 1, 1>} : (tensor<1x1x17x17xf32>) -> (tensor<1x1x1x1xf32>, tensor<1x1x1x1xi32>)
  return
}

// CHECK-LABEL: func.func @products
func.func @products(%a: tensor<5x2x3xf32>, %b: tensor<4x3xf32>, %c: tensor<5x3x4xf32>) {
  // CHECK: train.matmul
  %p = train.matmul(%a, %b) {transpose_b = true} : (tensor<5x2x3xf32>, tensor<4x3xf32>) -> tensor<5x2x4xf32>
  // CHECK: train.matmul
  %q = train.matmul(%a, %c) : (tensor<5x2x3xf32>, tensor<5x3x4xf32>) -> tensor<5x2x4xf32>
  return
}

// CHECK-LABEL: func.func @movement
func.func @movement(%x: tensor<2x3x4xf32>, %labels: tensor<2x4xi32>, %weight: tensor<3xf32>) {
  // CHECK: train.reduce
  %r = train.reduce(%x) {axes = array<i64: 0, 2>, mean = true} : (tensor<2x3x4xf32>) -> tensor<3xf32>
  // CHECK: train.reduce
  %k = train.reduce(%x) {axes = array<i64: 0, 2>, mean = false} : (tensor<2x3x4xf32>) -> tensor<1x3x1xf32>
  // CHECK: train.split
  %s:2 = train.split(%x) {axis = 1 : i64, sizes = array<i64: 1, 2>} : (tensor<2x3x4xf32>) -> (tensor<2x1x4xf32>, tensor<2x2x4xf32>)
  // CHECK: train.concat
  %c = train.concat(%s#1, %s#0) {axis = 1 : i64} : (tensor<2x2x4xf32>, tensor<2x1x4xf32>) -> tensor<2x3x4xf32>
  // CHECK: train.pad
  %p = train.pad(%x) {low = array<i64: 0, -1, 2>, value = 0.5 : f32} : (tensor<2x3x4xf32>) -> tensor<2x2x8xf32>
  // CHECK: train.slice
  %t = train.slice(%x) {start = array<i64: 0, 2, 3>, step = array<i64: 1, -1, -2>} : (tensor<2x3x4xf32>) -> tensor<2x3x2xf32>
  // CHECK: train.cross_entropy(%{{.*}}) {ignore_index = 255 : i64, sum = true}
  %loss, %probs = train.cross_entropy(%x, %labels, %weight) {ignore_index = 255 : i64, sum = true} : (tensor<2x3x4xf32>, tensor<2x4xi32>, tensor<3xf32>) -> (tensor<f32>, tensor<2x3x4xf32>)
  return
}

// CHECK-LABEL: func.func @rows
func.func @rows(%x: tensor<4xf32>) {
  // CHECK: train.layer_norm(%arg0) {center = false, epsilon = 0.000000e+00 : f32}
  %y:2 = train.layer_norm(%x) {center = false, epsilon = 0.0 : f32} : (tensor<4xf32>) -> (tensor<4xf32>, tensor<1xf32>)
  // CHECK: train.layer_norm_grad
  %d = train.layer_norm_grad(%y#0, %y#0, %y#1) {center = false} : (tensor<4xf32>, tensor<4xf32>, tensor<1xf32>) -> tensor<4xf32>
  return
}

// CHECK-LABEL: func.func @attention
func.func @attention(%q: tensor<2x3x8xf32>, %k: tensor<2x5x8xf32>, %v: tensor<2x5x4xf32>, %mask: tensor<3x5xf32>) {
  // CHECK: train.attention(%arg0, %arg1, %arg2) {heads = 4 : i64, scale = 5.000000e-01 : f32}
  %y:3 = train.attention(%q, %k, %v) {heads = 4 : i64, scale = 0.5 : f32} : (tensor<2x3x8xf32>, tensor<2x5x8xf32>, tensor<2x5x4xf32>) -> (tensor<2x3x4xf32>, tensor<2x4x3xf32>, tensor<2x4x3xf32>)
  // CHECK: train.attention_grad({{.*}}, %arg3) {heads = 4 : i64
  %d:3 = train.attention_grad(%y#0, %q, %k, %v, %y#1, %y#2, %mask) {heads = 4 : i64, scale = 0.5 : f32} : (tensor<2x3x4xf32>, tensor<2x3x8xf32>, tensor<2x5x8xf32>, tensor<2x5x4xf32>, tensor<2x4x3xf32>, tensor<2x4x3xf32>, tensor<3x5xf32>) -> (tensor<2x3x8xf32>, tensor<2x5x8xf32>, tensor<2x5x4xf32>)
  return
}

// CHECK-LABEL: func.func @embeddings
func.func @embeddings(%table: tensor<1x3xf32>, %tables: tensor<2x4x3xf32>, %at: tensor<2x1xf32>) {
  // CHECK: train.embedding
  %y = train.embedding(%table, %at) : (tensor<1x3xf32>, tensor<2x1xf32>) -> tensor<2x1x3xf32>
  // CHECK: train.embedding_grad
  %d = train.embedding_grad(%y, %at) : (tensor<2x1x3xf32>, tensor<2x1xf32>) -> tensor<1x3xf32>
  // A table for each sample.
  // CHECK: train.embedding
  %z = train.embedding(%tables, %at) : (tensor<2x4x3xf32>, tensor<2x1xf32>) -> tensor<2x1x3xf32>
  // CHECK: train.embedding_grad
  %e = train.embedding_grad(%z, %at) : (tensor<2x1x3xf32>, tensor<2x1xf32>) -> tensor<2x4x3xf32>
  return
}
