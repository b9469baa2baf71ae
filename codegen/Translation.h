//===- Translation.h - lwcc-translate --emit-cpp ----------------*- C++ -*-===//
#ifndef LWCC_CODEGEN_TRANSLATION_H
#define LWCC_CODEGEN_TRANSLATION_H

namespace lwcc {

/// Registers the translation that prints an exec.program.
void registerEmitCpp();

} // namespace lwcc

#endif // LWCC_CODEGEN_TRANSLATION_H
