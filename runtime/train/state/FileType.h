//===- FileType.h - Types of elements in files of tensors -------*- C++ -*-===//
//
// Which types the elements of a file's tensor may have, how large they are, and
// how those that stand for real numbers become the floats of a trainer. Does
// not decide which tensors are read; the readers are Safetensors.h and
// OnnxTensors.h.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_RUNTIME_TRAIN_STATE_FILETYPE_H
#define LWCC_RUNTIME_TRAIN_STATE_FILETYPE_H

#include "runtime/core/Tensor.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace lwcc::rt::train {

enum class FileType : uint8_t {
  f64,
  f32,
  f16,
  bf16,
  f8e5m2,
  f8e4m3,
  i64,
  i32,
  i16,
  i8,
  u64,
  u32,
  u16,
  u8,
  boolean
};

/// As safetensors spells it: "F32", "BF16", "I64", ...
const char *nameOf(FileType type);
/// The type of that name, if there is one.
std::optional<FileType> fileTypeOf(std::string_view name);
FileType fileTypeOf(DType type);
/// Bytes of an element.
int64_t sizeOf(FileType type);
/// Whether copyAsFloats knows it: F64, F32, F16 and BF16.
bool becomesFloat(FileType type);
/// `data` need not be aligned. F64 is rounded to the nearest float, all others
/// are exact. The type becomes a float.
void copyAsFloats(FileType type, const char *data, int64_t count, float *out);

/// A tensor of a file that stays open as long as it is used.
struct FileTensor {
  std::string name;
  FileType type = FileType::f32;
  std::vector<int64_t> dims;
  /// Row-major, not aligned; null where they are stored in a way that is not
  /// read.
  const char *data = nullptr;
};

} // namespace lwcc::rt::train

#endif // LWCC_RUNTIME_TRAIN_STATE_FILETYPE_H
