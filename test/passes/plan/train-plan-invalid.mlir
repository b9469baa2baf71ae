// RUN: not lwcc-opt %s --train-plan=strategy=magic 2>&1 | FileCheck %s --check-prefix=STRATEGY
// RUN: not lwcc-opt %s --train-plan=gpus=0 2>&1 | FileCheck %s --check-prefix=NOGPU
// RUN: not lwcc-opt %s --train-plan=plan=%S/Inputs/tiles.json 2>&1 | FileCheck %s --check-prefix=TILES
// RUN: not lwcc-opt %s --train-plan=plan=%S/Inputs/stale.json 2>&1 | FileCheck %s --check-prefix=STALE
// RUN: not lwcc-opt %s --train-plan=plan=%S/Inputs/broken.json 2>&1 | FileCheck %s --check-prefix=BROKEN
// RUN: not lwcc-opt %s --train-plan=plan=%S/Inputs/none.json 2>&1 | FileCheck %s --check-prefix=NOFILE

// STRATEGY: error: unknown strategy 'magic'; known: single data model owt
// NOGPU: error: needs at least one GPU, not 0
// TILES: error: plan '{{.*}}tiles.json' does not fit: layer "fc" is cut into 3 along n, which has 2
// TILES: error: plan '{{.*}}tiles.json' does not fit: layer "relu" is cut into 5 along c, which has 4
// STALE: error: plan '{{.*}}stale.json' does not fit: it was made for batch 8, not 2
// STALE: error: plan '{{.*}}stale.json' does not fit: the model has no layer "conv"
// STALE: error: plan '{{.*}}stale.json' does not fit: layer "fc" is cut into 4 along n, which has 2
// STALE: error: plan '{{.*}}stale.json' does not fit: layer "fc" is placed on 0.3.0, but there is one GPU
// BROKEN: error: plan '{{.*}}broken.json': layer "fc" has 2 tiles but 3 places
// NOFILE: error: cannot read plan '{{.*}}none.json': No such file or directory
module attributes {train.model = "m.onnx", train.batch = 2 : i64} {
  func.func @train_step(%x: tensor<2x4xf32> {train.name = "x"}) -> tensor<2x4xf32> {
    %y = train.map "x0"(%x) {train.work = #train.work<"fc" forward>} : (tensor<2x4xf32>) -> tensor<2x4xf32>
    %z = train.map "max(x0, 0.0f)"(%y) {train.work = #train.work<"relu" forward>} : (tensor<2x4xf32>) -> tensor<2x4xf32>
    return %z : tensor<2x4xf32>
  }
}
