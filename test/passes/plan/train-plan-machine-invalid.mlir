// RUN: not lwcc-opt %s --train-plan="strategy=layerwise gpus=4 machine=%S/Inputs/machine-broken.json" 2>&1 | FileCheck %s --check-prefix=BROKEN
// RUN: not lwcc-opt %s --train-plan="strategy=layerwise gpus=4 machine=h100x4" 2>&1 | FileCheck %s --check-prefix=NAME
// RUN: not lwcc-opt %s --train-plan="strategy=layerwise gpus=8 machine=h200x4" 2>&1 | FileCheck %s --check-prefix=FEW
// RUN: not lwcc-opt %s --train-plan="strategy=layerwise gpus=6 machine=p100-4x4" 2>&1 | FileCheck %s --check-prefix=NODES

// BROKEN: error: machine '{{.*}}machine-broken.json': "device.bandwidth" is missing
// BROKEN: error: machine '{{.*}}machine-broken.json': expected a number above 0 for "link.bandwidth", found 0
// NAME: error: no machine 'h100x4': No such file or directory; built in: h200x1 h200x4 h200x8 h200-8x8 p100-4x4 k80-16x4 cpu
// FEW: error: machine 'h200x4' has 4 devices, fewer than --gpus=8
// NODES: error: --gpus=6 is no number of whole nodes of machine 'p100-4x4', which have 4
module attributes {train.model = "m.onnx", train.batch = 2 : i64} {
  func.func @train_step(%x: tensor<2x4xf32> {train.name = "x"}) -> tensor<2x4xf32> {
    %y = train.map "x0"(%x) {train.work = #train.work<"fc" forward>} : (tensor<2x4xf32>) -> tensor<2x4xf32>
    return %y : tensor<2x4xf32>
  }
}
