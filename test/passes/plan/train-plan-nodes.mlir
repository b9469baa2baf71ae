// RUN: lwcc-opt %s --train-plan="plan=%S/Inputs/nodes.json gpus=2" 2>&1 | FileCheck %s
// A plan may name a node of the model that is computed within another layer: it
// is cut like that one, and a note says so.

// CHECK: remark: plan '{{.*}}nodes.json' names "add", computed within other layers, or not at all: what it says of them is ignored
// CHECK: #tiling = #train.tiling<n = 2 c = 1
// CHECK-NOT: train.nodes
module attributes {train.nodes = ["conv", "add"]} {
  // CHECK: func.func @train_step
  func.func @train_step(%x: tensor<4x2xf32> {train.name = "x"}) -> tensor<4x2xf32> {
    // CHECK: train.map "x0 + x0"{{.*}}train.tiling = #tiling
    %y = train.map "x0 + x0"(%x) {train.work = #train.work<"conv" forward>} : (tensor<4x2xf32>) -> tensor<4x2xf32>
    return %y : tensor<4x2xf32>
  }
}
