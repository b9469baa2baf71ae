//===- RankPrograms.cpp - Random programs for several ranks ---------------===//

#include "RankPrograms.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

namespace lwcc::rt::exchange {

int RankProgram::events() const {
  int count = 0;
  for (const Step &step : steps)
    count = std::max(count, step.event + 1);
  return count;
}

Region RankProgram::bytes(int device, int64_t offset, int64_t count) const {
  char *at = const_cast<char *>(memory[device].data()) + offset;
  return {device, Tensor(at, DType::u8, {count}, Layout::dense)};
}

Region RankProgram::columns(int device, int64_t row, int64_t rows,
                            int64_t column, int64_t count) const {
  char *at = const_cast<char *>(memory[device].data());
  const Tensor whole(at, DType::u8, {deviceBytes / 8, 8}, Layout::dense);
  const int64_t begin[] = {row, column}, dims[] = {rows, count};
  return {device, windowOf(whole, begin, dims)};
}

void RankProgram::work(int lane, std::vector<Region> writes,
                       std::vector<Region> reads) {
  steps.push_back({Step::work, lane, devices[lane], -1, std::move(writes),
                   std::move(reads)});
}
void RankProgram::record(int lane, int event) {
  steps.push_back({Step::record, lane, devices[lane], event, {}, {}});
}
void RankProgram::wait(int lane, int event) {
  steps.push_back({Step::wait, lane, devices[lane], event, {}, {}});
}

std::vector<int> placesOf(const RankProgram &program, const Region &region) {
  const Tensor &tensor = region.tensor;
  const int64_t size = sizeOf(tensor.type);
  const auto base = static_cast<const char *>(tensor.data) -
                    program.memory[region.device].data();
  std::vector<int> places;
  for (int64_t element = 0; element < tensor.elements(); ++element) {
    int64_t offset = 0, rest = element;
    for (int d = tensor.rank - 1; d >= 0; --d) {
      offset += rest % tensor.dim[d] * tensor.stride[d];
      rest /= tensor.dim[d];
    }
    for (int64_t byte = 0; byte < size; ++byte)
      places.push_back(static_cast<int>(base + offset * size + byte));
  }
  return places;
}

void Mixing::mix() const {
  unsigned hash = 1 + number;
  for (const unsigned char *byte : sources)
    hash = 31 * hash + *byte;
  for (unsigned char *byte : targets)
    *byte =
        static_cast<unsigned char>(hash = 1664525 * hash + 1013904223 + *byte);
}

/// Of a step that is work.
static Mixing mixingOf(Machine &machine, const RankProgram &program,
                       int number) {
  Mixing made;
  made.number = static_cast<unsigned>(number);
  auto list = [&](const Region &region, std::vector<Tensor> &tensors,
                  std::vector<unsigned char *> &bytes) {
    char *base = machine.arena(region.device);
    Tensor tensor = region.tensor;
    tensor.data =
        base + (tensor.as<const char>() - program.memory[region.device].data());
    tensors.push_back(tensor);
    for (int at : placesOf(program, region))
      bytes.push_back(reinterpret_cast<unsigned char *>(base) + at);
  };
  for (const Region &region : program.steps[number].reads)
    list(region, made.reads, made.sources);
  for (const Region &region : program.steps[number].writes)
    list(region, made.writes, made.targets);
  return made;
}

void recordProgram(Machine &machine, const RankProgram &program,
                   const std::function<void(Lane &, const Mixing &)> &append) {
  for (size_t i = 0; i < program.steps.size(); ++i) {
    const Step &step = program.steps[i];
    Lane &lane = machine.lane(step.lane);
    if (step.kind == Step::record)
      machine.event(step.event).record(lane);
    else if (step.kind == Step::wait)
      machine.event(step.event).wait(lane);
    else
      append(lane, mixingOf(machine, program, static_cast<int>(i)));
  }
}

namespace {

/// Work as it is drawn, before there are events.
struct Piece {
  int lane;
  std::vector<Region> writes, reads;
};

/// Appends pieces, and what orders them.
class Synchronizer {
public:
  Synchronizer(RankProgram &program, Random &random)
      : program(program), random(random) {
    const size_t lanes = program.devices.size();
    now.assign(lanes, Clock(lanes));
    ofLane.resize(lanes);
    touched.assign(program.ranks.size(),
                   std::vector<Touched>(RankProgram::deviceBytes));
  }
  void append(const Piece &piece);
  /// An event that orders more than is needed.
  void waitForAny(int lane);
  /// What is known on a lane, for others.
  void record(int lane);

private:
  using Clock = std::vector<int>; ///< by lane, how much of its work is over
  /// A piece that was appended.
  struct Done {
    int lane, place;
    Clock after;
  };
  struct Touched {
    int writer = -1; ///< pieces
    std::vector<int> readers;
  };
  /// What is known behind it: all that was, where its event is recorded.
  struct Recorded {
    int event, lane;
    Clock known;
  };

  bool isOver(int piece, const Clock &clock) const {
    return clock[done[piece].lane] >= done[piece].place;
  }
  void orderBehind(int lane, int piece);
  void join(int lane, const Clock &known) {
    for (size_t l = 0; l < known.size(); ++l)
      now[lane][l] = std::max(now[lane][l], known[l]);
  }

