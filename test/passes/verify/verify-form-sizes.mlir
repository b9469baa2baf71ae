// RUN: split-file %s %t
// RUN: not lwcc-opt %t/one.mlir --lwcc-verify-form=form=imported 2>&1 | FileCheck %t/one.mlir
// RUN: not lwcc-opt %t/sum.mlir --lwcc-verify-form=form=imported 2>&1 | FileCheck %t/sum.mlir
// RUN: not lwcc-opt %t/one.mlir --lwcc-verify-form=form=differentiated 2>&1 | FileCheck %t/one.mlir
// RUN: not lwcc-opt %t/unknown.mlir --lwcc-verify-form=form=imported 2>&1 | FileCheck %t/unknown.mlir
// RUN: not lwcc-opt %t/parts.mlir --lwcc-verify-form=form=imported 2>&1 | FileCheck %t/parts.mlir
// RUN: not lwcc-opt %t/shards.mlir --lwcc-verify-form=form=sharded 2>&1 | FileCheck %t/shards.mlir
// Sizes that passes could not multiply and add.

//--- one.mlir
// CHECK: error: breaks rule (A1): a value of type 'tensor<16777216x4x16777216x16777216xf32>' has more than 256 TiB or 8 dimensions
func.func @model(%x: tensor<16777216x4x16777216x16777216xf32> {train.name = "x"}) -> tensor<16777216x4x16777216x16777216xf32> {
  return %x : tensor<16777216x4x16777216x16777216xf32>
}
//--- sum.mlir
// CHECK: error: breaks rule (A1): the values of the program have more than 256 TiB
func.func @model(%x: tensor<35184372088832xf32> {train.name = "x"}, %y: tensor<35184372088832xf32> {train.name = "y"}, %z: tensor<35184372088832xf32> {train.name = "z"}) -> tensor<35184372088832xf32> {
  return %x : tensor<35184372088832xf32>
}
//--- unknown.mlir
// CHECK: error: breaks rule (A1): a value of type 'tensor<?x4xf32>' has an extent that is not known
func.func @model(%x: tensor<?x4xf32> {train.name = "x"}) -> tensor<?x4xf32> {
  return %x : tensor<?x4xf32>
}
//--- parts.mlir
train.parameter statistic @s : tensor<8xf32> init<constant 0.0>
func.func @model(%x: tensor<2x4xf32> {train.name = "x"}, %scalars: tensor<64xui8> {train.name = "scalars", train.role = #train.role<scalars>}) -> tensor<2x4xf32> {
  %v = train.reduce(%x) {axes = array<i64: 0>, mean = false, train.work = #train.work<"a" forward>, train.names = ["v"]} : (tensor<2x4xf32>) -> tensor<4xf32>
  // CHECK: error: breaks rule (I5): a part of type 'tensor<4xf32>' at [9223372036854775807] is not inside parameter @s of type 'tensor<8xf32>'
  train.write @s at [9223372036854775807], %v {train.work = #train.work<"a" forward>} : tensor<4xf32>
  // CHECK: error: breaks rule (I5): a part of type 'tensor<4xf32>' at [-9223372036854775808] is not inside
  train.write @s at [-9223372036854775808], %v {train.work = #train.work<"a" forward>} : tensor<4xf32>
  return %x : tensor<2x4xf32>
}
//--- shards.mlir
!here = tensor<2x4xf32, #train.place<"0.0.0">>
!labels = tensor<2xi32, #train.place<"0.0.0">>
// CHECK: error: breaks rule (S2): argument 0 is no part of the tensor that it names
// CHECK: error: breaks rule (S2): argument 1 is no part of the tensor that it names
func.func @train_step(%x: !here {train.name = "x", train.tensor = "x", train.dims = array<i64: 4, 4>, train.begin = array<i64: 9223372036854775807, 0>}, %labels: !labels {train.name = "labels", train.role = #train.role<labels>, train.tensor = "labels", train.dims = array<i64: -9223372036854775808>, train.begin = array<i64: 0>}, %scalars: tensor<64xui8, #train.place<"0.0.0">> {train.name = "scalars", train.role = #train.role<scalars>}) -> (!here, !labels) {
  return %x, %labels : !here, !labels
}
