//===- Maps.cu - Generated elementwise kernels, compiled by nvcc ----------===//

#include "Maps.cpp"
