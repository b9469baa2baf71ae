// RUN: lwcc-translate --emit-cpp %s > %t.cpp
// RUN: FileCheck %s < %t.cpp
// RUN: clang-format --style=file:%src/.clang-format --dry-run -Werror %t.cpp
// RUN: g++ -std=c++20 -Wall -Werror -I%src -fsyntax-only %t.cpp
// Not tested here: what the statements do (runtime tests) and whole models (e2e).

// CHECK: //===- A trainer for tiny.onnx
// CHECK: #include "runtime/emit/Generated.h"

// CHECK-LABEL: struct relu_dropout {
// CHECK:   static constexpr int inputs = 1;
// CHECK:   static constexpr bool indexed = true;
// CHECK:   LWCC_HD static float at(const StepScalars &s, uint64_t i, float x0) {
// CHECK:     return max(x0, 0.0f) * dropout_mask(s, i, 0.5f, 7u);

// A kernel is not named like a function that it calls.
// CHECK-LABEL: struct sigmoid_ {
// CHECK:     return sigmoid(x0);

// CHECK-LABEL: struct Device : DeviceMemory {
// CHECK:   explicit Device(Machine &machine)
// CHECK:       : DeviceMemory(machine, 0), compute(machine.lane(0)) {}
// CHECK:   Tensor conv1_weight = f32(0, {6, 1, 5, 5});
// CHECK:   Tensor x = f32(1024, {2, 1, 28, 28});
// A view has its root's offset plus its own.
// CHECK:   Tensor flat = f32(8192, {2, 3456});

// CHECK-LABEL: void train_step_forward(Device &d) {
// CHECK:   d.compute.layer("conv1", "forward");
// CHECK:   conv(d.compute, d.conv1_out, d.x, d.conv1_weight, {},
// CHECK:   map<kernels::relu_dropout>(d.compute, d.conv1_out, {d.conv1_out}, d.scalars);
// CHECK-LABEL: void train_step_backward(Device &d) {
// CHECK:   sgd(
// CHECK-LABEL: void trainStep(Machine &machine) {
// CHECK:   Device d(machine);
// CHECK:   train_step_forward(d);
// CHECK:   train_step_backward(d);

// CHECK-LABEL: constexpr StateRow stateRows[] = {
// CHECK:   {"conv1.weight", Role::trainable, DType::f32, {6, 1, 5, 5},
// CHECK:    blobAt(0), uniformIn(-0.2f, 0.2f)},
// CHECK-LABEL: constexpr ShardRow shardRows[] = {
// CHECK:   {0, 0, 1, 0, {0, 0, 0, 0}, {6, 1, 5, 5}},
// CHECK-LABEL: const ExportPiece exportPieces[] = {
// CHECK:   {"", 640, 12},
// CHECK:   {"conv1.weight", 0, 600},
// CHECK-LABEL: Program describe() {
// CHECK:   program.batch = 2;
// CHECK:   program.machine.devices.push_back({.arenaBytes = 65536});

exec.program @tiny attributes {exec.model = "tiny.onnx", exec.batch = 2 : i64, exec.classes = 10 : i64,
    exec.compiler = "lwcc", exec.precision = "fp32",
    exec.export = [array<i64: 640, 12>, "conv1.weight"]} {
  exec.device @gpu0 node 0 gpu 0 arena 65536
  exec.lane compute @gpu0.compute on @gpu0
  exec.buffer trainable @conv1.weight : tensor<6x1x5x5xf32> on @gpu0 at 0 {exec.init = #train.init<blob at 0>, exec.fresh = #train.init<uniform -0.2, 0.2>}
  exec.buffer optimizer @conv1.weight.momentum : tensor<6x1x5x5xf32> on @gpu0 at 45056 {exec.init = #train.init<constant 0.0>}
  exec.buffer input @x : tensor<2x1x28x28xf32> on @gpu0 at 1024
  exec.buffer labels @labels : tensor<2xi32> on @gpu0 at 7424
  exec.buffer scalars @scalars : tensor<64xui8> on @gpu0 at 7680
  exec.buffer loss @loss : tensor<f32> on @gpu0 at 7936
  exec.buffer metric @counts : tensor<2xi32> on @gpu0 at 7944
  exec.buffer activation @conv1_out : tensor<2x6x24x24xf32> on @gpu0 at 8192
  exec.buffer activation @flat : tensor<2x3456xf32> on @gpu0 view @conv1_out at 0
  exec.buffer gradient @"d_conv1.weight" : tensor<6x1x5x5xf32> on @gpu0 at 40960
  exec.kernel @relu_dropout(1) = "max(x0, 0.0f) * dropout_mask(0.5f, 7u)"
  exec.kernel @sigmoid(1) = "sigmoid(x0)"
  exec.sequence @train_step {
    exec.call "conv" [@x, @conv1.weight, unit] -> [@conv1_out] on @gpu0.compute for "conv1" forward with {dilation = array<i64: 1, 1>, group = 1 : i64, pad = array<i64: 0, 0, 0, 0>, relu = false, stride = array<i64: 1, 1>}
    exec.call "map" @relu_dropout [@conv1_out, @scalars] -> [@conv1_out] on @gpu0.compute for "relu1" forward
    exec.call "sgd" [@conv1.weight, @conv1.weight.momentum, @scalars, @loss, @"d_conv1.weight"] -> [@conv1.weight, @conv1.weight.momentum] on @gpu0.compute for "conv1" update with {decay_scale = 0.5 : f32, lr_scale = 1.0 : f32}
  }
  exec.sequence @evaluate {
    exec.call "fill" [] -> [@loss] on @gpu0.compute for "loss" forward with {value = 0.000000e+00 : f32}
  }
}
