//===- PipelineOrderTest.cpp - The table of pipeline schedules ------------===//

#include "passes/plan/solve/PipelineOrder.h"

#include "gtest/gtest.h"

#include <algorithm>
#include <random>
#include <set>

using namespace lwcc;
using namespace lwcc::plan;

namespace {

/// A chain of equal stages, as many on each worker as the schedule wants.
Pipeline equalStages(const PipelineSchedule &schedule, int64_t workers,
                     int64_t batches, const StageTimes &times = {}) {
  Pipeline made = Pipeline::chain(
      std::vector<StageTimes>(workers * schedule.chunks, times), batches);
  made.workers = workers;
  for (size_t s = 0; s < made.stages.size(); ++s)
    made.stages[s].worker = schedule.workerOf(s, workers);
  return made;
}

int64_t largest(const std::vector<int64_t> &values) {
  return *std::max_element(values.begin(), values.end());
}
double largest(const std::vector<double> &values) {
  return *std::max_element(values.begin(), values.end());
}

/// What is published of a schedule with equal stages: by how many turns of a
/// stage (F = B = W = 1) a step is longer than a worker's work, and the stashes
/// of each worker. `from`: for how many micro-batches at least it is so.
struct Known {
  const char *name;
  int64_t (*longer)(int64_t workers);
  int64_t (*stashes)(int64_t worker, int64_t workers, int64_t batches);
  int64_t (*from)(int64_t workers);
  bool multiples = false; ///< of the workers only
};

// Narayanan et al., "Efficient large-scale language model training", 2021, 2.2;
// Qi et al., "Zero Bubble Pipeline Parallelism", 2024, table 2. There the
// bubble of zb-h2 and zb-v is 0, and workers end as much later as they begin:
// the last one to begin does so after workers - 1 forward turns.
const Known known[] = {
    {"gpipe", [](int64_t s) { return 3 * (s - 1); },
     [](int64_t, int64_t, int64_t batches) { return batches; },
     [](int64_t) -> int64_t { return 1; }},
    {"1f1b", [](int64_t s) { return 3 * (s - 1); },
     [](int64_t w, int64_t s, int64_t) { return s - w; },
     [](int64_t) -> int64_t { return 1; }},
    {"1f1b-eager", [](int64_t s) { return 3 * (s - 1); },
     [](int64_t w, int64_t s, int64_t) { return 2 * (s - w) - 1; },
     [](int64_t) -> int64_t { return 1; }},
    {"interleaved", [](int64_t s) { return 3 * (s - 1); },
     [](int64_t w, int64_t s, int64_t) { return 2 * (s - w - 1) + s + 1; },
     [](int64_t s) { return s; }, true},
    {"zb-h1", [](int64_t s) { return s - 1; },
     [](int64_t, int64_t s, int64_t) { return s; },
     [](int64_t s) { return s; }},
    {"zb-h2", [](int64_t s) { return s - 1; },
     [](int64_t, int64_t s, int64_t) { return 2 * s - 1; },
     [](int64_t s) { return s; }},
};

// Published ones hand a gradient on when the whole turn is over.
TEST(PipelineOrder, equalStagesHaveThePublishedLengthsAndStashes) {
  for (const Known &row : known)
    for (int64_t workers = 1; workers <= 8; ++workers)
      for (int64_t batches = 1; batches <= 32; ++batches) {
        const PipelineSchedule *schedule = findPipelineSchedule(row.name);
        ASSERT_TRUE(schedule);
        if (batches < row.from(workers) ||
            (row.multiples && batches % workers != 0))
          continue;
        StageTimes times;
        if (!schedule->weightApart)
          times = {1, 2, 0};
        PipelineStep step =
            stepOf(*schedule, equalStages(*schedule, workers, batches, times));
        SCOPED_TRACE(std::string(row.name) + ", " + std::to_string(workers) +
                     " workers, " + std::to_string(batches) + " micro-batches");
        EXPECT_EQ(step.length,
                  3.0 * batches * schedule->chunks + row.longer(workers));
        for (int64_t w = 0; w < workers; ++w) {
          int64_t most = std::min(row.stashes(w, workers, batches),
                                  batches * schedule->chunks);
          EXPECT_LE(step.stashes[w], most);
          EXPECT_TRUE(schedule->weightApart || step.stashes[w] == most);
        }
        const bool hasNone =
            row.name == std::string("zb-h2") && batches >= 2 * workers - 1;
        EXPECT_TRUE(!hasNone || largest(step.bubbles) == 0);
      }
}

TEST(PipelineOrder, gradientsAreHandedOnBeforeThoseOfParameters) {
  for (const char *name : {"gpipe", "1f1b", "1f1b-eager"})
    for (int64_t workers = 1; workers <= 8; ++workers)
      for (int64_t batches = 1; batches <= 32; ++batches) {
        const PipelineSchedule &schedule = *findPipelineSchedule(name);
        EXPECT_EQ(
            stepOf(schedule, equalStages(schedule, workers, batches)).length,
            3.0 * batches + 2 * (workers - 1))
            << name << ", " << workers << " workers, " << batches
            << " micro-batches";
      }
}

/// Qi et al., "Pipeline Parallelism with Controllable Memory", 2024: with two
/// stages there and back a step has no bubbles but for its first forward turns
/// and 1f1b's stashes, or half the bubble of 1f1b and about half its stashes.
/// A stage here is half of one there. The generator is not told their patterns
/// and comes out a turn behind with some odd numbers of workers.
TEST(PipelineOrder, stagesThereAndBackWaitAsLittleAsPublished) {
  for (int64_t workers = 2; workers <= 8; ++workers)
    for (int64_t batches = 2 * workers; batches <= 32; ++batches) {
      SCOPED_TRACE(std::to_string(workers) + " workers, " +
                   std::to_string(batches) + " micro-batches");
      const double work = 6.0 * batches;
      auto stepBy = [&](const char *name) {
        const PipelineSchedule &schedule = *findPipelineSchedule(name);
        return stepOf(schedule, equalStages(schedule, workers, batches));
      };
      PipelineStep zero = stepBy("zb-v"), half = stepBy("v-half");
      EXPECT_LE(zero.length, work + workers);
      if (workers <= 4 || workers % 2 == 0) {
        EXPECT_EQ(zero.length, work + workers - 1);
      }
      EXPECT_LE(largest(zero.stashes), 2 * workers);
      EXPECT_LE(half.length, work + 6.0 * (workers + 2) / 2 + 1);
      EXPECT_LE(largest(half.stashes), workers + 2);
    }
}

/// Whatever the times and the stages, every order can be carried out, a worker
/// takes each turn once, none holds more than its cap, and a step takes at
/// least what a worker computes and what a micro-batch takes through all
/// stages.
TEST(PipelineOrder, everyOrderCanBeCarriedOut) {
  std::mt19937 random(20);
  auto number = [&](int64_t least, int64_t most) {
    return std::uniform_int_distribution<int64_t>(least, most)(random);
  };
  for (const PipelineSchedule &schedule : pipelineSchedules())
    for (int trial = 0; trial < 300; ++trial) {
      const int64_t workers = number(1, 6), batches = number(1, 14);
      Pipeline pipeline = equalStages(schedule, workers, batches);
      for (size_t s = 0; s < pipeline.stages.size(); ++s) {
        Pipeline::Stage &stage = pipeline.stages[s];
        stage.times = {number(1, 40) / 8.0, number(0, 40) / 8.0,
                       number(0, 40) / 8.0, number(0, 16) / 8.0};
        // One stage a worker may have any shape; with more it is a chain.
        if (schedule.chunks == 1 && s > 0) {
          stage.before.clear();
          for (int64_t from = 0; from < int64_t(s); ++from)
            if (number(0, 2) == 0)
              stage.before.push_back(from);
        }
      }
      SCOPED_TRACE(schedule.name.str() + ", " + std::to_string(workers) +
                   " workers, " + std::to_string(batches) + " micro-batches");
      Turns turns = turnsOf(schedule, pipeline);
      ASSERT_EQ(int64_t(turns.size()), workers);
      std::set<std::tuple<Phase, int64_t, int64_t>> once;
      size_t taken = 0;
      for (int64_t w = 0; w < workers; ++w)
        for (const Turn &turn : turns[w]) {
          EXPECT_EQ(pipeline.stages[turn.stage].worker, w);
          once.insert({turn.phase, turn.batch, turn.stage});
          ++taken;
        }
      EXPECT_EQ(once.size(), taken);
      EXPECT_EQ(taken, pipeline.stages.size() * batches *
                           (schedule.weightApart ? 3 : 2));
      PipelineStep step = stepOf(schedule, pipeline);
      std::vector<double> busy(workers, 0), until(pipeline.stages.size(), 0);
      std::vector<int64_t> depths = pipeline.depths(), depth(workers, 0);
      for (size_t s = 0; s < pipeline.stages.size(); ++s) {
        const Pipeline::Stage &stage = pipeline.stages[s];
        busy[stage.worker] += batches * stage.times.busy();
        depth[stage.worker] = std::max(depth[stage.worker], depths[s]);
        for (int64_t from : stage.before)
          until[s] = std::max(until[s], until[from]);
        until[s] += stage.times.forward + stage.times.backward;
      }
      EXPECT_GE(step.length + 1e-9, largest(busy));
      EXPECT_GE(step.length + 1e-9, largest(until));
      for (int64_t w = 0; w < workers; ++w)
        EXPECT_LE(step.stashes[w], schedule.cap(depth[w], workers, batches));
    }
}

} // namespace
