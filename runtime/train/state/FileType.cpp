//===- FileType.cpp - Types of elements in files of tensors ---------------===//

#include "runtime/train/state/FileType.h"

#include <bit>
#include <cassert>
#include <cmath>
#include <cstring>

namespace lwcc::rt::train {

namespace {
struct TypeRow {
  const char *name;
  int64_t bytes;
};
} // namespace

/// In the order of the types.
static constexpr TypeRow typeRows[] = {
    {"F64", 8},     {"F32", 4}, {"F16", 2}, {"BF16", 2}, {"F8_E5M2", 1},
    {"F8_E4M3", 1}, {"I64", 8}, {"I32", 4}, {"I16", 2},  {"I8", 1},
    {"U64", 8},     {"U32", 4}, {"U16", 2}, {"U8", 1},   {"BOOL", 1}};

static const TypeRow &rowOf(FileType type) {
  return typeRows[static_cast<size_t>(type)];
}

const char *nameOf(FileType type) { return rowOf(type).name; }

int64_t sizeOf(FileType type) { return rowOf(type).bytes; }

std::optional<FileType> fileTypeOf(std::string_view name) {
  for (size_t i = 0; i < std::size(typeRows); ++i)
    if (name == typeRows[i].name)
      return static_cast<FileType>(i);
  return std::nullopt;
}

FileType fileTypeOf(DType type) {
  switch (type) {
  case DType::f32:
    return FileType::f32;
  case DType::i32:
    return FileType::i32;
  case DType::u8:
    return FileType::u8;
  }
  return FileType::f32;
}

bool becomesFloat(FileType type) { return type <= FileType::bf16; }

/// IEEE 754's binary16; infinities and NaNs stay what they are.
static float floatOfHalf(uint16_t bits) {
  const bool negative = bits >> 15;
  const int exponent = bits >> 10 & 0x1F;
  const int fraction = bits & 0x3FF;
  float value = 0;
  if (exponent == 0x1F)
    value = fraction ? std::nanf("") : HUGE_VALF;
  else if (exponent == 0)
    value = std::ldexp(static_cast<float>(fraction), -24);
  else
    value = std::ldexp(static_cast<float>(fraction | 0x400), exponent - 25);
  return negative ? -value : value;
}

/// Element by element, since files align nothing.
template <typename T, typename Convert>
static void convertAll(const char *data, int64_t count, float *out,
                       Convert convert) {
  for (int64_t i = 0; i < count; ++i) {
    T element;
    std::memcpy(&element, data + i * int64_t(sizeof(T)), sizeof(T));
    out[i] = convert(element);
  }
}

void copyAsFloats(FileType type, const char *data, int64_t count, float *out) {
  assert(becomesFloat(type) && "not a real number");
  if (type == FileType::f64)
    convertAll<double>(data, count, out,
                       [](double x) { return static_cast<float>(x); });
  else if (type == FileType::f16)
    convertAll<uint16_t>(data, count, out, floatOfHalf);
  else if (type == FileType::bf16)
    convertAll<uint16_t>(data, count, out, [](uint16_t bits) {
      return std::bit_cast<float>(uint32_t(bits) << 16);
    });
  else if (count > 0)
    std::memcpy(out, data, count * sizeof(float));
}

} // namespace lwcc::rt::train
