//===- CppWriter.cpp - Lines of C++ in LLVM style -------------------------===//

#include "codegen/CppWriter.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/ConvertUTF.h"
#include "llvm/Support/Unicode.h"

using namespace lwcc;
using llvm::ArrayRef;
using llvm::StringRef;

static constexpr unsigned width = 80;

/// Escapes, byte by byte, what would leave its line or mislead a reader: line
/// ends, for the compiler or an editor, line continuations, and characters that
/// change the direction of text.
static std::string
escaped(StringRef text, llvm::function_ref<std::string(unsigned char)> escape) {
  std::string result;
  while (!text.empty()) {
    const auto *begin = reinterpret_cast<const llvm::UTF8 *>(text.begin());
    const llvm::UTF8 *next = begin;
    llvm::UTF32 code = 0;
    if (llvm::convertUTF8Sequence(
            &next, reinterpret_cast<const llvm::UTF8 *>(text.end()), &code,
            llvm::strictConversion) != llvm::conversionOK) {
      next = begin + 1;
      code = 0;
    }
    StringRef character = text.take_front(next - begin);
    bool isTrigraph = text.starts_with("??");
    text = text.drop_front(character.size());
    if (code == '\\' || isTrigraph ||
        !llvm::sys::unicode::isPrintable(static_cast<int>(code)) ||
        llvm::sys::unicode::isFormatting(static_cast<int>(code)))
      for (unsigned char byte : character)
        result += escape(byte);
    else
      result += character;
  }
  return result;
}

static std::string printable(StringRef text) {
  return escaped(text, [](unsigned char byte) {
    return "\\x" + llvm::utohexstr(byte, /*LowerCase=*/true, /*Width=*/2);
  });
}

std::string CppArgument::flat() const {
  return items.empty() ? text : "{" + llvm::join(items, ", ") + "}";
}

void CppWriter::line(StringRef content) {
  if (!content.empty())
    text.append(depth, ' ');
  text += content;
  text += '\n';
}

void CppWriter::comment(StringRef text) {
  if (text.empty())
    return line("//");
  wrapped(printable(text));
}

void CppWriter::wrapped(StringRef content) {
  // Leading blanks are kept: they lay out a table in a comment.
  StringRef words = content.ltrim();
  std::string current =
      "//" + std::string(content.size() - words.size() + 1, ' ');
  std::string prefix = current;
  bool first = true;
  for (StringRef word : llvm::split(words, ' ')) {
    if (!first && depth + current.size() + 1 + word.size() > width) {
      line(current);
      current = prefix;
      first = true;
    }
    current += (first ? "" : " ") + word.str();
    first = false;
  }
  line(current);
}

void CppWriter::banner(StringRef title) {
  std::string head = "//===- " + printable(title) + " ";
  std::string tail = "===//";
  unsigned used = head.size() + tail.size() + depth;
  line(head + std::string(used < width ? width - used : 0, '-') + tail);
}

void CppWriter::ruler() {
  line("//===" + std::string(width - 10 - depth, '-') + "===//");
}

void CppWriter::call(StringRef callee, ArrayRef<CppArgument> arguments) {
  list(callee, arguments, ");");
}

void CppWriter::signature(StringRef head, ArrayRef<CppArgument> arguments) {
  // Behind a long name not even one argument fits. Then the type gets a line.
  auto [type, name] = head.rsplit(' ');
  auto isTooWide = [&](const auto &entry) {
    unsigned close = entry.index() + 1 == arguments.size() ? 3 : 1;
    return depth + head.size() + 1 + entry.value().flat().size() + close >
           width;
  };
  if (!name.empty() && llvm::any_of(llvm::enumerate(arguments), isTooWide)) {
    line(type);
    head = name;
  }
  list(head, arguments, ") {");
}

void CppWriter::row(ArrayRef<std::string> items) {
  line("{" + llvm::join(items, ", ") + "},");
}

void CppWriter::assignment(StringRef name, StringRef value) {
  std::string flat = name.str() + " = " + value.str() + ";";
  if (depth + flat.size() <= width)
    return line(flat);
  line(name.str() + " =");
  line("    " + value.str() + ";");
}

void CppWriter::initialization(StringRef name, StringRef callee,
                               ArrayRef<CppArgument> arguments) {
  std::string flat = callee.str() + "(";
  for (auto [n, argument] : llvm::enumerate(arguments))
    flat += (n ? ", " : "") + argument.flat();
  flat += ")";
  if (depth + 4 + flat.size() + 1 <= width)
    return assignment(name, flat);
  line(name.str() + " =");
  depth += 4;
  call(callee, arguments);
  depth -= 4;
}

