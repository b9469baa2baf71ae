//===- CsvTest.cpp - Tables of numbers and their labels -------------------===//

#include "TestFiles.h"
#include "runtime/train/data/CsvReader.h"
#include "runtime/train/data/DataSource.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

using namespace lwcc::rt;
using namespace lwcc::rt::train;
using testing::ElementsAre;
using testing::HasSubstr;

using Rows = std::vector<std::vector<std::string>>;

static Rows rowsOf(const std::string &text) {
  CsvReader reader("t.csv", text);
  Rows rows;
  std::vector<std::string_view> cells;
  while (reader.next(cells))
    rows.emplace_back(cells.begin(), cells.end());
  return rows;
}

TEST(Csv, RowsAndCells) {
  EXPECT_EQ(rowsOf("a,b\n1,2\n"), (Rows{{"a", "b"}, {"1", "2"}}));
  EXPECT_EQ(rowsOf("a,b\r\n 1 ,2 "), (Rows{{"a", "b"}, {"1", "2"}}));
  EXPECT_EQ(rowsOf("\xef\xbb\xbf"
                   "a;b,c;d\n1;2;3\n"),
            (Rows{{"a", "b,c", "d"}, {"1", "2", "3"}}));
  EXPECT_EQ(rowsOf("a\tb\n\n\n1\t\n"), (Rows{{"a", "b"}, {"1", ""}}));
  EXPECT_EQ(rowsOf("\"a,\"\"b\"\"\",\"c\nd\"\n\"\",2"),
            (Rows{{"a,\"b\"", "c\nd"}, {"", "2"}}));
  EXPECT_EQ(rowsOf(""), Rows{});
  EXPECT_EQ(rowsOf("\r\n\n"), Rows{});
}

TEST(Csv, LinesOfMistakesCountQuotedOnes) {
  for (auto [text, message] :
       {std::pair("a,b\n\"x\ny\",1\n\"z", "t.csv:4: a quoted cell begins here"),
        std::pair("a\n\n\"x\"y\n", "t.csv:3: 'y' stands behind the end")})
    try {
      rowsOf(text);
      FAIL() << text;
    } catch (const Error &error) {
      EXPECT_THAT(error.what(), HasSubstr(message));
    }
}

namespace {
class CsvSource : public testing::Test {
protected:
  std::unique_ptr<DataSource> open(const std::string &text,
                                   const ModelInput &input,
                                   DataRole role = DataRole::training) {
    writeFile(folder / "t.csv", text);
    return openData(folder / "t.csv", role, {input}, 0);
  }
  std::string errorOf(const std::string &text, const ModelInput &input,
                      DataRole role = DataRole::training) {
    try {
      open(text, input, role);
    } catch (const Error &error) {
      return error.what();
    }
    return "";
  }
  static std::vector<float> valuesOf(const DataSource &source, int64_t index) {
    Sample sample;
    source.read(index, sample);
    std::vector<float> values(sample.format.bytes() / sizeof(float));
    for (size_t i = 0; i < values.size(); ++i)
      values[i] = loadAt<float>(sample.data, i);
    return values;
  }
  static std::vector<float> targetsOf(const DataSource &source, int64_t index,
                                      size_t count = 1) {
    std::vector<float> targets(count);
    source.targets(index, targets);
    return targets;
  }

  TempFolder folder;
  const ModelInput numbers{{2}, 0, 0, {1}, "mse"};
  const ModelInput classes{{2}, 3};
};
} // namespace

TEST_F(CsvSource, TheLastColumnsAreTargets) {
  auto source = open("size,rooms,price\n50,2,1.5\n80,3,-2e1\n", numbers);
  EXPECT_EQ(source->size(), 2);
  EXPECT_THAT(valuesOf(*source, 1), ElementsAre(80, 3));
  EXPECT_THAT(targetsOf(*source, 1), ElementsAre(-20));
  source = open("1,2,3,4\n5,6,7,8\n", {{2}, 0, 0, {2}, "mse"});
  EXPECT_THAT(targetsOf(*source, 0, 2), ElementsAre(3, 4));
  EXPECT_FALSE(source->isOwnTarget);
  EXPECT_TRUE(open("1,2\n3,4\n", {{2}, 0, 0, {2}, "mse"})->isOwnTarget);
}

TEST_F(CsvSource, ALossOfTheModelsOwnNeedsNoTargets) {
  const ModelInput own{{2}, 0, 0, {}, "output"};
  EXPECT_THAT(valuesOf(*open("1,2\n3,4\n", own), 1), ElementsAre(3, 4));
  EXPECT_THAT(valuesOf(*open("1,2,9\n3,4,x\n", own), 1), ElementsAre(3, 4));
}

TEST_F(CsvSource, ColumnsByName) {
  ModelInput input = numbers;
  input.columns = {"c", "a"};
  input.targetColumns = {"y"};
  auto source = open("id,y,a,b,c\nx1,7,1,two,3\n", input);
  EXPECT_THAT(valuesOf(*source, 0), ElementsAre(3, 1));
  EXPECT_THAT(targetsOf(*source, 0), ElementsAre(7));
  EXPECT_THAT(errorOf("id,a,b\nx,1,2\n", input),
              HasSubstr("has no column 'y' (--target-columns); it has id, a, "
                        "b"));
  input.columns = {"a", "d", "e"};
  EXPECT_THAT(errorOf("id,y,a,b,c\nx1,7,1,two,3\n", input),
              HasSubstr("has no column 'd', 'e' (--columns)"));
}

