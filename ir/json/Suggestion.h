//===- Suggestion.h - What a misspelled name may mean -----------*- C++ -*-===//
//
// Messages about an unknown name end with the known name that is nearest to it.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_IR_JSON_SUGGESTION_H
#define LWCC_IR_JSON_SUGGESTION_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

#include <string>

namespace lwcc {

/// The one of `known` that `name` may be a misspelling of, "" if none is near.
llvm::StringRef nearest(llvm::StringRef name,
                        llvm::ArrayRef<llvm::StringRef> known);
/// ", did you mean ...?" with that one, or nothing.
std::string suggestion(llvm::StringRef name,
                       llvm::ArrayRef<llvm::StringRef> known);

} // namespace lwcc

#endif // LWCC_IR_JSON_SUGGESTION_H