void CppWriter::returns(StringRef expression) {
  const std::string statement = expression.str() + ";";
  std::string current = "return";
  const std::string margin(7, ' ');
  for (StringRef word : llvm::split(statement, ' ')) {
    if (depth + current.size() + 1 + word.size() > width &&
        current != margin.substr(1)) {
      line(current);
      current = margin.substr(1);
    }
    current += " " + word.str();
  }
  line(current);
}

void CppWriter::lambda(StringRef name, StringRef head, StringRef expression) {
  std::string flat = head.str() + " { return " + expression.str() + "; })";
  if (depth + 4 + flat.size() + 1 <= width)
    return assignment(name, flat);
  // The head's last argument is the lambda; the others may go with it.
  auto [callee, arguments] = head.split('(');
  flat = flat.substr(callee.size() + 1);
  if (depth + 4 + flat.size() + 1 <= width) {
    line((name + " = " + callee + "(").str());
    line("    " + flat + ";");
    return;
  }
  line(name.str() + " = " + head.str() + " {");
  indent();
  callee = expression.take_until([](char c) { return c == '('; });
  if (depth + expression.size() + 8 <= width || callee == expression) {
    returns(expression);
  } else {
    // A call is broken between its arguments.
    llvm::SmallVector<StringRef> parts;
    expression.drop_front(callee.size() + 1).drop_back().split(parts, ", ");
    std::vector<CppArgument> arguments;
    for (StringRef part : parts)
      arguments.push_back(CppArgument(part.str()));
    call("return " + callee.str(), arguments);
  }
  dedent();
  line("});");
}

void CppWriter::table(StringRef head, ArrayRef<std::string> items) {
  std::string current = head.str() + " {";
  bool first = true; // on its line
  for (auto [n, item] : llvm::enumerate(items)) {
    std::string next = item + (n + 1 < items.size() ? "," : "};");
    if (depth + current.size() + 1 + next.size() > width) {
      line(current);
      current = "    ";
      first = true;
    }
    current += (first ? "" : " ") + next;
    first = false;
  }
  line(current);
}

void CppWriter::list(StringRef head, ArrayRef<CppArgument> arguments,
                     StringRef close) {
  // Arguments follow the parenthesis if all of them fit there; else they go on
  // lines of their own, indented by four; else long lists are broken, too.
  auto fits = [&](unsigned column) {
    return llvm::all_of(llvm::enumerate(arguments), [&](auto entry) {
      bool last = entry.index() + 1 == arguments.size();
      return column + entry.value().flat().size() + (last ? close.size() : 1) <=
             width;
    });
  };
  const unsigned behind = depth + head.size() + 1, below = depth + 4;
  std::string current = head.str() + "(";
  std::string margin(current.size(), ' ');
  if (!fits(behind) && fits(below)) {
    line(current);
    margin = current = "    ";
  }
  const bool apart = !fits(depth + margin.size());
  bool fresh = true; // nothing on this line yet but the margin
  for (size_t i = 0; i < arguments.size(); ++i) {
    const StringRef end = i + 1 == arguments.size() ? close : StringRef(",");
    const std::string flat = arguments[i].flat();
    if (!fresh &&
        depth + current.size() + 1 + flat.size() + end.size() > width) {
      line(current);
      current = margin;
      fresh = true;
    }
    const std::vector<std::string> &items = arguments[i].items;
    if (apart && items.size() > 1 &&
        depth + margin.size() + flat.size() + end.size() > width) {
      for (size_t k = 0; k < items.size(); ++k) {
        current += (k == 0 ? "{" : " ") + items[k];
        if (k + 1 < items.size()) {
          line(current + ",");
          current = margin;
        }
      }
      current += "}";
    } else {
      current += (fresh ? "" : " ") + flat;
    }
    current += end;
    fresh = false;
  }
  if (arguments.empty())
    current += close;
  line(current);
}

std::string lwcc::quoted(StringRef text) {
  std::string result = escaped(text, [](unsigned char byte) -> std::string {
    if (byte == '\\')
      return "\\\\";
    // Octal escapes end after three digits, so that a digit behind one is not
    // taken for a part of it.
    return {'\\', static_cast<char>('0' + (byte >> 6)),
            static_cast<char>('0' + ((byte >> 3) & 7)),
            static_cast<char>('0' + (byte & 7))};
  });
  for (size_t at = result.find('"'); at != std::string::npos;
       at = result.find('"', at + 2))
    result.insert(at, "\\");
  return "\"" + result + "\"";
}
