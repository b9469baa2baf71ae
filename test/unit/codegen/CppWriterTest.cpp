//===- CppWriterTest.cpp - Layout of emitted C++ --------------------------===//

#include "codegen/CppWriter.h"

#include <gtest/gtest.h>

using namespace lwcc;

static std::vector<CppArgument> names(std::vector<std::string> list) {
  return {list.begin(), list.end()};
}

TEST(CppWriter, ShortCallStaysOnOneLine) {
  CppWriter out;
  out.indent();
  out.call("f", names({"a", "b"}));
  EXPECT_EQ(out.take(), "  f(a, b);\n");
}

TEST(CppWriter, LongCallWrapsUnderTheParenthesis) {
  CppWriter out;
  std::string a(30, 'a'), b(30, 'b'), c(30, 'c');
  out.call("f", names({a, b, c}));
  EXPECT_EQ(out.take(), "f(" + a + ", " + b + ",\n  " + c + ");\n");
}

TEST(CppWriter, ListThatFitsNoLineGetsOneItemPerLine) {
  CppWriter out;
  std::vector<std::string> items;
  for (char c : {'a', 'b', 'c'})
    items.push_back("." + std::string(30, c) + " = 1");
  out.call("f", {CppArgument(std::string("x")), CppArgument(items)});
  EXPECT_EQ(out.take(), "f(x,\n  {" + items[0] + ",\n   " + items[1] +
                            ",\n   " + items[2] + "});\n");
}

TEST(CppWriter, CommentsWrapAtEightyColumns) {
  CppWriter out;
  std::string word(30, 'w');
  out.comment(word + " " + word + " " + word);
  EXPECT_EQ(out.take(), "// " + word + " " + word + "\n// " + word + "\n");
}

TEST(CppWriter, NothingEndsAComment) {
  for (const auto &[text, printed] :
       std::vector<std::pair<std::string, std::string>>{
           {"a\nint b;", "a\\x0aint b;"},
           {"a\r\v\f\t\x1b\x7f", "a\\x0d\\x0b\\x0c\\x09\\x1b\\x7f"},
           {std::string("a\0b", 3), "a\\x00b"},
           {"ends in \\", "ends in \\x5c"},
           {"trigraph ?\?/", "trigraph \\x3f?/"},
           {"U+2028 \xe2\x80\xa8", "U+2028 \\xe2\\x80\\xa8"},
           {"U+0085 \xc2\x85", "U+0085 \\xc2\\x85"},
           // NOLINTNEXTLINE(misc-misleading-bidirectional): that is tested
           {"turned around \xe2\x80\xae", "turned around \\xe2\\x80\\xae"},
           {"no UTF-8 \xff\xc3", "no UTF-8 \\xff\\xc3"},
           {"Gr\xc3\xbc\xc3\x9f"
            "e */",
            "Gr\xc3\xbc\xc3\x9f"
            "e */"}}) {
    CppWriter out;
    out.comment(text);
    EXPECT_EQ(out.take(), "// " + printed + "\n");
    out.banner(text);
    EXPECT_TRUE(llvm::StringRef(out.take()).starts_with("//===- " + printed));
  }
}

TEST(CppWriter, QuotedKeepsEveryByte) {
  EXPECT_EQ(quoted("\xe2\x80\xa8?\?/"), "\"\\342\\200\\250\\077?/\"");
  EXPECT_EQ(quoted("\xff"), "\"\\377\"");
  EXPECT_EQ(quoted("Gr\xc3\xbc\xc3\x9f"
                   "e"),
            "\"Gr\xc3\xbc\xc3\x9f"
            "e\"");
}

TEST(CppWriter, QuotedEscapesWhatALiteralCannotHold) {
  EXPECT_EQ(quoted("a\"b\\c\n"), "\"a\\\"b\\\\c\\012\"");
}
