//===- Profile.h - lwcc profile ---------------------------------*- C++ -*-===//
//
// Measures what plans are priced by: how long the runtime's calls take.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_TOOLS_LWCC_PROFILE_H
#define LWCC_TOOLS_LWCC_PROFILE_H

namespace lwcc {

/// `lwcc profile model.onnx --gpus=N -o costs.json`; the exit code.
int profileMain(int argc, char **argv);

} // namespace lwcc

#endif // LWCC_TOOLS_LWCC_PROFILE_H
