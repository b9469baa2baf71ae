// RUN: lwcc-opt %s -canonicalize | FileCheck %s

// CHECK-LABEL: func.func @identity_map
// CHECK-NEXT:    return %arg0
func.func @identity_map(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %y = train.map "x0"(%x) {fn = "identity"} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return %y : tensor<2x3xf32>
}

// CHECK-LABEL: func.func @broadcast_is_no_identity
// CHECK-NEXT:    train.map
func.func @broadcast_is_no_identity(%x: tensor<3xf32>) -> tensor<2x3xf32> {
  %y = train.map "x0"(%x) : (tensor<3xf32>) -> tensor<2x3xf32>
  return %y : tensor<2x3xf32>
}

// CHECK-LABEL: func.func @reshapes
// CHECK-NEXT:    %[[Y:.*]] = train.reshape(%arg0) : (tensor<2x3xf32>) -> tensor<6xf32>
// CHECK-NEXT:    return %[[Y]], %arg0
func.func @reshapes(%x: tensor<2x3xf32>) -> (tensor<6xf32>, tensor<2x3xf32>) {
  %a = train.reshape(%x) : (tensor<2x3xf32>) -> tensor<3x2xf32>
  %b = train.reshape(%a) : (tensor<3x2xf32>) -> tensor<6xf32>
  %c = train.reshape(%b) : (tensor<6xf32>) -> tensor<2x3xf32>
  return %b, %c : tensor<6xf32>, tensor<2x3xf32>
}

// CHECK-LABEL: func.func @transposes
// CHECK-NEXT:    %[[Y:.*]] = train.transpose(%arg0) {perm = array<i64: 2, 0, 1>} : (tensor<2x3x4xf32>) -> tensor<4x2x3xf32>
// CHECK-NEXT:    return %[[Y]], %arg0
func.func @transposes(%x: tensor<2x3x4xf32>) -> (tensor<4x2x3xf32>, tensor<2x3x4xf32>) {
  %a = train.transpose(%x) {perm = array<i64: 1, 0, 2>} : (tensor<2x3x4xf32>) -> tensor<3x2x4xf32>
  %b = train.transpose(%a) {perm = array<i64: 2, 1, 0>} : (tensor<3x2x4xf32>) -> tensor<4x2x3xf32>
  %c = train.transpose(%b) {perm = array<i64: 1, 2, 0>} : (tensor<4x2x3xf32>) -> tensor<2x3x4xf32>
  return %b, %c : tensor<4x2x3xf32>, tensor<2x3x4xf32>
}
