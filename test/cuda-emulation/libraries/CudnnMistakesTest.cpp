//===- CudnnMistakesTest.cpp - Graphs of cuDNN that say the wrong thing ---===//
//
// Wrong graphs and variant packs compute the wrong thing, are refused or
// reported; pointers, workspaces and engines that do not do what was promised.
//
//===----------------------------------------------------------------------===//

#include "test/cuda-emulation/libraries/TestGraph.h"

#include <functional>

using namespace lwcc::emulation;
using namespace lwcc::emulation::test;

/// "refused", "reported", "wrong" or "right".
static std::string
outcomeOf(cudnnHandle_t handle, const std::function<void(Fused &)> &change,
          const std::function<std::vector<Plan>(const Built &)> &plansOf,
          const std::function<
              cudnnStatus_t(const Plan &, const std::vector<int64_t> &,
                            const std::vector<void *> &, void *)> &execute) {
  const Fused right;
  Fused is;
  change(is);
  FusedData data(right.c);
  Built whole = is.build(handle);
  if (whole.status != CUDNN_STATUS_SUCCESS)
    return "refused";
  for (const Plan &plan : plansOf(whole)) {
    if (plan.has(CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS))
      continue;
    OnDevice x(scattered(data.x, right.c.x, channelsLast(right.x.dims))),
        w(scattered(data.w, right.c.w, channelsLast(right.w.dims))),
        bias(data.bias), y(Floats(elementsOf(right.c.y), 1e9f)),
        workspace(static_cast<size_t>(plan.workspace + 3) / 4);
    if (execute(plan, is.ids, {x.data(), w.data(), y.data(), bias.data()},
                workspace.data()) != CUDNN_STATUS_SUCCESS)
      return "refused";
    cudaDeviceSynchronize();
    if (!faults().empty()) {
      clearFaults();
      return "reported";
    }
    return difference(gathered(y.read(), right.c.y, channelsLast(right.y.dims)),
                      data.wanted) < 1e-4
               ? "right"
               : "wrong";
  }
  return "refused";
}

TEST_F(CudnnRun, AGraphThatSaysTheWrongThing) {
  auto outcome = [&](const std::function<void(Fused &)> &change) {
    return outcomeOf(
        handle, change, [&](const Built &built) { return plansOf(built); },
        [&](const Plan &plan, const std::vector<int64_t> &ids,
            const std::vector<void *> &pointers, void *workspace) {
          return execute(plan, ids, pointers, workspace);
        });
  };
  EXPECT_EQ(outcome([](Fused &) {}), "right");
  EXPECT_EQ(outcome([](Fused &f) {
              for (TensorIs *t : {&f.product, &f.sum}) // virtual: any will do
                t->strides = {192, 32, 4, 1};
            }),
            "right");
  // Rows and columns exchanged, and the like: the same memory, read wrongly.
  EXPECT_EQ(outcome([](Fused &f) { f.x.strides = {256, 64, 8, 1}; }), "wrong");
  EXPECT_EQ(outcome([](Fused &f) { f.x.strides = {256, 1, 4, 32}; }), "wrong");
  EXPECT_EQ(outcome([](Fused &f) { f.w.strides = {36, 9, 3, 1}; }), "wrong");
  EXPECT_EQ(outcome([](Fused &f) {
              f.conv.before = {0, 1};
              f.conv.after = {2, 1};
            }),
            "wrong");
  EXPECT_EQ(outcome([](Fused &f) { std::swap(f.conv.before, f.conv.after); }),
            "wrong");
  EXPECT_EQ(outcome([](Fused &f) { f.conv.mode = CUDNN_CONVOLUTION; }),
            "wrong");
  EXPECT_EQ(outcome([](Fused &f) { f.adds = CUDNN_POINTWISE_MUL; }), "wrong");
  EXPECT_EQ(outcome([](Fused &f) { f.clips = CUDNN_POINTWISE_IDENTITY; }),
            "wrong");
  // Beyond the end of the memory.
  EXPECT_EQ(outcome([](Fused &f) {
              f.x.strides = channelsLast(f.x.dims);
              f.x.strides[0] += 4;
            }),
            "reported");
  EXPECT_EQ(outcome([](Fused &f) { std::swap(f.ids[0], f.ids[1]); }),
            "reported");
  EXPECT_EQ(outcome([](Fused &f) { std::swap(f.ids[1], f.ids[3]); }),
            "reported");
  // Shapes and ids that cannot be.
  EXPECT_EQ(outcome([](Fused &f) { f.conv.stride = {1, 1}; }), "refused");
  EXPECT_EQ(outcome([](Fused &f) { f.conv.dilation = {1, 2}; }), "refused");
  EXPECT_EQ(outcome([](Fused &f) { f.bias.dims = {1, 1, 1, 1}; }), "refused");
  EXPECT_EQ(outcome([](Fused &f) { f.ids[3] = 77; }), "refused");
  EXPECT_EQ(outcome([](Fused &f) { f.bias.id = idX; }), "refused");
  EXPECT_EQ(outcome([](Fused &f) { f.sum.isVirtual = false; }), "refused");
}

