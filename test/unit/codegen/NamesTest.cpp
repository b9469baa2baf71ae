//===- NamesTest.cpp - C++ identifiers from ONNX names --------------------===//

#include "codegen/Names.h"

#include <gtest/gtest.h>

using namespace lwcc;

TEST(Names, IllegalCharactersBecomeOneUnderscore) {
  EXPECT_EQ(sanitizeName("conv1/out:0"), "conv1_out_0");
  EXPECT_EQ(sanitizeName("onnx::Conv_193"), "onnx_Conv_193");
  EXPECT_EQ(sanitizeName("/layer1/layer1.0/conv1/Conv_output_0"),
            "layer1_layer1_0_conv1_Conv_output_0");
  EXPECT_EQ(sanitizeName("191"), "_191");
  EXPECT_EQ(sanitizeName(""), "unnamed");
  EXPECT_EQ(sanitizeName("::"), "unnamed");
}

TEST(Names, TableGivesUniqueLegalNames) {
  NameTable table({"arena"});
  EXPECT_EQ(table.get("a.b"), "a_b");
  EXPECT_EQ(table.get("a/b"), "a_b_2");
  EXPECT_EQ(table.get("a.b"), "a_b"); // the same name again
  EXPECT_EQ(table.get("float"), "float_2");
  EXPECT_EQ(table.get("arena"), "arena_2");
}
