//===- PredictionTableTest.cpp - Predictions as lines of CSV --------------===//

#include "runtime/train/report/PredictionTable.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

using namespace lwcc::rt::train;

static constexpr float notANumber = std::numeric_limits<float>::quiet_NaN();
static constexpr float infinite = std::numeric_limits<float>::infinity();

static Prediction of(std::vector<float> scores) { return predictionOf(scores); }

TEST(PredictionTable, QuotesWhatWouldBeSeveralFields) {
  EXPECT_EQ(csvField("cat/1.jpg"), "cat/1.jpg");
  EXPECT_EQ(csvField("a b"), "a b");
  EXPECT_EQ(csvField(""), "");
  EXPECT_EQ(csvField("a,b"), "\"a,b\"");
  EXPECT_EQ(csvField("say \"hi\""), "\"say \"\"hi\"\"\"");
  EXPECT_EQ(csvField("two\nlines"), "\"two\nlines\"");
  EXPECT_EQ(csvField("a\rb"), "\"a\rb\"");
  EXPECT_EQ(csvField(" a"), "\" a\"");
}

TEST(PredictionTable, ProbabilityIsTheSoftmax) {
  Prediction three = of({1, 3, 2});
  EXPECT_EQ(three.top, 1);
  EXPECT_FLOAT_EQ(three.probability,
                  1 / (1 + std::exp(-1.0f) + std::exp(-2.0f)));
  // Where exp alone would be infinite, or 0.
  EXPECT_FLOAT_EQ(of({1000, 1000}).probability, 0.5f);
  EXPECT_EQ(of({1000, 1000}).top, 0);
  EXPECT_FLOAT_EQ(of({-2000, -1000}).probability, 1);
  EXPECT_EQ(of({-2000, -1000}).top, 1);
  EXPECT_EQ(of({-infinite, -infinite}).probability, 0.5f);
}

TEST(PredictionTable, NanIsLargerThanAny) {
  EXPECT_EQ(of({1, notANumber, infinite, notANumber}).top, 1);
  EXPECT_TRUE(std::isnan(of({1, notANumber, 5}).probability));
  EXPECT_EQ(of({infinite, 1}).probability, 1);
}

TEST(PredictionTable, RowsHaveAsManyFieldsAsTheHeader) {
  PredictionTable table(Scores::classes, 3, {"cat", "a \"dog\", b"},
                        /*withScores=*/true);
  EXPECT_EQ(table.header(),
            "image,class,probability,cat,\"a \"\"dog\"\", b\",2\n");
  EXPECT_EQ(table.row("x,y.png", std::vector<float>{-1, 100, 0.1f}),
            "\"x,y.png\",\"a \"\"dog\"\", b\",1,-1,100,0.1\n");
  EXPECT_EQ(table.row("7", std::vector<float>{0, 0, 200}), "7,2,1,0,0,200\n");
  EXPECT_EQ(table.row("7", std::vector<float>{0, -notANumber, 1}),
            "7,\"a \"\"dog\"\", b\",nan,0,nan,1\n");
  EXPECT_EQ(table.emptyRow("b.png"), "b.png,,,,,\n");
}

TEST(PredictionTable, WithoutScores) {
  PredictionTable table(Scores::classes, 3, {}, /*withScores=*/false);
  EXPECT_EQ(table.header(), "image,class,probability\n");
  EXPECT_EQ(table.row("0", std::vector<float>{0, 200, 0}), "0,1,1\n");
  EXPECT_EQ(table.emptyRow("1"), "1,,\n");
}

TEST(PredictionTable, NumbersAndDecisions) {
  const float scores[] = {0.0f, -2.5f};
  PredictionTable numbers(Scores::numbers, 2, {}, /*withScores=*/false);
  EXPECT_EQ(numbers.header(), "image,value0,value1\n");
  EXPECT_EQ(numbers.row("a", scores), "a,0,-2.5\n");
  EXPECT_EQ(numbers.emptyRow("a"), "a,,\n");
  PredictionTable decision(Scores::decisions, 1, {}, /*withScores=*/true);
  EXPECT_EQ(decision.header(), "image,value\n");
  EXPECT_EQ(decision.row("a", std::span(scores, 1)), "a,0.5\n");
}
