// RUN: lwcc-opt %s --train-shard | FileCheck %s
// Cut along samples an embedding reads the whole table, and the parts of its
// gradient are added up; cut along channels a tile has some of the columns.

#samples = #train.tiling<n = 2 c = 1 h = 1 w = 1 k = 1 on [<"0.0.0">, <"0.1.0">]>
#columns = #train.tiling<n = 1 c = 2 h = 1 w = 1 k = 1 on [<"0.0.0">, <"0.1.0">]>
module {
  // CHECK-LABEL: @train_step
  func.func @train_step(%table: tensor<9x6xf32> {train.name = "table"}, %at: tensor<4x5xf32> {train.name = "at"}, %tables: tensor<4x7x6xf32> {train.name = "tables"}) -> (tensor<9x6xf32>, tensor<9x6xf32>, tensor<4x7x6xf32>) {
    // CHECK: train.embedding({{.*}}(tensor<9x6xf32, {{.*}}, tensor<2x5xf32, {{.*}} -> tensor<2x5x6xf32
    // CHECK: train.embedding({{.*}}(tensor<9x6xf32, {{.*}}, tensor<2x5xf32, {{.*}} -> tensor<2x5x6xf32
    %y = train.embedding(%table, %at) {train.work = #train.work<"e" forward>, train.tiling = #samples} : (tensor<9x6xf32>, tensor<4x5xf32>) -> tensor<4x5x6xf32>
    // CHECK: train.embedding_grad({{.*}}(tensor<2x5x6xf32, {{.*}} -> tensor<9x6xf32
    // CHECK: train.embedding_grad({{.*}}(tensor<2x5x6xf32, {{.*}} -> tensor<9x6xf32
    %d = train.embedding_grad(%y, %at) {train.work = #train.work<"e" backward>, train.tiling = #samples} : (tensor<4x5x6xf32>, tensor<4x5xf32>) -> tensor<9x6xf32>
    // CHECK: train.embedding({{.*}}(tensor<9x3xf32, {{.*}}, tensor<4x5xf32, {{.*}} -> tensor<4x5x3xf32
    // CHECK: train.embedding({{.*}}(tensor<9x3xf32, {{.*}}, tensor<4x5xf32, {{.*}} -> tensor<4x5x3xf32
    %z = train.embedding(%table, %at) {train.work = #train.work<"f" forward>, train.tiling = #columns} : (tensor<9x6xf32>, tensor<4x5xf32>) -> tensor<4x5x6xf32>
    // CHECK: train.embedding_grad({{.*}}(tensor<4x5x3xf32, {{.*}} -> tensor<9x3xf32
    // CHECK: train.embedding_grad({{.*}}(tensor<4x5x3xf32, {{.*}} -> tensor<9x3xf32
    %f = train.embedding_grad(%z, %at) {train.work = #train.work<"f" backward>, train.tiling = #columns} : (tensor<4x5x6xf32>, tensor<4x5xf32>) -> tensor<9x6xf32>
    // A table of each sample is cut with the samples; nothing is added up.
    // CHECK-COUNT-2: train.embedding({{.*}}(tensor<2x7x6xf32, {{.*}}, tensor<2x5xf32, {{.*}} -> tensor<2x5x6xf32
    %s = train.embedding(%tables, %at) {train.work = #train.work<"g" forward>, train.tiling = #samples} : (tensor<4x7x6xf32>, tensor<4x5xf32>) -> tensor<4x5x6xf32>
    // CHECK-COUNT-2: train.embedding_grad({{.*}}(tensor<2x5x6xf32, {{.*}} -> tensor<2x7x6xf32
    %g = train.embedding_grad(%s, %at) {train.work = #train.work<"g" backward>, train.tiling = #samples} : (tensor<4x5x6xf32>, tensor<4x5xf32>) -> tensor<4x7x6xf32>
    // CHECK: train.sum(
    // CHECK: train.concat(
    // CHECK-NOT: train.sum(
    return %d, %f, %g : tensor<9x6xf32>, tensor<9x6xf32>, tensor<4x7x6xf32>
  }
}
