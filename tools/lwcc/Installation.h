//===- Installation.h - Where lwcc's own files lie --------------*- C++ -*-===//
//
// A trainer is made of more than the emitted text: the runtime, as libraries
// or as sources, and oneDNN. In a build tree they lie where CMake found them;
// an installed lwcc finds them beside itself (PREFIX/bin/lwcc looks in
// PREFIX/share/lwcc and PREFIX/lib/lwcc), so that the prefix may be moved.
// Which of the two holds is decided here and nowhere else. The layout of a
// prefix is written by tools/install/CMakeLists.txt.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_TOOLS_LWCC_INSTALLATION_H
#define LWCC_TOOLS_LWCC_INSTALLATION_H

#include <string>

namespace lwcc {

struct Installation {
  std::string sources;   ///< holds runtime/; programs include from here
  std::string libraries; ///< the compiled runtime, liblwcc_rt_*.a
  std::string onednn;    ///< holds include/ and lib/ of oneDNN
  /// The folder nlohmann/ with the headers that runtime/train includes; empty
  /// if `sources` has them in runtime/third_party.
  std::string json;
  std::string deps; ///< what tools/setup.sh has made; cuda/ in it is a toolkit
};

/// Of the program that runs.
const Installation &installation();

} // namespace lwcc

#endif // LWCC_TOOLS_LWCC_INSTALLATION_H
