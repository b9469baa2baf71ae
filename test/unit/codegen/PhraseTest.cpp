//===- PhraseTest.cpp - Text whose numbers are kept apart -----------------===//
#include "codegen/Phrase.h"

#include <gtest/gtest.h>

using namespace lwcc;

namespace {

TEST(Phrase, KeepsTextAndNumbersApart) {
  Phrase phrase("rows(");
  phrase << "gpu[" << int64_t(3) << "].w, " << int64_t(8) << ")";
  Phrase other("rows(");
  other << "gpu[" << int64_t(4) << "].w, " << int64_t(9) << ")";
  EXPECT_EQ(phrase.shape(), other.shape());
  EXPECT_EQ(phrase.with({"k", "8 * i"}), "rows(gpu[k].w, 8 * i)");
}

} // namespace
