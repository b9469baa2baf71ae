//===- JsonTest.cpp - JSON in and out -------------------------------------===//

#include "runtime/train/files/Json.h"
#include "TestFiles.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

using namespace lwcc::rt;
using namespace lwcc::rt::train;
using testing::HasSubstr;

TEST(Json, WritesMembersInOrder) {
  EXPECT_EQ(JsonObject()
                .add("step", 3)
                .add("loss", 0.1f)
                .add("name", "a\"b\\\n\x01")
                .add("nan", std::nan(""))
                .add("dims", std::vector<int64_t>{2, 3})
                .str(),
            "{\"step\": 3, \"loss\": 0.100000001, \"name\": "
            "\"a\\\"b\\\\\\n\\u0001\", \"nan\": null, \"dims\": [2, 3]}");
}

TEST(Json, KeepsSixtyFourBits) {
  Json json = parseJson("{\"seed\": 18446744073709551615}", "x");
  uint64_t value = 0;
  ASSERT_TRUE(json.find("seed")->get(value));
  EXPECT_EQ(value, ~uint64_t(0));
  int64_t small = 0;
  EXPECT_FALSE(json.find("seed")->get(small));
  EXPECT_FALSE(parseJson("1.5", "x").get(small));
}

TEST(Json, ReadsEverythingThereIs) {
  Json json = parseJson(
      " {\"a\": [1, -2.5e+3, true, false, null, {}, []], \"\": \"\"} ", "x");
  ASSERT_EQ(json.items.size(), 2u);
  const Json &list = json.items[0];
  ASSERT_EQ(list.items.size(), 7u);
  EXPECT_EQ(list.items[1].text, "-2.5e+3");
  EXPECT_TRUE(list.items[2].truth);
}

TEST(Json, DecodesStrings) {
  EXPECT_EQ(parseJson(R"("\u00e9\u20ac\ud83d\ude00\n\/")", "x").text,
            "\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80\n/");
  std::string odd = "quote \" slash \\ tab \t \xC3\xA9";
  EXPECT_EQ(parseJson(jsonQuote(odd), "x").text, odd);
}

TEST(Json, RefusesWhatIsNotJson) {
  for (const char *text :
       {"", "{", "[1,]", "{\"a\":1,}", "{a:1}", "01", "1.", "+1", "nul", "\"",
        "\"\\x\"", "\"\\ud800\"", "[1 2]", "{} {}", "{\"a\":1,\"a\":2}",
        "\"\n\"", "'a'", "NaN"})
    EXPECT_THAT(errorOf([&] { parseJson(text, "file"); }),
                HasSubstr("file: not valid JSON"))
        << text;
  EXPECT_NE(errorOf([] { parseJson(std::string(100000, '['), "x"); }), "");
}

TEST(Json, SaysWhereItIsNotJson) {
  EXPECT_THAT(
      errorOf([] { parseJson("{\"a\":\n 1,}", "file"); }),
      HasSubstr("file: not valid JSON: parse error at line 2, column "));
  EXPECT_EQ(errorOf([] { parseJson("[{\"lr\": 1, \"lr\": 2}]", "file"); }),
            "file: not valid JSON: the name 'lr' appears twice");
}

TEST(Json, TreesAreBounded) {
  std::string list = "[0";
  for (int i = 0; i < 1'000'000; ++i)
    list += ",0";
  EXPECT_THAT(errorOf([&] { parseJson(list + "]", "x"); }),
              HasSubstr("more values than anything we read"));
  for (const char *open : {"[", "{\"a\":"}) {
    std::string deep;
    for (int i = 0; i < 100'000; ++i)
      deep += open;
    EXPECT_THAT(errorOf([&] { parseJson(deep, "x"); }),
                HasSubstr("nested too deeply"));
  }
}

TEST(Json, MembersOneByOne) {
  std::string text = "{";
  for (int i = 0; i < 300'000; ++i) // more values than one tree may have
    text += (i ? ",\"" : "\"") + std::to_string(i) + "\":[1,2,3]";
  int64_t members = 0, items = 0;
  visitJsonMembers(text + "}", "x", [&](const std::string &name, Json &value) {
    EXPECT_EQ(name, std::to_string(members++));
    items += value.items.size();
  });
  EXPECT_EQ(members, 300'000);
  EXPECT_EQ(items, 900'000);
  auto ignore = [](const std::string &, Json &) {};
  EXPECT_THAT(
      errorOf([&] { visitJsonMembers(text + ",\"7\":1}", "x", ignore); }),
      HasSubstr("the name '7' appears twice"));
  EXPECT_THAT(errorOf([&] { visitJsonMembers("[1]", "x", ignore); }),
              HasSubstr("x: is no object"));
}

TEST(Json, NamesThatAreNotUtf8CanBeWritten) {
  EXPECT_EQ(parseJson(jsonQuote("a\xFF"), "x").text, "a\xEF\xBF\xBD");
}
