//===- ParseJsonTest.cpp - JSON from files --------------------------------===//
//
// That no text overflows the stack or ends anything, that mistakes say where
// they are, and that every reader of files goes through it.
//
//===----------------------------------------------------------------------===//
#include "ir/json/ParseJson.h"
#include "passes/plan/machine/Machine.h"
#include "passes/plan/model/Plan.h"
#include "passes/plan/price/Profile.h"

#include <gtest/gtest.h>

using namespace lwcc;
using namespace lwcc::plan;
namespace json = llvm::json;

namespace {

using Mistakes = std::vector<std::string>;

Mistakes mistakesOf(llvm::StringRef text) {
  Mistakes mistakes;
  bool parsed = parseJson(text, mistakes).has_value();
  EXPECT_EQ(parsed, mistakes.empty());
  return mistakes;
}

std::string repeated(llvm::StringRef text, int times) {
  std::string result;
  for (int i = 0; i < times; ++i)
    result += text;
  return result;
}

TEST(ParseJson, GivesLlvmsValues) {
  Mistakes mistakes;
  const llvm::StringRef text =
      R"({"a": [1, -2, 2.5, true, null, "x\u00e9\n"], "b": {"c": {}}, "d": [],
          "e": 9223372036854775807, "f": 1e300})";
  std::optional<json::Value> value = parseJson(text, mistakes);
  ASSERT_TRUE(value);
  llvm::Expected<json::Value> same = json::parse(text);
  ASSERT_TRUE(bool(same));
  EXPECT_EQ(*value, *same);
}

TEST(ParseJson, LocatesMistakes) {
  EXPECT_EQ(mistakesOf("{\n  \"a\": 1,\n  }"),
            Mistakes{"line 3, column 3: syntax error while parsing object key "
                     "- unexpected '}'; expected string literal"});
  EXPECT_EQ(mistakesOf("{\"a\": 1,\n \"a\": 2, \"b\": {\"a\": 1},\n\"b\": 1}"),
            (Mistakes{"line 2, column 2: \"a\" is there twice",
                      "line 3, column 1: \"b\" is there twice"}));
  EXPECT_EQ(mistakesOf("[1,\n 1e999]"),
            Mistakes{"line 2, column 2: the number 1e999 is too large"});
  for (llvm::StringRef text :
       {"", " ", "nul", "[1 2]", "{} {}", "\"\xff\"", "\"\n\"", "[1,]",
        "{\"a\"}", "NaN", "01", "\0"}) {
    Mistakes mistakes = mistakesOf(text);
    ASSERT_EQ(mistakes.size(), 1u) << text.str();
    EXPECT_TRUE(llvm::StringRef(mistakes[0]).starts_with("line "))
        << mistakes[0];
  }
}

TEST(ParseJson, RefusesWhatIsDeep) {
  EXPECT_TRUE(
      mistakesOf(repeated("[", deepestJson) + repeated("]", deepestJson))
          .empty());
  for (llvm::StringRef opening : {"[", "{\"a\":", "[{\"a\":"})
    EXPECT_EQ(mistakesOf(repeated(opening, 1000000)).size(), 1u);
  EXPECT_EQ(mistakesOf("\n" + repeated("[", 100)),
            Mistakes{"line 2, column 65: nested more than 64 deep"});
}

TEST(ParseJson, EveryReaderUsesIt) {
  const std::string deep = repeated("[", 1000000);
  const llvm::StringRef twice = R"({"version": 1, "version": 1})";
  auto all = [](llvm::StringRef text) {
    Plan plan;
    Machine machine;
    Profile profile;
    return std::vector<Mistakes>{fromJson(text, plan),
                                 machineFromJson(text, machine),
                                 profileFromJson(text, profile)};
  };
  for (const Mistakes &mistakes : all(deep))
    EXPECT_EQ(mistakes,
              Mistakes{"line 1, column 65: nested more than 64 deep"});
  for (const Mistakes &mistakes : all(twice))
    EXPECT_EQ(mistakes,
              Mistakes{"line 1, column 16: \"version\" is there twice"});
  for (const Mistakes &mistakes : all("[]"))
    EXPECT_EQ(mistakes, Mistakes{"expected an object"});
}

TEST(ParseJson, NumbersStayNumbers) {
  Plan plan;
  EXPECT_EQ(
      fromJson(R"({"version": 1, "machine": {"gpus": 2000000, "nodes": 0},
                   "layers": {"a": {"n": 0}, "b": {"n": 1.5},
                              "d": {"n": [1, 99999999999999999999]}}})",
               plan),
      (Mistakes{
          "expected a number of at least 1 for \"machine.nodes\", found 0",
          "expected a number of at most 1048576 for \"machine.gpus\", found "
          "2000000",
          "layer \"a\": expected a positive number of parts, or a list of "
          "their sizes, for \"n\", found 0",
          "layer \"b\": expected a positive number of parts, or a list of "
          "their sizes, for \"n\", found 1.5",
          "layer \"d\": expected a positive number of parts, or a list of "
          "their sizes, for \"n\", found [1,1e+20]"}));
  Machine machine;
  Mistakes mistakes = machineFromJson(
      R"({"version": 1, "nodes": 4611686018427387904, "gpus": 4,
          "device": {"fp32": 1, "bandwidth": 1, "memory": 1},
          "link": {"bandwidth": 1}, "network": {"bandwidth": 1}})",
      machine);
  EXPECT_EQ(mistakes,
            Mistakes{"expected a number of at most 1048576 for \"nodes\", "
                     "found 4611686018427387904"});
}

TEST(ParseJson, TextIsAlwaysWritten) {
  EXPECT_EQ(jsonText("a\"b"), json::Value("a\"b"));
  Machine machine = *findMachine("h200x8");
  machine.name = "no \xff UTF-8 \"\n";
  Machine read;
  EXPECT_TRUE(machineFromJson(toJson(machine), read).empty());
  EXPECT_EQ(read.name, "no \xef\xbf\xbd UTF-8 \"\n");
}

} // namespace
