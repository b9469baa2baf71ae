// RUN: lwcc-opt %s -split-input-file -verify-diagnostics -train-schedule | FileCheck %s

// The plan's order of a lane: b before a, and of c the second tile first; what
// it does not name stays where it was.

#lane = #train.tiling<n = 1 c = 1 h = 1 w = 1 k = 1 on [<"0.0.0">]>

// CHECK-NOT: train.order
module attributes {train.order = {"0.0.0" = ["b", "a", "c[1]", "c[0]", "c backward"]}} {
  // CHECK-LABEL: func.func @train_step(
  func.func @train_step(%x: tensor<4xf32>) -> tensor<4xf32> {
    // CHECK: train.layer = "b"
    // CHECK: train.layer = "a"
    // CHECK: train.layer = "c", train.phase = "forward", train.tile = 1
    // CHECK: train.layer = "c", train.phase = "forward", train.tile = 0
    // CHECK: train.layer = "d"
    %a = train.map "x0"(%x) {train.tiling = #lane, train.layer = "a"} : (tensor<4xf32>) -> tensor<4xf32>
    %b = train.map "-x0"(%x) {train.tiling = #lane, train.layer = "b"} : (tensor<4xf32>) -> tensor<4xf32>
    %c0 = train.map "x0 * 2.0f"(%a) {train.tiling = #lane, train.layer = "c", train.phase = "forward", train.tile = 0} : (tensor<4xf32>) -> tensor<4xf32>
    %c1 = train.map "x0 * 3.0f"(%b) {train.tiling = #lane, train.layer = "c", train.phase = "forward", train.tile = 1} : (tensor<4xf32>) -> tensor<4xf32>
    %d = train.map "x0 + x1"(%c0, %c1) {train.tiling = #lane, train.layer = "d"} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    return %d : tensor<4xf32>
  }
}

// -----

#lane = #train.tiling<n = 1 c = 1 h = 1 w = 1 k = 1 on [<"0.0.0">]>

module attributes {train.order = {"0.0.0" = ["b", "a"]}} {
  // expected-error @+1 {{the plan's "order" contradicts what the layers need of each other: "b" before "a" on 0.0.0}}
  func.func @train_step(%x: tensor<4xf32>) -> tensor<4xf32> {
    %a = train.map "x0"(%x) {train.tiling = #lane, train.layer = "a"} : (tensor<4xf32>) -> tensor<4xf32>
    %b = train.map "-x0"(%a) {train.tiling = #lane, train.layer = "b"} : (tensor<4xf32>) -> tensor<4xf32>
    return %b : tensor<4xf32>
  }
}
