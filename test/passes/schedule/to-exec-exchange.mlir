// RUN: lwcc-opt %s -train-to-exec -exec-plan-memory -exec-verify-schedule | FileCheck %s
// What an update or a sum needs of other devices it reads there: the transfer
// becomes no call. Parts that are fetched into one buffer become one call.

#p0 = #train.place<"0.0.0">
#p1 = #train.place<"0.1.0">
#t0 = #train.place<"0.0.in">
#t1 = #train.place<"0.1.in">
#on0 = #train.tiling<n = 1 c = 1 h = 1 w = 1 k = 1 on [<"0.0.0">]>
#on1 = #train.tiling<n = 1 c = 1 h = 1 w = 1 k = 1 on [<"0.1.0">]>
#to0 = #train.tiling<n = 1 c = 1 h = 1 w = 1 k = 1 on [<"0.0.in">]>
#to1 = #train.tiling<n = 1 c = 1 h = 1 w = 1 k = 1 on [<"0.1.in">]>

module {
  train.parameter trainable @w : tensor<64xf32> init<constant 1.0>
  train.parameter optimizer @m : tensor<64xf32> init<constant 0.0>
  // CHECK: exec.lane in @gpu0.in on @gpu0
  // CHECK-LABEL: exec.sequence @train_step
  func.func @train_step(%x: tensor<64xf32, #p0> {train.name = "x"}, %labels: tensor<2xi32, #p0> {train.name = "labels", train.role = #train.role<labels>}, %scalars: tensor<64xui8, #p0> {train.name = "scalars", train.role = #train.role<scalars>}) -> (tensor<f32, #p0>, tensor<2xi32, #p0>) {
    %w = train.read @w {train.tiling = #on0} : tensor<64xf32, #p0>
    %m = train.read @m {train.tiling = #on0} : tensor<64xf32, #p0>
    %a = train.map "exp(x0)"(%x) {train.names = ["a"], train.tiling = #on0} : (tensor<64xf32, #p0>) -> tensor<64xf32, #p0>
    // CHECK: exec.call "transfer" [@gpu0.a] -> [@gpu1.a1] on @gpu1.in
    %a1 = train.transfer(%a) {train.names = ["a1"], train.tiling = #to1} : (tensor<64xf32, #p0>) -> tensor<64xf32, #t1>
    %g1 = train.map "exp(x0)"(%a1) {train.names = ["g1"], train.tiling = #on1} : (tensor<64xf32, #t1>) -> tensor<64xf32, #p1>
    %h1 = train.map "sqrt(x0)"(%a1) {train.names = ["h1"], train.tiling = #on1} : (tensor<64xf32, #t1>) -> tensor<64xf32, #p1>
    // CHECK: exec.call "sum" [@gpu0.a, @gpu1.g1] -> [@gpu0.total] on @gpu0.compute
    %g0 = train.transfer(%g1) {train.names = ["g0"], train.tiling = #to0} : (tensor<64xf32, #p1>) -> tensor<64xf32, #t0>
    %total = train.sum(%a, %g0) {train.names = ["total"], train.tiling = #on0} : (tensor<64xf32, #p0>, tensor<64xf32, #t0>) -> tensor<64xf32, #p0>
    // A part of what lies there is a view there.
    %c1 = train.concat(%g1, %h1) {axis = 0 : i64, train.names = ["c1"], train.tiling = #on1} : (tensor<64xf32, #p1>, tensor<64xf32, #p1>) -> tensor<128xf32, #p1>
    %part = train.slice(%c1) {start = array<i64: 64>, step = array<i64: 1>, train.names = ["part"], train.tiling = #on1} : (tensor<128xf32, #p1>) -> tensor<64xf32, #p1>
    %part0 = train.transfer(%part) {train.names = ["part0"], train.tiling = #to0} : (tensor<64xf32, #p1>) -> tensor<64xf32, #t0>
    // CHECK: exec.call "transfer" [@gpu1.g1, @gpu1.h1] -> [@gpu0.r0, @gpu0.r1] on @gpu0.in
    %r0 = train.transfer(%g1) {train.names = ["r0"], train.tiling = #to0} : (tensor<64xf32, #p1>) -> tensor<64xf32, #t0>
    %r1 = train.transfer(%h1) {train.names = ["r1"], train.tiling = #to0} : (tensor<64xf32, #p1>) -> tensor<64xf32, #t0>
    %r = train.concat(%r0, %r1) {axis = 0 : i64, train.names = ["r"], train.tiling = #on0} : (tensor<64xf32, #t0>, tensor<64xf32, #t0>) -> tensor<128xf32, #p0>
    %loss = train.reduce(%r) {axes = array<i64: 0>, mean = false, train.names = ["loss"], train.tiling = #on0} : (tensor<128xf32, #p0>) -> tensor<f32, #p0>
    // CHECK: exec.call "sgd" [@gpu0.w, @gpu0.m, @gpu0.scalars, @gpu0.loss, @gpu0.total, @gpu1.part.part] -> [@gpu0.w, @gpu0.m] on @gpu0.compute
    %w1, %m1 = train.sgd(%w, %m, %scalars, %loss, %total, %part0) {train.work = #train.work<"" update>, train.tiling = #on0} : (tensor<64xf32, #p0>, tensor<64xf32, #p0>, tensor<64xui8, #p0>, tensor<f32, #p0>, tensor<64xf32, #p0>, tensor<64xf32, #t0>) -> (tensor<64xf32, #p0>, tensor<64xf32, #p0>)
    train.write @w, %w1 {train.tiling = #on0} : tensor<64xf32, #p0>
    train.write @m, %m1 {train.tiling = #on0} : tensor<64xf32, #p0>
    return %loss, %labels : tensor<f32, #p0>, tensor<2xi32, #p0>
  }
  func.func @evaluate(%x: tensor<64xf32, #p0> {train.name = "x"}, %labels: tensor<2xi32, #p0> {train.name = "labels", train.role = #train.role<labels>}, %scalars: tensor<64xui8, #p0> {train.name = "scalars", train.role = #train.role<scalars>}) -> (tensor<f32, #p0>, tensor<2xi32, #p0>) {
    %loss = train.reduce(%x) {axes = array<i64: 0>, mean = false, train.tiling = #on0} : (tensor<64xf32, #p0>) -> tensor<f32, #p0>
    return %loss, %labels : tensor<f32, #p0>, tensor<2xi32, #p0>
  }
}
