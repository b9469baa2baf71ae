// RUN: lwcc-opt %s -train-to-exec -exec-plan-memory -exec-verify-schedule | FileCheck %s
// Columns of another device's tensor are read where they are stored, if a concat
// or a sum of such parts wants them; anybody else gets them packed.

#p0 = #train.place<"0.0.0">
#p1 = #train.place<"0.1.0">
#t0 = #train.place<"0.0.in">
#on0 = #train.tiling<n = 1 c = 1 h = 1 w = 1 k = 1 on [<"0.0.0">]>
#on1 = #train.tiling<n = 1 c = 1 h = 1 w = 1 k = 1 on [<"0.1.0">]>
#to0 = #train.tiling<n = 1 c = 1 h = 1 w = 1 k = 1 on [<"0.0.in">]>

module {
  // CHECK-DAG: exec.buffer activation @gpu1.cols.part of "cols.part" : tensor<2x3xf32> on @gpu1 view @gpu1.y window [0, 5] at 20
  // CHECK-DAG: exec.buffer activation @gpu0.own.part of "own.part" : tensor<2x3xf32> on @gpu0 view @gpu0.x window [0, 5] at 20
  // CHECK-LABEL: exec.sequence @train_step
  func.func @train_step(%x: tensor<2x8xf32, #p0> {train.name = "x"}, %labels: tensor<2xi32, #p0> {train.name = "labels", train.role = #train.role<labels>}, %scalars: tensor<64xui8, #p0> {train.name = "scalars", train.role = #train.role<scalars>}) -> (tensor<f32, #p0>, tensor<2xi32, #p0>) {
    %x1 = train.transfer(%x) {train.names = ["x1"], train.tiling = #on1} : (tensor<2x8xf32, #p0>) -> tensor<2x8xf32, #p1>
    %y = train.map "exp(x0)"(%x1) {train.names = ["y"], train.tiling = #on1} : (tensor<2x8xf32, #p1>) -> tensor<2x8xf32, #p1>
    %cols = train.slice(%y) {start = array<i64: 0, 5>, step = array<i64: 1, 1>, train.names = ["cols"], train.tiling = #on1} : (tensor<2x8xf32, #p1>) -> tensor<2x3xf32, #p1>
    %c0 = train.transfer(%cols) {train.names = ["c0"], train.tiling = #to0} : (tensor<2x3xf32, #p1>) -> tensor<2x3xf32, #t0>
    %own = train.slice(%x) {start = array<i64: 0, 5>, step = array<i64: 1, 1>, train.names = ["own"], train.tiling = #on0} : (tensor<2x8xf32, #p0>) -> tensor<2x3xf32, #p0>
    // CHECK: exec.call "concat" [{{.*}}own.part, @gpu1.cols.part] -> [@gpu0.joined] on @gpu0.compute
    %joined = train.concat(%own, %c0) {axis = 1 : i64, train.names = ["joined"], train.tiling = #on0} : (tensor<2x3xf32, #p0>, tensor<2x3xf32, #t0>) -> tensor<2x6xf32, #p0>
    // CHECK: exec.call "sum" [{{.*}}own.part, @gpu1.cols.part] -> [@gpu0.total] on @gpu0.compute
    %total = train.sum(%own, %c0) {train.names = ["total"], train.tiling = #on0} : (tensor<2x3xf32, #p0>, tensor<2x3xf32, #t0>) -> tensor<2x3xf32, #p0>
    // CHECK: exec.call "slice" [@gpu1.y] -> [@gpu1.packed] on @gpu1.compute
    %packed = train.slice(%y) {start = array<i64: 0, 1>, step = array<i64: 1, 1>, train.names = ["packed"], train.tiling = #on1} : (tensor<2x8xf32, #p1>) -> tensor<2x3xf32, #p1>
    %p0 = train.transfer(%packed) {train.names = ["p0"], train.tiling = #to0} : (tensor<2x3xf32, #p1>) -> tensor<2x3xf32, #t0>
    %q = train.map "x0 + x1"(%p0, %total) {train.names = ["q"], train.tiling = #on0} : (tensor<2x3xf32, #t0>, tensor<2x3xf32, #p0>) -> tensor<2x3xf32, #p0>
    // A sum reads its terms alike: one that somebody else wants packed is
    // packed, and so is the other.
    // CHECK-DAG: exec.call "slice" [{{.*}}x{{.*}}] -> [@gpu0.first]
    // CHECK-DAG: exec.call "slice" [{{.*}}x{{.*}}] -> [@gpu0.shared]
    // CHECK: exec.call "sum" [@gpu0.first, @gpu0.shared]
    %first = train.slice(%x) {start = array<i64: 0, 1>, step = array<i64: 1, 1>, train.names = ["first"], train.tiling = #on0} : (tensor<2x8xf32, #p0>) -> tensor<2x3xf32, #p0>
    %shared = train.slice(%x) {start = array<i64: 0, 4>, step = array<i64: 1, 1>, train.names = ["shared"], train.tiling = #on0} : (tensor<2x8xf32, #p0>) -> tensor<2x3xf32, #p0>
    %both = train.sum(%first, %shared) {train.names = ["both"], train.tiling = #on0} : (tensor<2x3xf32, #p0>, tensor<2x3xf32, #p0>) -> tensor<2x3xf32, #p0>
    %s = train.map "x0 + x1 + x2"(%q, %both, %shared) {train.names = ["s"], train.tiling = #on0} : (tensor<2x3xf32, #p0>, tensor<2x3xf32, #p0>, tensor<2x3xf32, #p0>) -> tensor<2x3xf32, #p0>
    %r = train.concat(%s, %joined) {axis = 1 : i64, train.names = ["r"], train.tiling = #on0} : (tensor<2x3xf32, #p0>, tensor<2x6xf32, #p0>) -> tensor<2x9xf32, #p0>
    %loss = train.reduce(%r) {axes = array<i64: 0, 1>, mean = false, train.names = ["loss"], train.tiling = #on0} : (tensor<2x9xf32, #p0>) -> tensor<f32, #p0>
    return %loss, %labels : tensor<f32, #p0>, tensor<2xi32, #p0>
  }
  func.func @evaluate(%x: tensor<2x8xf32, #p0> {train.name = "x"}, %labels: tensor<2xi32, #p0> {train.name = "labels", train.role = #train.role<labels>}, %scalars: tensor<64xui8, #p0> {train.name = "scalars", train.role = #train.role<scalars>}) -> (tensor<f32, #p0>, tensor<2xi32, #p0>) {
    %loss = train.reduce(%x) {axes = array<i64: 0, 1>, mean = false, train.tiling = #on0} : (tensor<2x8xf32, #p0>) -> tensor<f32, #p0>
    return %loss, %labels : tensor<f32, #p0>, tensor<2xi32, #p0>
  }
}
