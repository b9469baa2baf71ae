// RUN: split-file %s %t
// RUN: not lwcc-opt %t/one.mlir --lwcc-verify-form=form=imported 2>&1 | FileCheck %t/one.mlir
// RUN: not lwcc-opt %t/sum.mlir --lwcc-verify-form=form=imported 2>&1 | FileCheck %t/sum.mlir
// RUN: not lwcc-opt %t/one.mlir --lwcc-verify-form=form=differentiated 2>&1 | FileCheck %t/one.mlir
// Sizes that passes could not multiply and add.

//--- one.mlir
// CHECK: error: breaks rule (A1): a value of type 'tensor<16777216x4x16777216x16777216xf32>' has more than 256 TiB or 6 dimensions
func.func @model(%x: tensor<16777216x4x16777216x16777216xf32> {train.name = "x"}) -> tensor<16777216x4x16777216x16777216xf32> {
  return %x : tensor<16777216x4x16777216x16777216xf32>
}
//--- sum.mlir
// CHECK: error: breaks rule (A1): the values of the program have more than 256 TiB
func.func @model(%x: tensor<35184372088832xf32> {train.name = "x"}, %y: tensor<35184372088832xf32> {train.name = "y"}, %z: tensor<35184372088832xf32> {train.name = "z"}) -> tensor<35184372088832xf32> {
  return %x : tensor<35184372088832xf32>
}
