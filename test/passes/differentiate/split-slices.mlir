// RUN: lwcc-opt --split-input-file --train-split-slices %s | FileCheck %s
// Slices that have every element once are one split; whatever order they are in.

// CHECK-LABEL: func.func @model(
// CHECK: %[[S:.*]]:3 = train.split(%arg0) {axis = 0 : i64, sizes = array<i64: 1, 1, 1>, train.names = ["q", "k", "v"], train.work = #train.work<"take v" forward>}
// CHECK-NOT: train.slice
// CHECK: return %[[S]]#0, %[[S]]#1, %[[S]]#2
func.func @model(%x: tensor<3x4x5xf32> {train.name = "x"}) -> (tensor<1x4x5xf32>, tensor<1x4x5xf32>, tensor<1x4x5xf32>) {
  %v = train.slice(%x) {start = array<i64: 2, 0, 0>, step = array<i64: 1, 1, 1>, train.names = ["v"], train.work = #train.work<"take v" forward>} : (tensor<3x4x5xf32>) -> tensor<1x4x5xf32>
  %q = train.slice(%x) {start = array<i64: 0, 0, 0>, step = array<i64: 1, 1, 1>, train.names = ["q"], train.work = #train.work<"take q" forward>} : (tensor<3x4x5xf32>) -> tensor<1x4x5xf32>
  %k = train.slice(%x) {start = array<i64: 1, 0, 0>, step = array<i64: 1, 1, 1>, train.names = ["k"], train.work = #train.work<"take k" forward>} : (tensor<3x4x5xf32>) -> tensor<1x4x5xf32>
  return %q, %k, %v : tensor<1x4x5xf32>, tensor<1x4x5xf32>, tensor<1x4x5xf32>
}

// -----

// Parts of parts.
// CHECK-LABEL: func.func @model(
// CHECK: %[[S:.*]]:2 = train.split(%arg0) {axis = 0
// CHECK: %[[T:.*]]:2 = train.split(%[[S]]#0) {axis = 0
// CHECK: return %[[T]]#0, %[[T]]#1, %[[S]]#1
func.func @model(%x: tensor<4x5xf32> {train.name = "x"}) -> (tensor<1x5xf32>, tensor<1x5xf32>, tensor<2x5xf32>) {
  %a = train.slice(%x) {start = array<i64: 0, 0>, step = array<i64: 1, 1>, train.names = ["a"], train.work = #train.work<"a" forward>} : (tensor<4x5xf32>) -> tensor<2x5xf32>
  %b = train.slice(%x) {start = array<i64: 2, 0>, step = array<i64: 1, 1>, train.names = ["b"], train.work = #train.work<"b" forward>} : (tensor<4x5xf32>) -> tensor<2x5xf32>
  %c = train.slice(%a) {start = array<i64: 0, 0>, step = array<i64: 1, 1>, train.names = ["c"], train.work = #train.work<"c" forward>} : (tensor<2x5xf32>) -> tensor<1x5xf32>
  %d = train.slice(%a) {start = array<i64: 1, 0>, step = array<i64: 1, 1>, train.names = ["d"], train.work = #train.work<"d" forward>} : (tensor<2x5xf32>) -> tensor<1x5xf32>
  return %c, %d, %b : tensor<1x5xf32>, tensor<1x5xf32>, tensor<2x5xf32>
}

// -----

// Elements that none has, that two have, or that are apart; slices of a parameter.
// CHECK-LABEL: func.func @model(
// CHECK-NOT: train.split
// CHECK-COUNT-9: train.slice
func.func @model(%x: tensor<4x6xf32> {train.name = "x"}, %y: tensor<4x6xf32> {train.name = "y"}, %z: tensor<4x6xf32> {train.name = "z"}) {
  %w = train.read @w {train.work = #train.work<"fc" forward>, train.names = ["w"]} : tensor<4x6xf32>
  %a = train.slice(%x) {start = array<i64: 0, 0>, step = array<i64: 1, 1>, train.names = ["a"], train.work = #train.work<"a" forward>} : (tensor<4x6xf32>) -> tensor<4x3xf32>
  %b = train.slice(%x) {start = array<i64: 0, 4>, step = array<i64: 1, 1>, train.names = ["b"], train.work = #train.work<"b" forward>} : (tensor<4x6xf32>) -> tensor<4x2xf32>
  %c = train.slice(%y) {start = array<i64: 0, 0>, step = array<i64: 1, 1>, train.names = ["c"], train.work = #train.work<"c" forward>} : (tensor<4x6xf32>) -> tensor<4x4xf32>
  %d = train.slice(%y) {start = array<i64: 0, 3>, step = array<i64: 1, 1>, train.names = ["d"], train.work = #train.work<"d" forward>} : (tensor<4x6xf32>) -> tensor<4x3xf32>
  %e = train.slice(%z) {start = array<i64: 0, 0>, step = array<i64: 1, 2>, train.names = ["e"], train.work = #train.work<"e" forward>} : (tensor<4x6xf32>) -> tensor<4x3xf32>
  %f = train.slice(%z) {start = array<i64: 0, 1>, step = array<i64: 1, 2>, train.names = ["f"], train.work = #train.work<"f" forward>} : (tensor<4x6xf32>) -> tensor<4x3xf32>
  %g = train.slice(%z) {start = array<i64: 0, 0>, step = array<i64: 1, 1>, train.names = ["g"], train.work = #train.work<"g" forward>} : (tensor<4x6xf32>) -> tensor<2x3xf32>
  %h = train.slice(%w) {start = array<i64: 0, 0>, step = array<i64: 1, 1>, train.names = ["h"], train.work = #train.work<"h" forward>} : (tensor<4x6xf32>) -> tensor<2x6xf32>
  %i = train.slice(%w) {start = array<i64: 2, 0>, step = array<i64: 1, 1>, train.names = ["i"], train.work = #train.work<"i" forward>} : (tensor<4x6xf32>) -> tensor<2x6xf32>
  return
}
train.parameter trainable @w : tensor<4x6xf32> init<constant 1.0>
