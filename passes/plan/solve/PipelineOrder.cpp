//===- PipelineOrder.cpp - Who does what when in a pipeline ---------------===//

#include "passes/plan/solve/PipelineClock.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <cassert>
#include <tuple>

using namespace lwcc;
using namespace lwcc::plan;

Pipeline Pipeline::chain(llvm::ArrayRef<StageTimes> stages, int64_t batches) {
  Pipeline made;
  made.batches = batches;
  for (const StageTimes &times : stages) {
    Stage &stage = made.stages.emplace_back();
    stage.worker = made.workers++;
    stage.times = times;
    if (stage.worker > 0)
      stage.before = {stage.worker - 1};
  }
  return made;
}

std::vector<int64_t> Pipeline::depths() const {
  std::vector<int64_t> depths(stages.size(), 1);
  for (size_t s = stages.size(); s-- > 0;)
    for (int64_t before : stages[s].before)
      depths[before] = std::max(depths[before], depths[s] + 1);
  return depths;
}

/// Of each worker its stages.
static std::vector<std::vector<int64_t>> chunksOf(const Pipeline &pipeline) {
  std::vector<std::vector<int64_t>> chunks(pipeline.workers);
  for (auto [s, stage] : llvm::enumerate(pipeline.stages))
    chunks[stage.worker].push_back(static_cast<int64_t>(s));
  return chunks;
}

//===----------------------------------------------------------------------===//
// Generators
//===----------------------------------------------------------------------===//

/// A worker's forward turns and its backward turns, both in order, after a
/// warm-up of some forward turns.
static std::vector<Turn> oneByOne(llvm::ArrayRef<Turn> forward,
                                  llvm::ArrayRef<Turn> backward,
                                  int64_t warmUp) {
  std::vector<Turn> turns;
  size_t next = 0;
  auto go = [&](int64_t count) {
    for (; count > 0 && next < forward.size(); --count)
      turns.push_back(forward[next++]);
  };
  go(warmUp);
  for (const Turn &turn : backward) {
    turns.push_back(turn);
    go(1);
  }
  return turns;
}

static Turns byWarmUp(const PipelineSchedule &schedule,
                      const Pipeline &pipeline) {
  Turns turns(pipeline.workers);
  std::vector<int64_t> depths = pipeline.depths();
  for (auto [s, stage] : llvm::enumerate(pipeline.stages)) {
    std::vector<Turn> forward, backward;
    for (int64_t batch = 0; batch < pipeline.batches; ++batch) {
      forward.push_back({Phase::forward, batch, static_cast<int64_t>(s)});
      backward.push_back({Phase::backward, batch, static_cast<int64_t>(s)});
    }
    turns[stage.worker] =
        oneByOne(forward, backward,
                 schedule.cap(depths[s], pipeline.workers, pipeline.batches));
  }
  return turns;
}

/// Rounds of micro-batches that go through all chunks of a worker, and how many
/// there are in the largest: at least one for each worker if there are so many,
/// since a chunk's next turn on the first would wait for the last worker else.
static std::pair<int64_t, int64_t> roundsOf(int64_t workers, int64_t batches) {
  int64_t rounds = std::max<int64_t>(1, batches / workers);
  return {rounds, (batches + rounds - 1) / rounds};
}

/// The micro-batches of a round go through a chunk one after the other, then
/// through the worker's next chunk.
static Turns byRounds(const PipelineSchedule &schedule,
                      const Pipeline &pipeline) {
  Turns turns;
  const int64_t workers = pipeline.workers, batches = pipeline.batches;
  const int64_t rounds = roundsOf(workers, batches).first;
  for (auto [w, chunks] : llvm::enumerate(chunksOf(pipeline))) {
    std::vector<Turn> forward, backward;
    for (int64_t round = 0, begin = 0, end = 0; round < rounds; ++round) {
      begin = end;
      end += batches / rounds + (round < batches % rounds);
      auto add = [&](Phase phase, int64_t stage, std::vector<Turn> &list) {
        for (int64_t batch = begin; batch < end; ++batch)
          list.push_back({phase, batch, stage});
      };
      for (int64_t stage : chunks)
        add(Phase::forward, stage, forward);
      for (int64_t stage : llvm::reverse(chunks))
        add(Phase::backward, stage, backward);
    }
    turns.push_back(oneByOne(
        forward, backward,
        schedule.cap(workers - static_cast<int64_t>(w), workers, batches)));
  }
  return turns;
}

