//===- ClassTableTest.cpp - Precision, recall and confusion ---------------===//
//
// The definitions, by hand; test/e2e/metrics.test compares with scikit-learn.
//
//===----------------------------------------------------------------------===//

#include "runtime/train/report/ClassTable.h"
#include "TestFiles.h"

#include <gtest/gtest.h>

using namespace lwcc::rt;
using namespace lwcc::rt::train;

TEST(ClassTable, CountsAndScores) {
  ClassTable table(4, {"cat", "dog, or so", "fox", "owl"});
  for (int i = 0; i < 3; ++i)
    table.add(0, 0);
  table.add(0, 1);
  table.add(1, 0);
  table.add(2, 1); // nothing is taken for a fox, and no owl is there
  EXPECT_DOUBLE_EQ(table.scoreOf(0)->precision, 0.75);
  EXPECT_DOUBLE_EQ(table.scoreOf(0)->recall, 0.75);
  EXPECT_DOUBLE_EQ(table.scoreOf(0)->f1, 0.75);
  EXPECT_DOUBLE_EQ(table.scoreOf(2)->precision, 0);
  EXPECT_FALSE(table.scoreOf(3));
  EXPECT_DOUBLE_EQ(table.macro().recall, 0.25);
  EXPECT_EQ(table.text(), "class,images,precision,recall,f1,cat,\"dog, or "
                          "so\",fox,owl\n"
                          "cat,4,0.75,0.75,0.75,3,1,0,0\n"
                          "\"dog, or so\",1,0,0,0,1,0,0,0\n"
                          "fox,1,0,0,0,0,1,0,0\n"
                          "owl,0,,,,0,0,0,0\n");
}

TEST(ClassTable, WithoutImages) {
  ClassTable table(2, {});
  EXPECT_EQ(table.macro().f1, 0);
  EXPECT_EQ(table.text(), "class,images,precision,recall,f1,0,1\n"
                          "0,0,,,,0,0\n1,0,,,,0,0\n");
}

TEST(ClassTable, SoManyClassesThatNobodyReadsThem) {
  EXPECT_NE(errorOf([] { ClassTable(1 << 20, {}); }), "");
}
