//===- InputFile.h - Files that the compiler reads --------------*- C++ -*-===//
//
// Reads a file as a whole, up to a limit: a name may stand for a device that
// never ends, or for a pipe that nobody writes into. What the bytes mean is
// their readers' business.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_IR_INPUTFILE_H
#define LWCC_IR_INPUTFILE_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/MemoryBuffer.h"

#include <memory>

namespace lwcc {

/// Of a plan, a machine, costs or a trace: far more than a program of the most
/// tiles needs.
inline constexpr int64_t mostJsonBytes = int64_t(256) << 20;
/// Of an ONNX file: what protobuf reads.
inline constexpr int64_t mostOnnxBytes = INT32_MAX;

/// The bytes of a file, or the reason why not, without its name: "No such file
/// or directory", "has more than 256 MiB, ...". A pipe is waited for, for which
/// the standard error says so.
llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>>
readInput(llvm::StringRef path, int64_t most);

} // namespace lwcc

#endif // LWCC_IR_INPUTFILE_H
