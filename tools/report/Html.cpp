//===- Html.cpp - HTML and SVG, element by element ------------------------===//

#include "tools/report/Html.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"

using namespace lwcc;
using namespace lwcc::report;

std::string report::escaped(llvm::StringRef text) {
  std::string visible;
  for (char c : llvm::json::fixUTF8(text))
    if (llvm::isPrint(c) || static_cast<unsigned char>(c) >= 0x80)
      visible += c;
    else
      visible += llvm::formatv("\\x{0:x-2}", static_cast<unsigned char>(c));
  std::string result;
  llvm::raw_string_ostream os(result);
  llvm::printHTMLEscaped(visible, os);
  return result;
}

std::string report::number(double value) {
  std::string text = llvm::formatv("{0:f2}", value);
  return llvm::StringRef(text).rtrim('0').rtrim('.').str();
}

void Html::begin(llvm::StringRef tag, Attributes attributes) {
  os << '<' << tag;
  for (const Attribute &attribute : attributes)
    os << ' ' << attribute.name << "=\"" << escaped(attribute.value) << '"';
}

void Html::element(llvm::StringRef tag, Attributes attributes,
                   Content content) {
  begin(tag, attributes);
  os << '>';
  content();
  os << "</" << tag << '>';
  // Within a line of text a line break would be a space.
  if (tag != "a" && tag != "span" && tag != "strong")
    os << '\n';
}

void Html::element(llvm::StringRef tag, Attributes attributes,
                   llvm::StringRef content) {
  element(tag, attributes, [&] { text(content); });
}

void Html::element(llvm::StringRef tag, Attributes attributes) {
  begin(tag, attributes);
  os << "/>\n";
}

void Html::raw(llvm::StringRef tag, llvm::StringRef text) {
  os << '<' << tag << '>' << text << "</" << tag << ">\n";
}
