//===- OpsCheckTest.cpp - The operator checks on either backend -----------===//
//
// ops-check is a program of its own so that it can be copied to a GPU machine.
// The CPU runtime must pass it, which proves the loops that it compares with;
// the CUDA runtime too where there is a GPU.
//
//===----------------------------------------------------------------------===//

#include <cstdlib>
#include <string>

#include <gtest/gtest.h>
#include <sys/wait.h>

static int exitCodeOf(const char *program) {
  int status = std::system((std::string("\"") + program + "\"").c_str());
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

#ifdef LWCC_OPS_CHECK_CPU
TEST(OpsCheck, TheCpuRuntimePasses) {
  EXPECT_EQ(exitCodeOf(LWCC_OPS_CHECK_CPU), 0);
}
#endif

TEST(OpsCheck, TheCudaRuntimePassesOrHasNoGpu) {
  int code = exitCodeOf(LWCC_OPS_CHECK_CUDA);
  if (code == 77)
    GTEST_SKIP() << "no GPU here";
  EXPECT_EQ(code, 0);
}
