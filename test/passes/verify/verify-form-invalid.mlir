// RUN: split-file %s %t
// RUN: not lwcc-opt %t/imported.mlir --lwcc-verify-form=form=imported 2>&1 | FileCheck %t/imported.mlir
// RUN: not lwcc-opt %t/no-model.mlir --lwcc-verify-form=form=imported 2>&1 | FileCheck %t/no-model.mlir
// RUN: not lwcc-opt %t/auxiliary.mlir --lwcc-verify-form=form=imported 2>&1 | FileCheck %t/auxiliary.mlir
// RUN: not lwcc-opt %t/differentiated.mlir --lwcc-verify-form=form=differentiated 2>&1 | FileCheck %t/differentiated.mlir
// RUN: not lwcc-opt %t/differentiated.mlir --lwcc-verify-form=form=planned 2>&1 | FileCheck %t/differentiated.mlir --check-prefix=PLANNED
// RUN: not lwcc-opt %t/sharded.mlir --lwcc-verify-form=form=sharded 2>&1 | FileCheck %t/sharded.mlir
// RUN: not lwcc-opt %t/scheduled.mlir --lwcc-verify-form=form=scheduled 2>&1 | FileCheck %t/scheduled.mlir
// RUN: not lwcc-opt %t/order.mlir --lwcc-verify-form=form=scheduled 2>&1 | FileCheck %t/order.mlir
// RUN: not lwcc-opt %t/exec.mlir --lwcc-verify-form=form=exec 2>&1 | FileCheck %t/exec.mlir
// RUN: not lwcc-opt %t/no-model.mlir --lwcc-verify-form=form=exec 2>&1 | FileCheck %t/no-model.mlir --check-prefix=EXEC
// RUN: not lwcc-opt %t/exec.mlir --lwcc-verify-form=form=nonsense 2>&1 | FileCheck %t/exec.mlir --check-prefix=NONSENSE
// Each rule is broken at least once; all offenders are reported in one run.

