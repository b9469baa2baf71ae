//===- Html.h - HTML and SVG, element by element ----------------*- C++ -*-===//
//
// Writes elements, whose end tags cannot be forgotten, and texts, which cannot
// become markup: every text and every attribute goes through one function. What
// is written is well-formed XML, too, so that tests can read it strictly.
//
// Does not decide what is on a page (Page.cpp).
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_TOOLS_REPORT_HTML_H
#define LWCC_TOOLS_REPORT_HTML_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/raw_ostream.h"

#include <string>

namespace lwcc::report {

/// A text as it stands between tags or in a quoted attribute. Names come from
/// strangers' files: what is not UTF-8 becomes U+FFFD, a control character
/// "\x07".
std::string escaped(llvm::StringRef text);

class Html {
public:
  struct Attribute {
    llvm::StringRef name;
    std::string value;
  };
  using Attributes = std::initializer_list<Attribute>;
  using Content = llvm::function_ref<void()>;

  explicit Html(llvm::raw_ostream &os) : os(os) {}

  /// An element whose content is what `content` writes, a text, or nothing.
  void element(llvm::StringRef tag, Attributes attributes, Content content);
  void element(llvm::StringRef tag, Attributes attributes,
               llvm::StringRef text);
  /// Only for elements that HTML has without an end tag, and for SVG's.
  void element(llvm::StringRef tag, Attributes attributes);
  void text(llvm::StringRef text) { os << escaped(text); }
  void lineBreak() { os << '\n'; }
  /// Text of our own that is style or script, as it is. Neither may contain its
  /// end tag.
  void raw(llvm::StringRef tag, llvm::StringRef text);

private:
  void begin(llvm::StringRef tag, Attributes attributes);

  llvm::raw_ostream &os;
};

/// A number for SVG's attributes: at most two digits behind the point.
std::string number(double value);

} // namespace lwcc::report

#endif // LWCC_TOOLS_REPORT_HTML_H