namespace {
/// Of a backward and a forward turn that a worker could take at the same time,
/// which goes first; `other` is the other one than last time.
enum class First { other, backward, forward };
} // namespace

/// Takes turns in the order of time. A worker takes a backward or a forward
/// turn as soon as there is one. In a gap in which that part of them has room,
/// or where the cap leaves nothing else, it makes gradients of parameters. A
/// stash is kept free for each later chunk that has none, so that micro-batches
/// can always go on.
static Turns byTime(const PipelineSchedule &schedule, const Pipeline &pipeline,
                    First preferred, double part) {
  PipelineClock clock(pipeline, schedule.weightApart);
  Turns turns(pipeline.workers);
  std::vector<std::vector<int64_t>> chunks = chunksOf(pipeline);
  std::vector<int64_t> depths = pipeline.depths();
  std::vector<Phase> last(pipeline.workers, Phase::forward);
  struct Choice {
    double start = notYet;
    int rank = 0; ///< of what begins at the same time
    Phase phase = Phase::forward;
    int64_t stage = 0;
    bool operator<(const Choice &other) const {
      return std::tie(start, rank) < std::tie(other.start, other.rank);
    }
  };
  auto choiceOf = [&](int64_t worker) {
    Choice best, weight;
    int64_t empty = 0; // later chunks without stashes
    const int64_t cap = schedule.cap(depths[chunks[worker].front()],
                                     pipeline.workers, pipeline.batches);
    for (int64_t stage : llvm::reverse(chunks[worker])) {
      for (Phase phase : {Phase::backward, Phase::forward}) {
        if (phase == Phase::forward && clock.stashes(worker) + empty >= cap)
          continue;
        const bool isLast = preferred == First::other && phase == last[worker];
        const bool isSecond =
            (phase == Phase::forward) != (preferred == First::forward);
        best = std::min(best, Choice{clock.start(phase, stage),
                                     2 * isLast + isSecond, phase, stage});
      }
      weight = std::min(weight, Choice{clock.start(Phase::weight, stage), 4,
                                       Phase::weight, stage});
      empty += clock.stashesOf(stage) == 0;
    }
    bool fits =
        weight.start < notYet &&
        weight.start + part * clock.lengthOf(Phase::weight, weight.stage) <=
            best.start;
    return fits ? weight : best;
  };
  for (;;) {
    Choice first;
    for (int64_t w = 0; w < pipeline.workers; ++w)
      if (!chunks[w].empty())
        first = std::min(first, choiceOf(w));
    if (first.start == notYet)
      return turns;
    const int64_t worker = pipeline.stages[first.stage].worker;
    if (first.phase != Phase::weight)
      last[worker] = first.phase;
    turns[worker].push_back(clock.take(first.phase, first.stage));
  }
}

/// Which turns should go first, and how much of a gap is enough, the whole step
/// tells.
static Turns byTime(const PipelineSchedule &schedule,
                    const Pipeline &pipeline) {
  Turns best;
  double least = notYet;
  for (double part : {1.0, 0.75, 0.5})
    for (First preferred : {First::other, First::backward, First::forward}) {
      Turns turns = byTime(schedule, pipeline, preferred, part);
      double length = play(pipeline, turns, schedule.weightApart).length;
      if (length < least) {
        least = length;
        best = std::move(turns);
      }
    }
  return best;
}

//===----------------------------------------------------------------------===//
// The table
//===----------------------------------------------------------------------===//