//--- imported.mlir
train.parameter statistic @v : tensor<4xf32> init<constant 0.0>
train.parameter trainable @w : tensor<4xf32> init<constant 0.0>
// CHECK: [[@LINE+1]]:{{.*}} error: breaks rule (I1): function @other does not belong here
func.func @other() { return }
// CHECK: error: breaks rule (I1): the arguments are not (inputs, labels, scalars)
// CHECK: error: breaks rule (I1): argument 1 has no train.name
// CHECK: error: breaks rule (I2): the results are not the logits, or loss and logits
func.func @model(%x: tensor<2x4x1x1xf32> {train.name = "x"}, %y: tensor<4xf32>, %half: tensor<2xf32>) {
  // CHECK: [[@LINE+3]]:{{.*}} error: breaks rule (I3): the op has no train.work
  // CHECK: [[@LINE+2]]:{{.*}} error: breaks rule (I3): the results have no train.names
  // CHECK: [[@LINE+1]]:{{.*}} error: breaks rule (I4): more than y of batch_norm is used
  %0:5 = train.batch_norm(%x, %y, %y, %y, %y) {epsilon = 1.0e-5 : f32, momentum = 0.9 : f32} : (tensor<2x4x1x1xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<2x4x1x1xf32>, tensor<4x1x1xf32>, tensor<4x1x1xf32>, tensor<4xf32>, tensor<4xf32>)
  // CHECK: [[@LINE+1]]:{{.*}} error: breaks rule (I3): 'train.write' is no forward op
  train.write @w, %0#3 {train.work = #train.work<"a" forward>} : tensor<4xf32>
  // CHECK: [[@LINE+1]]:{{.*}} error: breaks rule (I3): 'train.map' is no forward op
  %1 = train.map "x0"(%y) {train.names = ["b"], train.work = #train.work<"a" backward>} : (tensor<4xf32>) -> tensor<4xf32>
  %2 = train.read @nothing {train.work = #train.work<"a" forward>, train.names = ["c"]} : tensor<4xf32>
  %3 = train.read @w {train.work = #train.work<"a" forward>, train.names = ["d"]} : tensor<5xf32>
  %4 = train.read @w {train.work = #train.work<"a" forward>, train.names = ["e"]} : tensor<4xf32>
  %5 = train.map "x0"(%half) {train.work = #train.work<"a" forward>, train.names = ["f"]} : (tensor<2xf32>) -> tensor<2xf32>
  train.write @v at [3], %5 {train.work = #train.work<"a" forward>} : tensor<2xf32>
  train.write @v at [0], %5 {train.work = #train.work<"a" forward>} : tensor<2xf32>
  train.write @v at [1], %5 {train.work = #train.work<"a" forward>} : tensor<2xf32>
  return
}
// CHECK: error: breaks rule (I5): there is no parameter @nothing
// CHECK: error: breaks rule (I5): parameter @w is a 'tensor<4xf32>', not a 'tensor<5xf32>'
// CHECK: error: breaks rule (I5): @w is touched twice in the same way
// CHECK: note: first here
// CHECK: error: breaks rule (I5): a part of type 'tensor<2xf32>' at [3] is not inside parameter @v of type 'tensor<4xf32>'
// CHECK: error: breaks rule (I5): a part of @v is written twice
// CHECK: note: first here

//--- no-model.mlir
// CHECK: error: breaks rule (I1): there is no function @model
// EXEC: error: breaks rule (E1): 'func.func' beside the program
// EXEC: error: breaks rule (E1): there are 0 programs, not one
func.func @train_step() { return }

//--- auxiliary.mlir
// CHECK: error: breaks rule (I1): the arguments are not (inputs, labels, scalars)
// CHECK: error: breaks rule (I2): the results are not the logits, or loss and logits, or logits and the train.auxiliary outputs
module attributes {train.auxiliary = [{name = "early", weight = 3.0e-1}]} {
  func.func @model(%x: tensor<2x4xf32> {train.name = "x"}, %shares: tensor<2x4xf32> {train.name = "s", train.role = #train.role<shares>}, %scalars: tensor<64xui8> {train.name = "scalars", train.role = #train.role<scalars>}) -> tensor<2x4xf32> {
    return %x : tensor<2x4xf32>
  }
}

//--- differentiated.mlir
train.parameter trainable @w : tensor<2x4xf32> init<constant 0.0>
// CHECK: error: breaks rule (D1): function @model does not belong here
func.func @model() { return }
// CHECK: error: breaks rule (D1): the results are not (loss, counts)
func.func @train_step(%x: tensor<2x4xf32> {train.name = "x"}, %labels: tensor<2xi32> {train.name = "labels", train.role = #train.role<labels>}, %scalars: tensor<64xui8> {train.name = "scalars", train.role = #train.role<scalars>}) -> tensor<f32> {
  %w = train.read @w : tensor<2x4xf32>
  // CHECK: error: breaks rule (D2): a forward op uses a value of the phase backward
  // CHECK: note: made here
  %d = train.map "x0"(%w) {train.work = #train.work<"" backward>} : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %loss, %probs = train.cross_entropy(%d, %labels) : (tensor<2x4xf32>, tensor<2xi32>) -> (tensor<f32>, tensor<2x4xf32>)
  // CHECK: error: breaks rule (D2): 'train.cross_entropy_grad' in the forward phase
  %dy = train.cross_entropy_grad(%loss, %probs, %labels) : (tensor<f32>, tensor<2x4xf32>, tensor<2xi32>) -> tensor<2x4xf32>
  // CHECK: error: breaks rule (D4): 'train.dropout' is not decomposed
  %r = train.dropout(%x, %scalars) {ratio = 0.5 : f32, stream = 1 : i64} : (tensor<2x4xf32>, tensor<64xui8>) -> tensor<2x4xf32>
  return %loss : tensor<f32>
}
// CHECK: error: breaks rule (D1): the results are not (loss, counts) or (loss, counts, scores)
// CHECK: error: breaks rule (D1): @evaluate and @train_step have different arguments
// CHECK: error: breaks rule (D2): trainable parameter @w is never updated
func.func @evaluate(%x: tensor<2x5xf32> {train.name = "x"}, %labels: tensor<2xi32> {train.name = "labels", train.role = #train.role<labels>}, %scalars: tensor<64xui8> {train.name = "scalars", train.role = #train.role<scalars>}) -> (tensor<f32>, tensor<2xi32>) {
  %y = train.read @w : tensor<2x4xf32>
  // CHECK: error: breaks rule (D3): @evaluate drops elements
  %z = train.map "x0 * dropout_mask(0.5f, 1u)"(%y) scalars(%scalars : tensor<64xui8>) : (tensor<2x4xf32>) -> tensor<2x4xf32>
  // CHECK: error: breaks rule (D3): @evaluate writes a parameter
  train.write @w, %z : tensor<2x4xf32>
  // PLANNED: error: breaks rule (P1): the op has no train.tiling
  %sum = train.reduce(%z) {axes = array<i64: 0, 1>, mean = false} : (tensor<2x4xf32>) -> tensor<f32>
  return %sum, %labels : tensor<f32>, tensor<2xi32>
}

//--- sharded.mlir
#one = #train.tiling<n = 1 c = 1 h = 1 w = 1 k = 1 on [<"0.0.0">]>
#two = #train.tiling<n = 2 c = 1 h = 1 w = 1 k = 1 on [<"0.0.0">, <"0.0.1">]>
!here = tensor<2x4xf32, #train.place<"0.0.0">>
!there = tensor<2x4xf32, #train.place<"0.1.0">>
!labels = tensor<2xi32, #train.place<"0.0.0">>
!loss = tensor<f32, #train.place<"0.0.0">>
// CHECK: error: breaks rule (S2): the parameter is no part of the tensor that it names
train.parameter trainable @w.part0 : tensor<3xf32> init<constant 0.0> {train.tensor = "w", train.dims = array<i64: 4>, train.begin = array<i64: 2>}
train.parameter optimizer @m.part0 : tensor<2xf32> init<constant 0.0> {train.tensor = "m", train.dims = array<i64: 4>, train.begin = array<i64: 0>}
train.parameter optimizer @m.part1 : tensor<2xf32> init<constant 0.0> {train.tensor = "m", train.dims = array<i64: 4>, train.begin = array<i64: 2>}
// CHECK: error: breaks rule (S4): the parts of "s" leave out 1 of its regions
train.parameter statistic @s.part0 : tensor<2xf32> init<constant 0.0> {train.tensor = "s", train.dims = array<i64: 4>, train.begin = array<i64: 0>}
train.parameter statistic @s.part1 : tensor<1xf32> init<constant 0.0> {train.tensor = "s", train.dims = array<i64: 4>, train.begin = array<i64: 3>}
// What is no parameter's, but constant, may be left out.
train.parameter constant @c.part0 : tensor<2xf32> init<constant 0.0> {train.tensor = "c", train.dims = array<i64: 4>, train.begin = array<i64: 0>}
// CHECK: error: breaks rule (S2): argument 0 is no part of the tensor that it names
// CHECK: error: breaks rule (S1): argument 2 has no place
func.func @train_step(%x: !here {train.name = "x", train.tensor = "x", train.dims = array<i64: 4, 4>}, %labels: !labels {train.name = "labels", train.role = #train.role<labels>}, %scalars: tensor<64xui8> {train.name = "scalars", train.role = #train.role<scalars>}) -> (!loss, !labels) {
  // CHECK: error: breaks rule (S1): the op is not one tile
  %a = train.map "x0"(%x) {train.tiling = #two} : (!here) -> !here
  // CHECK: error: breaks rule (S1): a result does not lie where the op runs (#train.place<"0.0.0">)
  %b = train.map "x0"(%x) {train.tiling = #one} : (!here) -> !there
  // CHECK: error: breaks rule (S1): operand '' lies on another device than #train.place<"0.0.0">
  %c = train.reduce(%b) {axes = array<i64: 0, 1>, mean = false, train.tiling = #one} : (!there) -> !loss
  return %c, %labels : !loss, !labels
}
func.func @evaluate(%x: !here {train.name = "x"}, %labels: !labels {train.name = "labels", train.role = #train.role<labels>}, %scalars: tensor<64xui8, #train.place<"0.0.0">> {train.name = "scalars", train.role = #train.role<scalars>}) -> (!loss, !labels) {
  %c = train.reduce(%x) {axes = array<i64: 0, 1>, mean = false, train.tiling = #one} : (!here) -> !loss
  return %c, %labels : !loss, !labels
}

//--- scheduled.mlir
#one = #train.tiling<n = 1 c = 1 h = 1 w = 1 k = 1 on [<"0.0.0">]>
!v = tensor<4xf32, #train.place<"0.0.0">>
!labels = tensor<2xi32, #train.place<"0.0.0">>
!scalars = tensor<64xui8, #train.place<"0.0.0">>
!loss = tensor<f32, #train.place<"0.0.0">>
train.parameter trainable @w : tensor<4xf32> init<constant 0.0>
train.parameter optimizer @m : tensor<4xf32> init<constant 0.0>
func.func @train_step(%x: !v {train.name = "x"}, %labels: !labels {train.name = "labels", train.role = #train.role<labels>}, %scalars: !scalars {train.name = "scalars", train.role = #train.role<scalars>}) -> (!loss, !labels) {
  %w = train.read @w {train.tiling = #one} : !v
  %m = train.read @m {train.tiling = #one} : !v
  %l = train.reduce(%w) {axes = array<i64: 0>, mean = false, train.tiling = #one} : (!v) -> !loss
  // CHECK: error: breaks rule (C1): overwrites 'w', whose old value is read later
  // CHECK: note: read here
  %n, %k = train.sgd(%w, %m, %scalars, %l, %x) {train.work = #train.work<"" update>, train.tiling = #one} : (!v, !v, !scalars, !loss, !v) -> (!v, !v)
  // CHECK: error: breaks rule (C1): overwrites 'w', whose old value is read later
  train.write @w, %n {train.work = #train.work<"" update>, train.tiling = #one} : !v
  train.write @m, %k {train.work = #train.work<"" update>, train.tiling = #one} : !v
  %late = train.map "x0"(%w) {train.tiling = #one} : (!v) -> !v
  return %l, %labels : !loss, !labels
}
func.func @evaluate(%x: !v {train.name = "x"}, %labels: !labels {train.name = "labels", train.role = #train.role<labels>}, %scalars: !scalars {train.name = "scalars", train.role = #train.role<scalars>}) -> (!loss, !labels) {
  %l = train.reduce(%x) {axes = array<i64: 0>, mean = false, train.tiling = #one} : (!v) -> !loss
  return %l, %labels : !loss, !labels
}

//--- order.mlir
#first = #train.tiling<n = 1 c = 1 h = 1 w = 1 k = 1 on [<"0.0.0">]>
!v = tensor<4xf32, #train.place<"0.0.0">>
!labels = tensor<2xi32, #train.place<"0.0.0">>
!scalars = tensor<64xui8, #train.place<"0.0.0">>
!loss = tensor<f32, #train.place<"0.0.0">>
!counts = tensor<2xf32, #train.place<"0.0.0">>
module attributes {train.order = [#train.lane_order<<"0.0.0">: <"a" forward tile 1 in "stage0[1]">, <"b" forward tile 1 in "stage0[1]">, <"a" forward tile 0 in "stage0[0]">, <"b" forward tile 0 in "stage0[0]">, <"c" forward>>]} {
func.func @train_step(%x: !v {train.name = "x"}, %labels: !labels {train.name = "labels", train.role = #train.role<labels>}, %scalars: !scalars {train.name = "scalars", train.role = #train.role<scalars>}) -> (!loss, !counts) {
  // Its neighbour of the same micro-batch may come first, the other micro-batch not.
  // CHECK: [[@LINE+2]]:{{.*}} error: breaks rule (C2): the plan has work of 'b' before it on 0.0.0
  // CHECK: note: which is here
  %a0 = train.map "x0"(%x) {train.work = #train.work<"a" forward tile 0>, train.tiling = #first} : (!v) -> !v
  %a1 = train.map "-x0"(%x) {train.work = #train.work<"a" forward tile 1>, train.tiling = #first} : (!v) -> !v
  %b1 = train.map "x0"(%a1) {train.work = #train.work<"b" forward tile 1>, train.tiling = #first} : (!v) -> !v
  // CHECK-NOT: error: breaks rule (C2)
  %b0 = train.map "x0"(%a0) {train.work = #train.work<"b" forward tile 0>, train.tiling = #first} : (!v) -> !v
  // The sum of both tiles is of neither.
  %b = train.sum(%b0, %b1) {train.work = #train.work<"b" forward>, train.tiling = #first} : (!v, !v) -> !v
  %l = train.reduce(%b) {axes = array<i64: 0>, mean = false, train.work = #train.work<"c" forward>, train.tiling = #first} : (!v) -> !loss
  %k = train.fill() {train.tiling = #first, value = 0.0 : f32, train.names = ["counts"], train.work = #train.work<"c" forward>} : () -> !counts
  return %l, %k : !loss, !counts
}
func.func @evaluate(%x: !v {train.name = "x"}, %labels: !labels {train.name = "labels", train.role = #train.role<labels>}, %scalars: !scalars {train.name = "scalars", train.role = #train.role<scalars>}) -> (!loss, !counts) {
  %l = train.reduce(%x) {axes = array<i64: 0>, mean = false, train.work = #train.work<"c" forward>, train.tiling = #first} : (!v) -> !loss
  %k = train.fill() {train.tiling = #first, value = 0.0 : f32, train.names = ["counts"], train.work = #train.work<"c" forward>} : () -> !counts
  return %l, %k : !loss, !counts
}
}

//--- exec.mlir
// CHECK: error: breaks rule (E1): 'train.parameter' beside the program
// NONSENSE: error: unknown form 'nonsense'; known: imported differentiated planned sharded scheduled exec
train.parameter trainable @w : tensor<4xf32> init<constant 0.0>
// CHECK: error: breaks rule (E1): there is no sequence @train_step
// CHECK: error: breaks rule (E1): there is no sequence @evaluate
exec.program @p {
  exec.device @d node 0 gpu 0 arena 0
  // CHECK: error: breaks rule (E3): @x has no place in memory
  exec.buffer activation @x : tensor<4xf32> on @d at -1
}
