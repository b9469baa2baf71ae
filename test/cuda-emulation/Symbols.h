//===- Symbols.h - Names and lines of the program's own code ----*- C++ -*-===//
//
// For messages, and to know which kernels there are: what Kernels.h puts into
// the section of kernels.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_TEST_CUDAEMULATION_SYMBOLS_H
#define LWCC_TEST_CUDAEMULATION_SYMBOLS_H

#include <map>
#include <string>

namespace lwcc::emulation {

/// All kernels of the program, by address; names without parameters.
const std::map<const void *, std::string> &kernels();

/// "Softmax.cu:27" of the call that returns to `site`; "" if it is not known.
std::string lineOf(const void *site);

} // namespace lwcc::emulation

#endif // LWCC_TEST_CUDAEMULATION_SYMBOLS_H