  RankProgram &program;
  Random &random;
  std::vector<Done> done;
  std::vector<Clock> now;               ///< by lane
  std::vector<std::vector<int>> ofLane; ///< pieces
  std::vector<std::vector<Touched>> touched;
  std::vector<Recorded> recorded;
};

void Synchronizer::orderBehind(int lane, int piece) {
  // An event that is there already, or one behind all of its lane.
  for (const Recorded &one : recorded)
    if (isOver(piece, one.known) && draw(random, 4) > 0) {
      program.wait(lane, one.event);
      return join(lane, one.known);
    }
  const int from = done[piece].lane;
  record(from);
  program.wait(lane, recorded.back().event);
  join(lane, now[from]);
}

void Synchronizer::record(int lane) {
  const int event = static_cast<int>(recorded.size());
  recorded.push_back({event, lane, now[lane]});
  program.record(lane, event);
}

void Synchronizer::waitForAny(int lane) {
  if (recorded.empty())
    return;
  const Recorded &one = recorded[draw(random, int(recorded.size()))];
  if (one.lane == lane)
    return;
  program.wait(lane, one.event);
  join(lane, one.known);
}

void Synchronizer::append(const Piece &piece) {
  std::set<int, std::greater<>> conflicts; // the last ones know most
  for (const Region &region : piece.reads)
    for (int at : placesOf(program, region))
      conflicts.insert(touched[region.device][at].writer);
  for (const Region &region : piece.writes)
    for (int at : placesOf(program, region)) {
      const Touched &past = touched[region.device][at];
      conflicts.insert(past.writer);
      conflicts.insert(past.readers.begin(), past.readers.end());
    }
  conflicts.erase(-1);
  for (int other : conflicts)
    if (!isOver(other, now[piece.lane]))
      orderBehind(piece.lane, other);

  const int number = static_cast<int>(done.size());
  const int place = ++now[piece.lane][piece.lane];
  program.work(piece.lane, piece.writes, piece.reads);
  done.push_back({piece.lane, place, now[piece.lane]});
  // Most often right behind it, where a message may bring it.
  if (draw(random, 3) == 0)
    record(piece.lane);
  for (const Region &region : piece.reads)
    for (int at : placesOf(program, region))
      touched[region.device][at].readers.push_back(number);
  for (const Region &region : piece.writes)
    for (int at : placesOf(program, region))
      touched[region.device][at] = {number, {}};
}

Region randomRegion(const RankProgram &program, int device, Random &random) {
  constexpr int size = RankProgram::deviceBytes;
  switch (draw(random, 6)) {
  case 0: { // any bytes
    const int begin = draw(random, size), count = draw(random, size - begin);
    return program.bytes(device, begin, count);
  }
  case 1: { // rows, which repeat
    const int row = draw(random, size / 8);
    return program.bytes(device, 8 * row, 8);
  }
  case 2: // one of a few
    return program.bytes(device, 12 * draw(random, 4), 12);
  case 3: { // columns
    const int row = draw(random, size / 8), column = draw(random, 8);
    return program.columns(device, row, 1 + draw(random, size / 8 - row),
                           column, 1 + draw(random, 8 - column));
  }
  case 4: { // columns that repeat
    const int column = 4 * draw(random, 2);
    return program.columns(device, 0, size / 8, column, 4);
  }
  default: { // part of an image
    char *at = const_cast<char *>(program.memory[device].data());
    const Tensor whole(at, DType::f32, {1, 2, 2, 3}, Layout::nhwc);
    const int64_t begin[] = {0, draw(random, 2), draw(random, 2),
                             draw(random, 3)};
    int64_t dims[4];
    for (int d = 0; d < 4; ++d)
      dims[d] = 1 + draw(random, int(whole.dim[d] - begin[d]));
    return {device, windowOf(whole, begin, dims)};
  }
  }
}

/// Columns, or rows behind them.
Region regionApart(const RankProgram &program, int device, Random &random) {
  const int number = 1 + draw(random, 3);
  return number == 1 ? program.columns(device, 0, 3, 2, 5)
                     : program.bytes(device, 12 * number, 12);
}

} // namespace

RankProgram randomProgram(Random &random, Regions regions) {
  const int count = 2 + draw(random, 4);
  std::vector<int> ranks, devices;
  for (int rank = 0; rank < count; ++rank)
    for (int device = draw(random, 2); device < 2; ++device) {
      for (int lane = draw(random, 2); lane < 2; ++lane)
        devices.push_back(static_cast<int>(ranks.size()));
      ranks.push_back(rank);
    }
  RankProgram program(ranks, devices);
  Synchronizer synchronizer(program, random);
  // Few regions, which are used again, or any.
  std::vector<Region> pool;
  for (int i = 0; i < 6; ++i)
    pool.push_back(
        randomRegion(program, draw(random, int(ranks.size())), random));
  auto regionOn = [&](int device) {
    std::vector<Region> known;
    for (const Region &region : pool)
      if (region.device == device)
        known.push_back(region);
    if (regions == Regions::apart)
      return regionApart(program, device, random);
    return !known.empty() && draw(random, 2) == 0
               ? known[draw(random, int(known.size()))]
               : randomRegion(program, device, random);
  };
  const int pieces = 3 + draw(random, 22);
  for (int i = 0; i < pieces; ++i) {
    Piece piece{draw(random, int(devices.size())), {}, {}};
    if (draw(random, 8) == 0)
      synchronizer.waitForAny(piece.lane);
    if (draw(random, 4) == 0) { // which may order others through this lane
      const int lane = draw(random, int(devices.size()));
      synchronizer.waitForAny(lane);
      synchronizer.record(lane);
    }
    for (int w = draw(random, 3); w > 0; --w)
      piece.writes.push_back(regionOn(devices[piece.lane]));
    for (int r = draw(random, 4); r > 0; --r)
      piece.reads.push_back(regionOn(draw(random, int(ranks.size()))));
    synchronizer.append(piece);
  }
  return program;
}

} // namespace lwcc::rt::exchange
