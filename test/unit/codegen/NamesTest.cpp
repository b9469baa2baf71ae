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

TEST(Names, LongNamesAreCut) {
  std::string name(100000, 'a');
  EXPECT_EQ(sanitizeName(name).size(), 96u);
  NameTable table;
  EXPECT_NE(table.get(name), table.get(name + "b"));
}

TEST(Names, EqualNamesTakeNoLongerEachTime) {
  NameTable table;
  std::string last;
  for (int i = 0; i < 100000; ++i)
    last = table.fresh("a.b");
  EXPECT_EQ(last, "a_b_100000");
}

TEST(Names, MacrosHaveAnUnderscoreBehind) {
  NameTable table;
  for (llvm::StringRef name :
       {"NULL", "NAN", "INT64_MAX", "M_PIf", "SYS_read", "PRId64", "X",
        "cudaStreamDefault", "errno", "linux", "table12", "Tensor", "Device"})
    EXPECT_EQ(table.get(name), name.str() + "_");
  for (llvm::StringRef name : {"Conv_0", "Relu", "conv1_weight", "tableau",
                               "table", "_191", "x", "fc", "tensor"})
    EXPECT_EQ(table.get(name), name);
  // No name becomes one that another has.
  EXPECT_EQ(table.get("NULL_"), "NULL_2_");
}

TEST(Names, TableGivesUniqueLegalNames) {
  NameTable table({"arena"});
  EXPECT_EQ(table.get("a.b"), "a_b");
  EXPECT_EQ(table.get("a/b"), "a_b_2");
  EXPECT_EQ(table.get("a.b"), "a_b"); // the same name again
  EXPECT_EQ(table.get("float"), "float_");
  EXPECT_EQ(table.get("arena"), "arena_");
}