/// All micro-batches.
static int64_t all(int64_t, int64_t, int64_t batches) { return batches; }
/// Those between a stage and the end.
static int64_t untilTheFirst(int64_t depth, int64_t, int64_t) { return depth; }
/// As many more as the stages behind hold.
static int64_t twice(int64_t depth, int64_t, int64_t) { return 2 * depth - 1; }
/// As many as the first worker holds with one stage each: in stages of one
/// chunk, and of two.
static int64_t asTheFirst(int64_t, int64_t workers, int64_t) { return workers; }
static int64_t twiceTheFirst(int64_t, int64_t workers, int64_t) {
  return 2 * workers - 1;
}
static int64_t asTheFirstInHalves(int64_t, int64_t workers, int64_t) {
  return 2 * workers;
}
static int64_t halfTheFirstInHalves(int64_t, int64_t workers, int64_t) {
  return workers + 2;
}
static constexpr int64_t interleavedChunks = 2;
/// Megatron-LM's warm-up: until the first micro-batch comes back to the last
/// chunk.
static int64_t interleaved(int64_t depth, int64_t workers, int64_t batches) {
  int64_t behind = (depth - 1) % workers; // the worker, in the same chunk
  return 2 * behind +
         (interleavedChunks - 1) * roundsOf(workers, batches).second + 1;
}

// Huang et al., "GPipe", 2019; Narayanan et al., "PipeDream", 2019; Fan et al.,
// "DAPPLE", 2021 (its policy B); Narayanan et al., "Efficient large-scale
// language model training", 2021; Qi et al., "Zero Bubble Pipeline
// Parallelism", 2024, and "Pipeline Parallelism with Controllable Memory",
// 2024.
static const PipelineSchedule schedules[] = {
    {"gpipe", "all micro-batches forward, then all backward", all, byWarmUp},
    {"1f1b", "one forward, one backward", untilTheFirst, byWarmUp},
    {"1f1b-eager", "the same with a longer warm-up, for slow links", twice,
     byWarmUp},
    {"interleaved", "1f1b with two stages on each device, in rounds",
     interleaved, byRounds, false, interleavedChunks},
    {"zb-h1", "1f1b with gradients of parameters in its bubbles", asTheFirst,
     byTime, true},
    {"zb-h2", "the same without bubbles, with twice the stashes", twiceTheFirst,
     byTime, true},
    {"zb-v", "two stages on each device, there and back, without bubbles",
     asTheFirstInHalves, byTime, true, 2, true},
    {"v-half", "the same with half the stashes", halfTheFirstInHalves, byTime,
     true, 2, true},
};

int64_t PipelineSchedule::workerOf(int64_t stage, int64_t workers) const {
  int64_t row = stage / workers, place = stage % workers;
  return folded && row % 2 == 1 ? workers - 1 - place : place;
}

llvm::ArrayRef<PipelineSchedule> lwcc::plan::pipelineSchedules() {
  return schedules;
}

const PipelineSchedule *lwcc::plan::findPipelineSchedule(llvm::StringRef name) {
  auto row = llvm::find_if(schedules, [&](const PipelineSchedule &each) {
    return each.name == name;
  });
  return row == std::end(schedules) ? nullptr : row;
}

Turns lwcc::plan::turnsOf(const PipelineSchedule &schedule,
                          const Pipeline &pipeline) {
  return schedule.generate(schedule, pipeline);
}

PipelineStep lwcc::plan::play(const Pipeline &pipeline, const Turns &turns,
                              bool weightApart) {
  PipelineClock clock(pipeline, weightApart);
  std::vector<size_t> next(pipeline.workers, 0);
  for (bool moved = true; moved;) {
    moved = false;
    for (auto [w, list] : llvm::enumerate(turns))
      for (; next[w] < list.size(); ++next[w], moved = true) {
        const Turn &turn = list[next[w]];
        if (clock.start(turn.phase, turn.stage) == notYet)
          break;
        clock.take(turn.phase, turn.stage);
      }
  }
  return clock.step();
}

PipelineStep lwcc::plan::stepOf(const PipelineSchedule &schedule,
                                const Pipeline &pipeline) {
  Turns turns = turnsOf(schedule, pipeline);
  PipelineStep step = play(pipeline, turns, schedule.weightApart);
  assert(llvm::all_of_zip(turns, step.turns,
                          [](const auto &asked, const auto &taken) {
                            return asked.size() == taken.size();
                          }) &&
         "the order has a cycle");
  return step;
}