TEST_F(CsvSource, AFirstRowOfNumbersHasNoNames) {
  ModelInput input = classes;
  input.targetColumns = {"0"};
  auto source = open("2,0.5,1\n0,7,8\n", input);
  EXPECT_EQ(source->size(), 2);
  EXPECT_EQ(source->label(0), 2);
  EXPECT_THAT(valuesOf(*source, 1), ElementsAre(7, 8));
  input.targetColumns = {"y"};
  EXPECT_THAT(errorOf("2,0.5,1\n", input),
              HasSubstr("since its first row has no names"));
}

TEST_F(CsvSource, LabelsByNameAreNumberedInTheirOrder) {
  const std::string text = "a,b,kind\n1,2,wolf\n3,4,cat\n5,6,wolf\n";
  auto source = open(text, classes);
  EXPECT_THAT(source->classNames(), ElementsAre("cat", "wolf"));
  EXPECT_EQ(source->label(0), 1);
  EXPECT_EQ(source->label(1), 0);
  // Those of the training keep their numbers.
  ModelInput later = classes;
  later.classNames = {"ape", "cat", "wolf"};
  source = open("a,b,kind\n1,2,wolf\n", later, DataRole::validation);
  EXPECT_EQ(source->label(0), 2);
  later.classNames = {"ape", "cat"};
  EXPECT_THAT(errorOf(text, later, DataRole::validation),
              HasSubstr("has the label 'wolf', which the training lacks; it "
                        "has ape, cat"));
  EXPECT_THAT(errorOf("a,b,k\n1,2,p\n1,2,q\n1,2,r\n1,2,s\n", classes),
              HasSubstr("has 4 labels (p, q, r, s); the model has 3 outputs"));
}

TEST_F(CsvSource, WhatIsAskedMayHaveItsAnswer) {
  for (const char *text : {"a,b\n1,2\n", "a,b,y\n1,2,\n"}) {
    auto source = open(text, numbers, DataRole::prediction);
    EXPECT_THAT(valuesOf(*source, 0), ElementsAre(1, 2));
  }
}

TEST_F(CsvSource, EveryMistakeIsCountedAndTheFirstAreNamed) {
  EXPECT_THAT(errorOf("a,b,y\n1,x,3\n,2,3\n1,2,inf\n4,nan,5\n", numbers),
              HasSubstr("4 cells cannot be read; the first:\n  " +
                        (folder / "t.csv") +
                        ":2: 'x', which is no number, in column b\n  " +
                        (folder / "t.csv") + ":3: nothing in column a\n  "));
  EXPECT_THAT(errorOf("a,b,y\n1,1e39,3\n", numbers),
              HasSubstr("'1e39', which no float holds, in column b"));
  EXPECT_THAT(errorOf("a,b,y\n1,2,3\n1,2\n", numbers),
              HasSubstr("t.csv:3: has 2 cells; the first row has 3"));
  EXPECT_THAT(errorOf("a,b,y\n1,2,\n", classes),
              HasSubstr("no label in column y"));
  EXPECT_THAT(errorOf("a,b,c,y\n1,2,3,4\n", numbers),
              HasSubstr("has 3 columns (a, b, c) beside the target y; the "
                        "model takes 2: --columns=A,B,..."));
  EXPECT_THAT(errorOf("", numbers), HasSubstr("holds no row"));
  ModelInput input = numbers;
  input.targetColumns = {"a", "y"};
  EXPECT_THAT(errorOf("a,b,c,y\n1,2,3,4\n", input),
              HasSubstr("--target-columns names 2 columns; the model has 1 "
                        "output for each sample"));
}

TEST_F(CsvSource, AMissingTargetIsNone) {
  auto source = open("a,b,y\n1,2,\n1,2,NA\n1,2,4\n", numbers);
  EXPECT_TRUE(std::isnan(targetsOf(*source, 0)[0]));
  EXPECT_TRUE(std::isnan(targetsOf(*source, 1)[0]));
  EXPECT_THAT(targetsOf(*source, 2), ElementsAre(4));
}

TEST_F(CsvSource, ImagesAndTokensAreRowsToo) {
  auto source = open("y,p0,p1,p2,p3\n1,9,8,7,6\n",
                     {{1, 2, 2}, 3, 0, {}, "", {}, usuallyIgnored, {}, {"y"}});
  EXPECT_TRUE(source->format().image);
  EXPECT_THAT(valuesOf(*source, 0), ElementsAre(9, 8, 7, 6));
  EXPECT_EQ(source->label(0), 1);
  source = open("user,item,stars\n4,1,3.5\n", {{2}, 0, 9, {1}, "mse"});
  EXPECT_TRUE(source->format().tokens);
  EXPECT_THAT(errorOf("user,item,stars\n4,1.5,3.5\n", {{2}, 0, 9, {1}, "mse"}),
              HasSubstr("holds 1.5; the model takes integers"));
  // Beyond the integers of 64 bits.
  EXPECT_THAT(errorOf("user,item,stars\n4,1e30,3.5\n", {{2}, 0, 9, {1}, "mse"}),
              HasSubstr("holds 1e+30; the model takes integers"));
}

TEST_F(CsvSource, AFolderHasOneForEachRole) {
  writeFile(folder / "d/train.csv", "1,2,3\n");
  writeFile(folder / "d/test.csv", "1,2,3\n4,5,6\n");
  EXPECT_EQ(openData(folder / "d", DataRole::training, {numbers}, 0)->size(),
            1);
  EXPECT_EQ(openData(folder / "d", DataRole::validation, {numbers}, 0)->size(),
            2);
  writeFile(folder / "d/more.csv", "1,2,3\n");
  EXPECT_THROW(openData(folder / "d", DataRole::validation, {numbers}, 0),
               Error);
}
