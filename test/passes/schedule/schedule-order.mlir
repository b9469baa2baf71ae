// RUN: lwcc-opt %s -split-input-file -verify-diagnostics -train-schedule | FileCheck %s

// The plan's order of a lane: b before a, and of c the second tile first; what
// it does not name stays where it was.

#lane = #train.tiling<n = 1 c = 1 h = 1 w = 1 k = 1 on [<"0.0.0">]>

module attributes {train.order = [#train.lane_order<<"0.0.0">: <"b" forward>, <"a" forward>, <"c" forward tile 1>, <"c" forward tile 0>, <"c" backward>>]} {
  // CHECK-LABEL: func.func @train_step(
  func.func @train_step(%x: tensor<4xf32>) -> tensor<4xf32> {
    // CHECK: train.work = #train.work<"b" forward>
    // CHECK: train.work = #train.work<"a" forward>
    // CHECK: train.work = #train.work<"c" forward tile 1>
    // CHECK: train.work = #train.work<"c" forward tile 0>
    // CHECK: train.work = #train.work<"d" forward>
    %a = train.map "x0"(%x) {train.tiling = #lane, train.work = #train.work<"a" forward>} : (tensor<4xf32>) -> tensor<4xf32>
    %b = train.map "-x0"(%x) {train.tiling = #lane, train.work = #train.work<"b" forward>} : (tensor<4xf32>) -> tensor<4xf32>
    %c0 = train.map "x0 * 2.0f"(%a) {train.tiling = #lane, train.work = #train.work<"c" forward tile 0>} : (tensor<4xf32>) -> tensor<4xf32>
    %c1 = train.map "x0 * 3.0f"(%b) {train.tiling = #lane, train.work = #train.work<"c" forward tile 1>} : (tensor<4xf32>) -> tensor<4xf32>
    %d = train.map "x0 + x1"(%c0, %c1) {train.tiling = #lane, train.work = #train.work<"d" forward>} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    return %d : tensor<4xf32>
  }
}

// -----

#lane = #train.tiling<n = 1 c = 1 h = 1 w = 1 k = 1 on [<"0.0.0">]>

module attributes {train.order = [#train.lane_order<<"0.0.0">: <"b" forward>, <"a" forward>>]} {
  // expected-error @+1 {{the plan's "order" contradicts what the layers need of each other: "b" before "a" on 0.0.0, but "b" needs "a"}}
  func.func @train_step(%x: tensor<4xf32>) -> tensor<4xf32> {
    %a = train.map "x0"(%x) {train.tiling = #lane, train.work = #train.work<"a" forward>} : (tensor<4xf32>) -> tensor<4xf32>
    %b = train.map "-x0"(%a) {train.tiling = #lane, train.work = #train.work<"b" forward>} : (tensor<4xf32>) -> tensor<4xf32>
    return %b : tensor<4xf32>
  }
}

// -----

// What a tile does with the work of the layer's other tiles (here the sum of
// partial sums) is not part of its task: the tiles themselves may go in any
// order, also with another layer between them.

#lane = #train.tiling<n = 1 c = 1 h = 1 w = 1 k = 1 on [<"0.0.0">]>

module attributes {train.order = [#train.lane_order<<"0.0.0">: <"c" forward tile 1>, <"b" forward>, <"c" forward tile 0>>]} {
  // CHECK-LABEL: func.func @train_step(
  func.func @train_step(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
    // CHECK: tile 1>
    // CHECK: train.work = #train.work<"b" forward>
    // CHECK: tile 0>
    // CHECK: train.sum
    // CHECK: tile 1>
    %c0 = train.map "x0"(%x) {train.tiling = #lane, train.work = #train.work<"c" forward tile 0>} : (tensor<4xf32>) -> tensor<4xf32>
    %c1 = train.map "-x0"(%x) {train.tiling = #lane, train.work = #train.work<"c" forward tile 1>} : (tensor<4xf32>) -> tensor<4xf32>
    %c = train.sum(%c0, %c1) {train.tiling = #lane, train.work = #train.work<"c" forward>} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %relu = train.map "max(x0, 0.0f)"(%c) {train.tiling = #lane, train.work = #train.work<"c" forward tile 1>} : (tensor<4xf32>) -> tensor<4xf32>
    %b = train.map "x0 * 2.0f"(%x) {train.tiling = #lane, train.work = #train.work<"b" forward>} : (tensor<4xf32>) -> tensor<4xf32>
    return %relu, %b : tensor<4xf32>, tensor<4xf32>
  }
}

// -----

// The reason against an order may be other orders.

#lane = #train.tiling<n = 1 c = 1 h = 1 w = 1 k = 1 on [<"0.0.0">]>
#other = #train.tiling<n = 1 c = 1 h = 1 w = 1 k = 1 on [<"0.0.1">]>

module attributes {train.order = [#train.lane_order<<"0.0.0">: <"a" forward>, <"d" forward>>, #train.lane_order<<"0.0.1">: <"c" forward>, <"b" forward>>]} {
  // expected-error @+1 {{"c" before "b" on 0.0.1, but "c" needs "d", and "d" is to come after "a" on 0.0.0, and "a" needs "b"}}
  func.func @train_step(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
    %b = train.map "x0"(%x) {train.tiling = #other, train.work = #train.work<"b" forward>} : (tensor<4xf32>) -> tensor<4xf32>
    %a = train.map "-x0"(%b) {train.tiling = #lane, train.work = #train.work<"a" forward>} : (tensor<4xf32>) -> tensor<4xf32>
    %d = train.map "x0"(%x) {train.tiling = #lane, train.work = #train.work<"d" forward>} : (tensor<4xf32>) -> tensor<4xf32>
    %c = train.map "x0 * 2.0f"(%d) {train.tiling = #other, train.work = #train.work<"c" forward>} : (tensor<4xf32>) -> tensor<4xf32>
    return %a, %c : tensor<4xf32>, tensor<4xf32>
  }
}
