// RUN: lwcc-opt %s -train-to-exec -exec-plan-memory -exec-verify-schedule | FileCheck %s
// What a lane fetches from its maker is not merged with what another device has
// fetched first: the former, for which others may wait, would wait for the
// latter.

#p0 = #train.place<"0.0.0">
#p1 = #train.place<"0.1.0">
#s1 = #train.place<"0.1.sync">
#s2 = #train.place<"0.2.sync">
#on0 = #train.tiling<n = 1 c = 1 h = 1 w = 1 k = 1 on [<"0.0.0">]>
#on1 = #train.tiling<n = 1 c = 1 h = 1 w = 1 k = 1 on [<"0.1.0">]>
#to1 = #train.tiling<n = 1 c = 1 h = 1 w = 1 k = 1 on [<"0.1.sync">]>
#to2 = #train.tiling<n = 1 c = 1 h = 1 w = 1 k = 1 on [<"0.2.sync">]>

module {
  // CHECK-LABEL: exec.sequence @train_step
  func.func @train_step(%x: tensor<64xf32, #p0> {train.name = "x"}, %labels: tensor<2xi32, #p0> {train.name = "labels", train.role = #train.role<labels>}, %scalars: tensor<64xui8, #p0> {train.name = "scalars", train.role = #train.role<scalars>}) -> (tensor<f32, #p1>, tensor<2xi32, #p0>) {
    %a = train.map "exp(x0)"(%x) {train.names = ["a"], train.tiling = #on0} : (tensor<64xf32, #p0>) -> tensor<64xf32, #p0>
    %b = train.map "sqrt(x0)"(%x) {train.names = ["b"], train.tiling = #on0} : (tensor<64xf32, #p0>) -> tensor<64xf32, #p0>
    // CHECK: exec.call "transfer" [@gpu0.a] -> [@gpu2.relay] on @gpu2.sync
    %relay = train.transfer(%a) {train.names = ["relay"], train.tiling = #to2} : (tensor<64xf32, #p0>) -> tensor<64xf32, #s2>
    // CHECK: exec.call "transfer" [@gpu0.b] -> [@gpu1.near] on @gpu1.sync
    // CHECK: exec.call "transfer" [@gpu2.relay] -> [@gpu1.far] on @gpu1.sync
    %near = train.transfer(%b) {train.names = ["near"], train.tiling = #to1} : (tensor<64xf32, #p0>) -> tensor<64xf32, #s1>
    %far = train.transfer(%relay) {train.names = ["far"], train.tiling = #to1} : (tensor<64xf32, #s2>) -> tensor<64xf32, #s1>
    %r = train.concat(%near, %far) {axis = 0 : i64, train.names = ["r"], train.tiling = #on1} : (tensor<64xf32, #s1>, tensor<64xf32, #s1>) -> tensor<128xf32, #p1>
    %loss = train.reduce(%r) {axes = array<i64: 0>, mean = false, train.names = ["loss"], train.tiling = #on1} : (tensor<128xf32, #p1>) -> tensor<f32, #p1>
    return %loss, %labels : tensor<f32, #p1>, tensor<2xi32, #p0>
  }
  func.func @evaluate(%x: tensor<64xf32, #p0> {train.name = "x"}, %labels: tensor<2xi32, #p0> {train.name = "labels", train.role = #train.role<labels>}, %scalars: tensor<64xui8, #p0> {train.name = "scalars", train.role = #train.role<scalars>}) -> (tensor<f32, #p1>, tensor<2xi32, #p0>) {
    %x1 = train.transfer(%x) {train.names = ["x1"], train.tiling = #to1} : (tensor<64xf32, #p0>) -> tensor<64xf32, #s1>
    %loss = train.reduce(%x1) {axes = array<i64: 0>, mean = false, train.tiling = #on1} : (tensor<64xf32, #s1>) -> tensor<f32, #p1>
    return %loss, %labels : tensor<f32, #p1>, tensor<2xi32, #p0>
  }
}
