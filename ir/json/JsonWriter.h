//===- JsonWriter.h - JSON in a layout of its own ---------------*- C++ -*-===//
//
// Writes JSON whose layout the caller chooses, object by object: a member per
// line, or all members on one line. Files that people read and compare are
// written by it. What has no reader but programs may use llvm::json::OStream.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_IR_JSON_JSONWRITER_H
#define LWCC_IR_JSON_JSONWRITER_H

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

#include <vector>

namespace lwcc {

class JsonWriter {
public:
  enum Layout { lines, oneLine };
  using Content = llvm::function_ref<void()>;

  /// Each level of `lines` is indented by so many spaces.
  explicit JsonWriter(llvm::raw_ostream &os, unsigned indent = 2)
      : os(os), indent(indent) {}

  /// A value of an array, or the value of the file. `content` writes what is in
  /// it.
  void object(Layout layout, Content content);
  void value(const llvm::json::Value &value);

  /// A member of an object. What is not UTF-8 in a text is replaced.
  void member(llvm::StringRef name, const llvm::json::Value &value);
  void textMember(llvm::StringRef name, llvm::StringRef text);
  void objectMember(llvm::StringRef name, Layout layout, Content content);
  void arrayMember(llvm::StringRef name, Layout layout, Content content);
  /// A number as the shortest text that gives it back.
  void numberMember(llvm::StringRef name, double number);
  /// A number with so many digits behind the point.
  void fixedMember(llvm::StringRef name, double number, int digits);

  /// The next member stands on the same line as the last one.
  void stayOnLine() { stays = true; }

private:
  struct Level {
    Layout layout;
    bool isEmpty = true;
  };
  void separate();
  void begin(llvm::StringRef name);
  void newLine();
  void enclose(char open, char close, Layout layout, Content content);

  llvm::raw_ostream &os;
  const unsigned indent;
  std::vector<Level> levels;
  bool stays = false;
};

} // namespace lwcc

#endif // LWCC_IR_JSON_JSONWRITER_H
