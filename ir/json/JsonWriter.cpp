//===- JsonWriter.cpp - JSON in a layout of its own -----------------------===//

#include "ir/json/JsonWriter.h"
#include "ir/json/ParseJson.h"

#include "llvm/Support/Format.h"

#include <charconv>

using namespace lwcc;
namespace json = llvm::json;

void JsonWriter::newLine() {
  os << '\n';
  unsigned depth = 0;
  for (const Level &level : levels)
    depth += level.layout == lines;
  os.indent(depth * indent);
}

/// What stands before a value of an array or a member of an object.
void JsonWriter::separate() {
  if (levels.empty())
    return;
  Level &level = levels.back();
  const bool breaks = level.layout == lines && !stays;
  if (!level.isEmpty)
    os << (breaks ? "," : ", ");
  if (breaks)
    newLine();
  level.isEmpty = false;
  stays = false;
}

void JsonWriter::begin(llvm::StringRef name) {
  separate();
  os << jsonText(name) << ": ";
}

void JsonWriter::enclose(char open, char close, Layout layout,
                         Content content) {
  os << open;
  levels.push_back({layout});
  content();
  levels.pop_back();
  if (layout == lines)
    newLine();
  os << close;
}

void JsonWriter::object(Layout layout, Content content) {
  separate();
  enclose('{', '}', layout, content);
}

void JsonWriter::value(const json::Value &value) {
  separate();
  os << value;
}

void JsonWriter::member(llvm::StringRef name, const json::Value &value) {
  begin(name);
  os << value;
}

void JsonWriter::textMember(llvm::StringRef name, llvm::StringRef text) {
  member(name, jsonText(text));
}

void JsonWriter::objectMember(llvm::StringRef name, Layout layout,
                              Content content) {
  begin(name);
  enclose('{', '}', layout, content);
}

void JsonWriter::arrayMember(llvm::StringRef name, Layout layout,
                             Content content) {
  begin(name);
  enclose('[', ']', layout, content);
}

void JsonWriter::numberMember(llvm::StringRef name, double number) {
  char text[32];
  begin(name);
  os << llvm::StringRef(text,
                        std::to_chars(text, std::end(text), number).ptr - text);
}

void JsonWriter::fixedMember(llvm::StringRef name, double number, int digits) {
  begin(name);
  os << llvm::format("%.*f", digits, number);
}
