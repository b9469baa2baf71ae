// RUN: lwcc-opt %s -split-input-file -verify-diagnostics

func.func @constant() {
  // expected-error @below {{has elements that differ; expected a splat}}
  %c = train.constant dense<[1.0, 2.0]> : tensor<2xf32>
  return
}

// -----

func.func @map_expression(%x: tensor<2xf32>) {
  // expected-error @below {{position 5: expected an operand, found the end in "x0 + "}}
  %y = train.map "x0 + "(%x) : (tensor<2xf32>) -> tensor<2xf32>
  return
}

// -----

func.func @map_inputs(%x: tensor<2xf32>) {
  // expected-error @below {{expression uses x1; found 1 inputs}}
  %y = train.map "x0 + x1"(%x) : (tensor<2xf32>) -> tensor<2xf32>
  return
}

// -----

func.func @map_scalars(%x: tensor<2xf32>) {
  // expected-error @below {{draws random numbers; expected scalars}}
  %y = train.map "x0 * dropout_mask(0.5f, 1u)"(%x) : (tensor<2xf32>) -> tensor<2xf32>
  return
}

// -----

func.func @map_broadcast(%x: tensor<2xf32>, %z: tensor<2x3xf32>) {
  // expected-error @below {{input 0 of shape [2] does not broadcast to the result's [2, 3]}}
  %y = train.map "x0 + x1"(%x, %z) : (tensor<2xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @map_function(%x: tensor<2xf32>) {
  // expected-error @below {{unknown elementwise function 'swoosh'}}
  %y = train.map "x0"(%x) {fn = "swoosh"} : (tensor<2xf32>) -> tensor<2xf32>
  return
}

// -----

func.func @map_row(%x: tensor<2xf32>) {
  // expected-error @below {{'relu' has 2 inputs; expected 1}}
  %y = train.map "max(x0, 0.0f)"(%x, %x) {fn = "relu"} : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  return
}

// -----

func.func @map_params(%x: tensor<2xf32>) {
  // expected-error @below {{'scale' needs the parameter 'alpha'}}
  %y = train.map "x0 * 2.0f"(%x) {fn = "scale"} : (tensor<2xf32>) -> tensor<2xf32>
  return
}

// -----

func.func @conv_rank(%x: tensor<1x4x8xf32>, %w: tensor<6x4x3xf32>) {
  // expected-error @below {{input has rank 3; expected 4}}
  %c = train.conv(%x, %w) {dilation = array<i64: 1>, group = 1 : i64, pad = array<i64: 0, 0>, stride = array<i64: 1>} : (tensor<1x4x8xf32>, tensor<6x4x3xf32>) -> tensor<1x6x6xf32>
  return
}

// -----

func.func @conv_attributes(%x: tensor<1x4x8x8xf32>, %w: tensor<6x4x3x3xf32>) {
  // expected-error @below {{pad has 2 entries; expected 4}}
  %c = train.conv(%x, %w) {dilation = array<i64: 1, 1>, group = 1 : i64, pad = array<i64: 0, 0>, stride = array<i64: 1, 1>} : (tensor<1x4x8x8xf32>, tensor<6x4x3x3xf32>) -> tensor<1x6x6x6xf32>
  return
}

// -----

func.func @conv_stride(%x: tensor<1x4x8x8xf32>, %w: tensor<6x4x3x3xf32>) {
  // expected-error @below {{stride is [0, 1]; expected positive numbers}}
  %c = train.conv(%x, %w) {dilation = array<i64: 1, 1>, group = 1 : i64, pad = array<i64: 0, 0, 0, 0>, stride = array<i64: 0, 1>} : (tensor<1x4x8x8xf32>, tensor<6x4x3x3xf32>) -> tensor<1x6x6x6xf32>
  return
}

// -----

func.func @conv_group(%x: tensor<1x4x8x8xf32>, %w: tensor<6x4x3x3xf32>) {
  // expected-error @below {{weights [6, 4, 3, 3] in 2 groups do not fit an input of 4 channels}}
  %c = train.conv(%x, %w) {dilation = array<i64: 1, 1>, group = 2 : i64, pad = array<i64: 0, 0, 0, 0>, stride = array<i64: 1, 1>} : (tensor<1x4x8x8xf32>, tensor<6x4x3x3xf32>) -> tensor<1x6x6x6xf32>
  return
}

// -----

func.func @conv_bias(%x: tensor<1x4x8x8xf32>, %w: tensor<6x4x3x3xf32>, %b: tensor<4xf32>) {
  // expected-error @below {{bias has shape [4]; expected [6]}}
  %c = train.conv(%x, %w, %b) {dilation = array<i64: 1, 1>, group = 1 : i64, pad = array<i64: 0, 0, 0, 0>, stride = array<i64: 1, 1>} : (tensor<1x4x8x8xf32>, tensor<6x4x3x3xf32>, tensor<4xf32>) -> tensor<1x6x6x6xf32>
  return
}

// -----

func.func @conv_result(%x: tensor<1x4x8x8xf32>, %w: tensor<6x4x3x3xf32>) {
  // expected-error @below {{result has shape [1, 6, 8, 8]; expected [1, 6, 6, 6]}}
  %c = train.conv(%x, %w) {dilation = array<i64: 1, 1>, group = 1 : i64, pad = array<i64: 0, 0, 0, 0>, stride = array<i64: 1, 1>} : (tensor<1x4x8x8xf32>, tensor<6x4x3x3xf32>) -> tensor<1x6x8x8xf32>
  return
}

// -----

func.func @matmul_rank(%a: tensor<3xf32>, %b: tensor<3x4xf32>) {
  // expected-error @below {{operands have shapes [3] and [3, 4]; expected at least rank 2}}
  %c = train.matmul(%a, %b) : (tensor<3xf32>, tensor<3x4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @matmul_inner(%a: tensor<2x3xf32>, %b: tensor<3x4xf32>) {
  // expected-error @below {{reduces over 3 of a and 4 of b; expected equal extents}}
  %c = train.matmul(%a, %b) {transpose_b = true} : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @matmul_batch(%a: tensor<5x2x3xf32>, %b: tensor<6x3x4xf32>) {
  // expected-error @below {{leading dimensions of a and b differ: [5, 2, 3] and [6, 3, 4]}}
  %c = train.matmul(%a, %b) : (tensor<5x2x3xf32>, tensor<6x3x4xf32>) -> tensor<5x2x4xf32>
  return
}

// -----

func.func @pool_result(%x: tensor<1x4x8x8xf32>) {
  // expected-error @below {{result has shape [1, 4, 5, 5]; expected [1, 4, 3, 3] or, with ceil_mode, [1, 4, 4, 4]}}
  %y = train.avg_pool(%x) {count_include_pad = true, dilation = array<i64: 1, 1>, kernel = array<i64: 3, 3>, pad = array<i64: 0, 0, 0, 0>, stride = array<i64: 2, 2>} : (tensor<1x4x8x8xf32>) -> tensor<1x4x5x5xf32>
  return
}

// -----

func.func @pool_index(%x: tensor<1x4x8x8xf32>) {
  // expected-error @below {{index has elements of type 'i32'; expected ui8 for windows of 4 taps}}
  %y:2 = train.max_pool(%x) {dilation = array<i64: 1, 1>, kernel = array<i64: 2, 2>, pad = array<i64: 0, 0, 0, 0>, stride = array<i64: 2, 2>} : (tensor<1x4x8x8xf32>) -> (tensor<1x4x4x4xf32>, tensor<1x4x4x4xi32>)
  return
}

// -----

func.func @batch_norm_channels(%x: tensor<2x4xf32>, %c: tensor<4xf32>, %d: tensor<5xf32>) {
  // expected-error @below {{running_mean has shape [5]; expected [4]}}
  %n:5 = train.batch_norm(%x, %c, %c, %d, %c) {epsilon = 1.0e-3 : f32, momentum = 0.9 : f32} : (tensor<2x4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<5xf32>, tensor<4xf32>) -> (tensor<2x4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>)
  return
}

// -----

func.func @batch_norm_rank(%x: tensor<4xf32>) {
  // expected-error @below {{input has rank 1; expected at least 2}}
  %n:5 = train.batch_norm(%x, %x, %x, %x, %x) {epsilon = 1.0e-3 : f32, momentum = 0.9 : f32} : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>)
  return
}

// -----

func.func @layer_norm_rank(%x: tensor<f32>) {
  // expected-error @below {{input has rank 0; expected at least 1}}
  %n:2 = train.layer_norm(%x) {epsilon = 1.0e-5 : f32} : (tensor<f32>) -> (tensor<f32>, tensor<f32>)
  return
}

// -----

func.func @layer_norm_statistics(%x: tensor<2x3x4xf32>) {
  // expected-error @below {{invstd has shape [2, 3]; expected [2, 3, 1]}}
  %n:2 = train.layer_norm(%x) {epsilon = 1.0e-5 : f32} : (tensor<2x3x4xf32>) -> (tensor<2x3x4xf32>, tensor<2x3xf32>)
  return
}

// -----

func.func @layer_norm_grad(%x: tensor<2x4xf32>, %invstd: tensor<2x1xf32>) {
  // expected-error @below {{result has shape [4, 2]; expected [2, 4]}}
  %d = train.layer_norm_grad(%x, %x, %invstd) : (tensor<2x4xf32>, tensor<2x4xf32>, tensor<2x1xf32>) -> tensor<4x2xf32>
  return
}

// -----

func.func @attention_heads(%q: tensor<2x3x8xf32>) {
  // expected-error @below {{q has 8 features for 3 heads}}
  %y:3 = train.attention(%q, %q, %q) {heads = 3 : i64, scale = 0.5 : f32} : (tensor<2x3x8xf32>, tensor<2x3x8xf32>, tensor<2x3x8xf32>) -> (tensor<2x3x8xf32>, tensor<2x3x3xf32>, tensor<2x3x3xf32>)
  return
}

// -----

func.func @attention_keys(%q: tensor<2x3x8xf32>, %k: tensor<2x5x8xf32>) {
  // expected-error @below {{k has shape [2, 3, 8]; expected [2, 5, 8]}}
  %y:3 = train.attention(%q, %q, %k) {heads = 4 : i64, scale = 0.5 : f32} : (tensor<2x3x8xf32>, tensor<2x3x8xf32>, tensor<2x5x8xf32>) -> (tensor<2x3x8xf32>, tensor<2x4x3xf32>, tensor<2x4x3xf32>)
  return
}

// -----

func.func @attention_mask(%q: tensor<2x3x8xf32>, %mask: tensor<5x3xf32>) {
  // expected-error @below {{mask has shape [5, 3]; expected [3, 3]}}
  %y:3 = train.attention(%q, %q, %q, %mask) {heads = 4 : i64, scale = 0.5 : f32} : (tensor<2x3x8xf32>, tensor<2x3x8xf32>, tensor<2x3x8xf32>, tensor<5x3xf32>) -> (tensor<2x3x8xf32>, tensor<2x4x3xf32>, tensor<2x4x3xf32>)
  return
}

// -----

func.func @attention_statistics(%q: tensor<2x3x8xf32>) {
  // expected-error @below {{inverse has shape [2, 3, 4]; expected [2, 4, 3]}}
  %y:3 = train.attention(%q, %q, %q) {heads = 4 : i64, scale = 0.5 : f32} : (tensor<2x3x8xf32>, tensor<2x3x8xf32>, tensor<2x3x8xf32>) -> (tensor<2x3x8xf32>, tensor<2x4x3xf32>, tensor<2x3x4xf32>)
  return
}

// -----

func.func @attention_grad(%q: tensor<2x3x8xf32>, %s: tensor<2x4x3xf32>) {
  // expected-error @below {{dk has shape [2, 3, 4]; expected [2, 3, 8]}}
  %d:3 = train.attention_grad(%q, %q, %q, %q, %s, %s) {heads = 4 : i64, scale = 0.5 : f32} : (tensor<2x3x8xf32>, tensor<2x3x8xf32>, tensor<2x3x8xf32>, tensor<2x3x8xf32>, tensor<2x4x3xf32>, tensor<2x4x3xf32>) -> (tensor<2x3x8xf32>, tensor<2x3x4xf32>, tensor<2x3x8xf32>)
  return
}

// -----

func.func @softmax_axis(%x: tensor<2x4xf32>) {
  // expected-error @below {{axis is -1; expected 0 to 1}}
  %y = train.softmax(%x) {axis = -1 : i64} : (tensor<2x4xf32>) -> tensor<2x4xf32>
  return
}

// -----

func.func @loss_labels(%x: tensor<2x4xf32>, %labels: tensor<4xi32>) {
  // expected-error @below {{labels has shape [4]; expected [2]}}
  %loss, %probs = train.cross_entropy(%x, %labels) : (tensor<2x4xf32>, tensor<4xi32>) -> (tensor<f32>, tensor<2x4xf32>)
  return
}

// -----

func.func @loss_weight(%x: tensor<2x4xf32>, %labels: tensor<2xi32>, %weight: tensor<2xf32>) {
  // expected-error @below {{weight has shape [2]; expected [4]}}
  %loss = train.nll_loss(%x, %labels, %weight) : (tensor<2x4xf32>, tensor<2xi32>, tensor<2xf32>) -> tensor<f32>
  return
}

// -----

func.func @reduce_axes(%x: tensor<2x4xf32>) {
  // expected-error @below {{axes are [1, 0]; expected ascending order}}
  %y = train.reduce(%x) {axes = array<i64: 1, 0>, mean = false} : (tensor<2x4xf32>) -> tensor<f32>
  return
}

// -----

func.func @reduce_result(%x: tensor<2x4xf32>) {
  // expected-error @below {{result has shape [2]; expected [4]}}
  %y = train.reduce(%x) {axes = array<i64: 0>, mean = false} : (tensor<2x4xf32>) -> tensor<2xf32>
  return
}

// -----

func.func @reshape_elements(%x: tensor<2x4xf32>) {
  // expected-error @below {{gives 9 elements; expected 8}}
  %y = train.reshape(%x) : (tensor<2x4xf32>) -> tensor<9xf32>
  return
}

// -----

func.func @transpose_perm(%x: tensor<2x4xf32>) {
  // expected-error @below {{perm [0, 0] is no permutation of the 2 dimensions}}
  %y = train.transpose(%x) {perm = array<i64: 0, 0>} : (tensor<2x4xf32>) -> tensor<2x4xf32>
  return
}

// -----

func.func @concat_result(%x: tensor<2x4xf32>) {
  // expected-error @below {{result has shape [2, 9]; expected [2, 8]}}
  %y = train.concat(%x, %x) {axis = 1 : i64} : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x9xf32>
  return
}

// -----

func.func @concat_operand(%x: tensor<2x4xf32>, %z: tensor<3x4xf32>) {
  // expected-error @below {{operand 1 has shape [3, 4]; expected [2, 4]}}
  %y = train.concat(%x, %z) {axis = 1 : i64} : (tensor<2x4xf32>, tensor<3x4xf32>) -> tensor<2x8xf32>
  return
}

// -----

func.func @split_sizes(%x: tensor<2x4xf32>) {
  // expected-error @below {{sizes sum to 3; expected 4}}
  %y:2 = train.split(%x) {axis = 1 : i64, sizes = array<i64: 1, 2>} : (tensor<2x4xf32>) -> (tensor<2x1xf32>, tensor<2x2xf32>)
  return
}

// -----

func.func @pad_rank(%x: tensor<2x4xf32>) {
  // expected-error @below {{low has 1 entries; expected 2}}
  %y = train.pad(%x) {low = array<i64: 1>, value = 0.0 : f32} : (tensor<2x4xf32>) -> tensor<4x4xf32>
  return
}

// -----

func.func @slice_step(%x: tensor<4xf32>) {
  // expected-error @below {{step is 0 along dimension 0}}
  %y = train.slice(%x) {start = array<i64: 0>, step = array<i64: 0>} : (tensor<4xf32>) -> tensor<2xf32>
  return
}

// -----

func.func @slice_range(%x: tensor<4xf32>) {
  // expected-error @below {{takes elements 1 to 5 of dimension 0; expected 0 to 3}}
  %y = train.slice(%x) {start = array<i64: 1>, step = array<i64: 2>} : (tensor<4xf32>) -> tensor<3xf32>
  return
}

// -----

// expected-error @below {{expected a phase (forward, backward, weight or update), found 'sideways'}}
func.func @phase() attributes {train.work = #train.work<"conv1" sideways>} {
  return
}

// -----

// expected-error @below {{no layer has a tile -1}}
func.func @tile_of_layer() attributes {train.work = #train.work<"conv1" forward tile -1>} {
  return
}

// -----

// expected-error @below {{has train.work "conv1"; expected #train.work<LAYER PHASE>}}
func.func @work() attributes {train.work = "conv1"} {
  return
}

// -----

// expected-error @below {{there is no tile 4 of 4}}
func.func @tile() attributes {train.tile = #train.tile<n 4 of 4>} {
  return
}

// -----

// expected-error @below {{expected one of n, c, h, w, k, found 'x'}}
func.func @dimension() attributes {train.tile = #train.tile<x 0 of 4>} {
  return
}

// -----

// expected-error @below {{has train.order ["conv1"]; expected a list of #train.lane_order}}
func.func @order() attributes {train.order = ["conv1"]} {
  return
}

// -----

// expected-error @below {{has train.tile 3 : i64; expected #train.tile<n I of N>}}
func.func @position() attributes {train.tile = 3} {
  return
}

// -----

func.func @names(%x: tensor<4xf32>) {
  // expected-error @below {{needs one entry of train.names per result}}
  %y = train.map "x0"(%x) {train.names = ["a", "b"]} : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

// expected-error @below {{expected a place "node.gpu.lane", found "0.1"}}
func.func @place() -> tensor<4xf32, #train.place<"0.1">>

// -----

// expected-error @below {{unknown kind of initial value 'zeros'}}
train.parameter trainable @w : tensor<4xf32> init<zeros 0.0>

// -----

func.func @transfer(%x: tensor<2x3xf32>) -> tensor<3x2xf32> {
  // expected-error @+1 {{changes 'tensor<2x3xf32>' to 'tensor<3x2xf32>'}}
  %y = train.transfer(%x) : (tensor<2x3xf32>) -> tensor<3x2xf32>
  return %y : tensor<3x2xf32>
}

// -----

// expected-error @below {{expected the role of a tensor (trainable, frozen, statistic, average, optimizer, constant, input, labels, shares, auxiliary, scalars, loss, metric, scores, activation, gradient), found 'weight'}}
train.parameter weight @w : tensor<4xf32> init<constant 0.0>

// -----

// expected-error @below {{the role of a state tensor}}
train.parameter labels @w : tensor<4xf32> init<constant 0.0>

// -----

// expected-error @below {{has an argument 1 with train.role #train.role<loss>; expected #train.role<input>, <labels> or <scalars>}}
func.func @argument(%x: tensor<4xf32>, %y: tensor<f32> {train.role = #train.role<loss>}) {
  return
}

// -----

func.func @embedding_table(%table: tensor<4x3x2xf32>, %at: tensor<2x5xf32>) {
  // expected-error @below {{table has shape [4, 3, 2]; expected [2, 3, 2]}}
  %y = train.embedding(%table, %at) : (tensor<4x3x2xf32>, tensor<2x5xf32>) -> tensor<2x5x3xf32>
  return
}

// -----

func.func @embedding_vector(%table: tensor<4xf32>, %at: tensor<2x5xf32>) {
  // expected-error @below {{table has rank 1; expected 2}}
  %y = train.embedding(%table, %at) : (tensor<4xf32>, tensor<2x5xf32>) -> tensor<2x5x3xf32>
  return
}

// -----

func.func @embedding_taken(%table: tensor<4x3xf32>, %at: tensor<2x5xf32>) {
  // expected-error @below {{what is taken has shape [2, 5, 4]; expected [2, 5, 3]}}
  %y = train.embedding(%table, %at) : (tensor<4x3xf32>, tensor<2x5xf32>) -> tensor<2x5x4xf32>
  return
}

// -----

func.func @embedding_grad_numbers(%dy: tensor<2x5x3xf32>, %at: tensor<10xf32>) {
  // expected-error @below {{at has rank 1; expected 2}}
  %d = train.embedding_grad(%dy, %at) : (tensor<2x5x3xf32>, tensor<10xf32>) -> tensor<4x3xf32>
  return
}

// -----

func.func @clip_to_nothing(%g: tensor<2xf32>) {
  // expected-error @below {{clips to a norm of 0.000000e+00; expected more than 0}}
  %s, %f, %c = train.clip_gradients(%g) {max_norm = 0.0 : f32} : (tensor<2xf32>) -> (tensor<f32>, tensor<f32>, tensor<2xf32>)
  return
}

// -----

func.func @clip_others(%g: tensor<2xf32>) {
  // expected-error @below {{has results of other types than its gradients}}
  %s, %f, %c = train.clip_gradients(%g) {max_norm = 1.0 : f32} : (tensor<2xf32>) -> (tensor<f32>, tensor<f32>, tensor<3xf32>)
  return
}
