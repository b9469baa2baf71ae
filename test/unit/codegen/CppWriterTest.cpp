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

TEST(CppWriter, QuotedEscapesWhatALiteralCannotHold) {
  EXPECT_EQ(quoted("a\"b\\c\n"), "\"a\\\"b\\\\c\\012\"");
}
