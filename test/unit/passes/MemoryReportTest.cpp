//===- MemoryReportTest.cpp - Where a program's memory goes ---------------===//

#include "passes/memory/PlanMemory.h"

#include "mlir/Parser/Parser.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace lwcc;

namespace {

TEST(MemoryReport, namesThePeakAndWhatIsAliveThere) {
  MLIRContext context;
  context.loadDialect<exec::ExecDialect>();
  OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(
      R"(
exec.program @p {
  exec.device @d node 0 gpu 0 arena 0
  exec.lane compute @l on @d
  exec.buffer trainable @w : tensor<100xf32> on @d at -1
  exec.buffer activation @a : tensor<256xf32> on @d at -1
  exec.buffer activation @b : tensor<512xf32> on @d at -1
  exec.buffer activation @c : tensor<64xf32> on @d at -1
  exec.sequence @train_step {
    exec.call "fill" [] -> [@a] on @l for "one" forward
    exec.call "reshape" [@a] -> [@b] on @l for "two" backward
    exec.call "reshape" [@b] -> [@c] on @l for "three" backward
  }
  exec.sequence @evaluate {
  }
})",
      &context);
  ASSERT_TRUE(module);
  auto program = *module->getOps<exec::ProgramOp>().begin();
  ASSERT_TRUE(succeeded(planMemory(program)));
  MemoryReport report = reportMemory(program);
  ASSERT_EQ(report.devices.size(), 1u);
  const MemoryReport::Device &device = report.devices[0];
  EXPECT_EQ(device.name, "d");
  EXPECT_EQ(device.persistent, 512);
  EXPECT_EQ(device.maxLive, 512 + 1024 + 2048);
  EXPECT_EQ(device.arena, device.maxLive);
  EXPECT_DOUBLE_EQ(device.ratio(), 1.0);
  EXPECT_EQ(device.sequence, "train_step");
  EXPECT_EQ(device.callee, "reshape");
  EXPECT_EQ(device.layer, "two");
  EXPECT_EQ(device.phase, "backward");
  ASSERT_EQ(device.alive.size(), 2u);
  EXPECT_EQ(device.alive[0].buffer, "b");
  EXPECT_EQ(device.alive[0].bytes, 2048);
  EXPECT_EQ(device.alive[1].buffer, "a");
}

} // namespace
