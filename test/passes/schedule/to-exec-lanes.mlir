// RUN: lwcc-opt %s -train-to-exec -exec-plan-memory -exec-verify-schedule | FileCheck %s
// Lanes wait for each other where their calls touch the same memory, and no more
// than needed.

#first = #train.tiling<n = 1 c = 1 h = 1 w = 1 k = 1 on [<"0.0.0">]>
#second = #train.tiling<n = 1 c = 1 h = 1 w = 1 k = 1 on [<"0.0.1">]>

module {
  // CHECK: exec.lane compute @gpu0.compute on @gpu0
  // CHECK-NEXT: exec.lane compute @gpu0.lane1 on @gpu0
  // CHECK: exec.event @map.done
  // CHECK-NEXT: exec.event @reduce.done
  // CHECK-NOT: exec.event
  func.func @train_step(%x: tensor<8xf32> {train.name = "x"}, %labels: tensor<2xi32> {train.name = "labels", train.role = #train.role<labels>}, %scalars: tensor<64xui8> {train.name = "scalars", train.role = #train.role<scalars>}) -> (tensor<f32>, tensor<2xi32>) {
    // CHECK: exec.call "map" {{.*}} -> [@a] on @gpu0.compute
    // CHECK-NEXT: exec.record @map.done on @gpu0.compute
    %a = train.map "max(x0, 0.0f)"(%x) {train.names = ["a"], train.tiling = #first} : (tensor<8xf32>) -> tensor<8xf32>
    // CHECK-NEXT: exec.call "map" {{.*}} -> [@b] on @gpu0.compute
    %b = train.map "exp(x0)"(%a) {train.names = ["b"], train.tiling = #first} : (tensor<8xf32>) -> tensor<8xf32>
    // CHECK-NEXT: exec.wait @map.done on @gpu0.lane1
    // CHECK-NEXT: exec.call "map" {{.*}} -> [@c] on @gpu0.lane1
    %c = train.map "sqrt(x0)"(%a) {train.names = ["c"], train.tiling = #second} : (tensor<8xf32>) -> tensor<8xf32>
    // The lane knows of @a already.
    // CHECK-NEXT: exec.call "map" {{.*}} -> [@d] on @gpu0.lane1
    %d = train.map "x0 + x1"(%a, %c) {train.names = ["d"], train.tiling = #second} : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
    // CHECK-NEXT: exec.call "reduce" [@d] -> [@e] on @gpu0.lane1
    // CHECK-NEXT: exec.record @reduce.done on @gpu0.lane1
    %e = train.reduce(%d) {axes = array<i64: 0>, mean = false, train.names = ["e"], train.tiling = #second} : (tensor<8xf32>) -> tensor<f32>
    // Waiting for the last of a lane is enough.
    // CHECK-NEXT: exec.wait @reduce.done on @gpu0.compute
    // CHECK-NEXT: exec.call "map" {{.*}} [@e, @d, @b]
    %f = train.map "x0 + x1 + x2"(%e, %d, %b) {train.names = ["f"], train.tiling = #first} : (tensor<f32>, tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
    // CHECK-NEXT: exec.call "reduce"
    %loss = train.reduce(%f) {axes = array<i64: 0>, mean = false, train.names = ["loss"], train.tiling = #first} : (tensor<8xf32>) -> tensor<f32>
    // CHECK-NEXT: exec.call "reshape"
    return %loss, %labels : tensor<f32>, tensor<2xi32>
  }
  func.func @evaluate(%x: tensor<8xf32> {train.name = "x"}, %labels: tensor<2xi32> {train.name = "labels", train.role = #train.role<labels>}, %scalars: tensor<64xui8> {train.name = "scalars", train.role = #train.role<scalars>}) -> (tensor<f32>, tensor<2xi32>) {
    %loss = train.reduce(%x) {axes = array<i64: 0>, mean = false, train.tiling = #first} : (tensor<8xf32>) -> tensor<f32>
    return %loss, %labels : tensor<f32>, tensor<2xi32>
  }
}