//===----------------------------------------------------------------------===//
// Pointers and workspaces
//===----------------------------------------------------------------------===//

TEST_F(CudnnRun, PointersAndWorkspacesAreChecked) {
  Fused is;
  for (TensorIs *each : {&is.x, &is.w, &is.y, &is.bias})
    each->alignment = 16;
  FusedData data(is.c);
  Built whole = is.build(handle);
  int withWorkspace = 0;
  for (const Plan &plan : plansOf(whole)) {
    OnDevice aligned(scattered(data.x, is.c.x, channelsLast(is.x.dims)), 16),
        shifted(scattered(data.x, is.c.x, channelsLast(is.x.dims)), 8),
        w(scattered(data.w, is.c.w, channelsLast(is.w.dims))), bias(data.bias),
        y(elementsOf(is.c.y));
    auto run = [&](const OnDevice &x, void *workspace) {
      cudnnStatus_t status = execute(
          plan, is.ids, {x.data(), w.data(), y.data(), bias.data()}, workspace);
      cudaDeviceSynchronize();
      return status;
    };
    OnDevice workspace(static_cast<size_t>(plan.workspace + 3) / 4);
    EXPECT_EQ(run(aligned, workspace.data()), CUDNN_STATUS_SUCCESS);
    EXPECT_TRUE(faults().empty()) << faults().front();
    EXPECT_EQ(run(shifted, workspace.data()),
              CUDNN_STATUS_BAD_PARAM_MISALIGNED_POINTER);
    EXPECT_TRUE(found("is less aligned"));
    clearFaults();
    if (plan.workspace == 0)
      continue;
    ++withWorkspace;
    EXPECT_EQ(run(aligned, nullptr), CUDNN_STATUS_BAD_PARAM_NULL_POINTER);
    EXPECT_TRUE(faults().empty());
    OnDevice small(static_cast<size_t>(plan.workspace) / 4 - 1);
    EXPECT_EQ(run(aligned, small.data()), CUDNN_STATUS_SUCCESS);
    EXPECT_FALSE(faults().empty());
    clearFaults();
  }
  EXPECT_GE(withWorkspace, 3);
}

TEST_F(CudnnRun, EnginesRefuseAndFailWhereTheyAreTold) {
  Fused is;
  Built whole = is.build(handle);
  auto configs = offers(whole, CUDNN_HEUR_MODE_A);
  ASSERT_GE(configs.size(), 3u);
  auto planOf = [&](const Built &config) {
    Built plan(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
    plan.part(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, config)
        .set(CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE,
             std::vector{handle})
        .finalize();
    return plan.status;
  };
  for (const Built &config : configs)
    EXPECT_EQ(planOf(config), CUDNN_STATUS_SUCCESS);
  libraryOptions().refusedEngines = {2, 3, 4, 5, 6, 7, 8};
  for (const Built &config : configs)
    EXPECT_EQ(planOf(config), CUDNN_STATUS_NOT_SUPPORTED);
}
