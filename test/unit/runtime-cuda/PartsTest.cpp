//===- PartsTest.cpp - A part's end is no other part's end ----------------===//

#include "ops/Parts.h"
#include "runtime/core/Error.h"

#include <cstdlib>

#include <gtest/gtest.h>

using namespace lwcc::check;
using lwcc::rt::Error;
using lwcc::rt::NoDevice;

static Part passes(const char *name) {
  return {name, [] { return Counts{3, 0}; }};
}

TEST(Parts, AllPass) {
  EXPECT_EQ(runParts({passes("one"), passes("two")}), exitPassed);
}

TEST(Parts, OnlyAMissingDeviceIsSkipped) {
  EXPECT_EQ(runParts({{"one", []() -> Counts { throw NoDevice("none"); }},
                      passes("two")}),
            exitNoDevice);
}

TEST(Parts, ADeviceThatVanishesAfterAFailureHidesNothing) {
  EXPECT_EQ(runParts({{"one", [] { return Counts{2, 1}; }},
                      {"two", []() -> Counts { throw NoDevice("none"); }}}),
            exitFailed);
}

TEST(Parts, AnyOtherErrorFailsAndTheRestStillRuns) {
  testing::internal::CaptureStdout();
  ExitCode code =
      runParts({{"fault", []() -> Counts { throw Error("illegal address"); }},
                {"abort", []() -> Counts { std::abort(); }},
                passes("last")});
  std::string text = testing::internal::GetCapturedStdout();
  EXPECT_EQ(code, exitFailed);
  EXPECT_NE(text.find("FAILED fault: illegal address"), std::string::npos);
  EXPECT_NE(text.find("FAILED abort: ended by signal 6"), std::string::npos);
  EXPECT_NE(text.find("5 checks, 2 failed"), std::string::npos) << text;
}
