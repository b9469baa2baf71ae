//===- Precompiled.cpp - What CMake precompiles headers for ---------------===//
//
// Empty: headers are precompiled for a target, and a target has a source.
//
//===----------------------------------------------------------------------===//
