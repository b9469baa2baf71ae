// All at once.
// RUN: not lwcc-opt %s '-train-parameter-groups=freeze=conv,fc groups={fc:lr-scale=1},{x:lr=1},{y:lr-scale=-1},{*:lr-scale=1}' 2>&1 | FileCheck %s
// CHECK: error: --freeze=conv: no parameter that is trained has 'conv' in its name; there are: fc, last
// CHECK: error: --group=fc:lr-scale=1: no parameter that is trained has 'fc' in its name; there are: last
// CHECK: error: group x:lr=1: expected REGEX:lr-scale=X,weight-decay-scale=Y, or one of the two
// CHECK: error: group y:lr-scale=-1: lr-scale: expected a number of at least 0
// CHECK: error: group *:lr-scale=1: {{.*}}operand invalid

train.parameter trainable @fc : tensor<3x3xf32> init<constant 1.0>
train.parameter trainable @last : tensor<4x3xf32> init<constant 1.0>
