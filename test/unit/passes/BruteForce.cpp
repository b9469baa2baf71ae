//===- BruteForce.cpp - Does a program mean what it says? -----------------===//

#include "BruteForce.h"

#include "llvm/ADT/StringMap.h"

#include <functional>
#include <map>
#include <random>
#include <set>

using namespace mlir;
using namespace lwcc::exec;

namespace {

using Tag = uint64_t;
constexpr int64_t granule = 128; ///< bytes that one tag stands for

Tag mix(Tag a, Tag b) {
  a ^= b + 0x9e3779b97f4a7c15ull + (a << 6) + (a >> 2);
  a *= 0xff51afd7ed558ccdull;
  return a ^ (a >> 33);
}

struct Tensor {
  std::string root;
  int64_t inRoot = 0; ///< bytes
  int64_t bytes = 0;
  std::string device;
  int64_t inArena = 0; ///< bytes
};

struct Item {
  enum Kind { call, record, wait } kind;
  int lane = 0;
  std::string event;
  std::vector<Tensor> ins, outs;
  int number = 0; ///< of the call
};

/// A named piece of memory, in granules.
using Memory = std::map<std::string, std::vector<Tag>>;

struct Model {
  std::vector<Item> items;
  int lanes = 0;
  std::vector<Tensor> persistent;
  std::map<std::string, int64_t> rootBytes, arenaBytes;
};

Model read(SequenceOp sequence) {
  auto program = cast<ProgramOp>(sequence->getParentOp());
  Model model;
  std::map<std::string, Tensor> tensors;
  std::map<std::string, int> lanes;
  for (Operation &op : program.getBody().front()) {
    if (auto device = dyn_cast<DeviceOp>(op))
      model.arenaBytes[device.getSymName().str()] = device.getArena();
    if (auto lane = dyn_cast<LaneOp>(op))
      lanes.emplace(lane.getSymName().str(), model.lanes++);
    auto buffer = dyn_cast<BufferOp>(op);
    if (!buffer)
      continue;
    Tensor tensor;
    tensor.bytes = buffer.getBytes();
    tensor.device = buffer.getDevice().str();
    int64_t offset = buffer.getOffset();
    if (auto parent = buffer.getViewOf()) {
      const Tensor &whole = tensors.at(parent->str());
      tensor.root = whole.root;
      tensor.inRoot = whole.inRoot + offset;
      tensor.inArena = whole.inArena + offset;
    } else {
      tensor.root = buffer.getSymName().str();
      tensor.inArena = offset;
      model.rootBytes[tensor.root] = tensor.bytes;
      if (buffer.isPersistent())
        model.persistent.push_back(tensor);
    }
    tensors.emplace(buffer.getSymName().str(), tensor);
  }
  for (Operation &op : sequence.getBody().front()) {
    Item item;
    if (auto record = dyn_cast<RecordOp>(op)) {
      item.kind = Item::record;
      item.lane = lanes.at(record.getLane().str());
      item.event = record.getEvent().str();
    } else if (auto wait = dyn_cast<WaitOp>(op)) {
      item.kind = Item::wait;
      item.lane = lanes.at(wait.getLane().str());
      item.event = wait.getEvent().str();
    } else {
      auto call = cast<CallOp>(op);
      item.kind = Item::call;
      item.lane = lanes.at(call.getLane().str());
      item.number = model.items.size();
      for (auto [list, to] : {std::pair(call.getIns(), &item.ins),
                              std::pair(call.getOuts(), &item.outs)})
        for (Attribute a : list)
          if (auto name = dyn_cast<FlatSymbolRefAttr>(a))
            to->push_back(tensors.at(name.getValue().str()));
    }
    model.items.push_back(std::move(item));
  }
  return model;
}

/// A memory in which to run: where a tensor's tags are.
struct World {
  Memory memory;
  bool byRoot; ///< every root buffer has its own memory

  Tag *at(const Tensor &t) {
    auto &tags = memory.at(byRoot ? t.root : t.device);
    int64_t first = (byRoot ? t.inRoot : t.inArena) / granule;
    int64_t count = (t.bytes + granule - 1) / granule;
    if (first < 0 || first + count > static_cast<int64_t>(tags.size()))
      return nullptr;
    return tags.data() + first;
  }
};

World makeWorld(const Model &model, bool byRoot) {
  World world{{}, byRoot};
  Tag garbage = byRoot ? 11 : 77; // never equal: reading it is a mistake
  for (auto &[name, bytes] : byRoot ? model.rootBytes : model.arenaBytes) {
    auto &tags = world.memory[name];
    for (int64_t i = 0; i * granule < bytes; ++i)
      tags.push_back(mix(garbage, i));
  }
  for (const Tensor &t : model.persistent) {
    Tag name = std::hash<std::string>()(t.root);
    if (Tag *tags = world.at(t))
      for (int64_t i = 0; i * granule < t.bytes; ++i)
        tags[i] = mix(name, i);
  }
  return world;
}

/// Runs a call; returns the tag of all it read, or nothing if it touches bytes
/// outside the memory.
std::optional<Tag> runCall(const Item &item, World &world) {
  Tag seen = item.number;
  for (const Tensor &t : item.ins) {
    Tag *tags = world.at(t);
    if (!tags)
      return std::nullopt;
    for (int64_t i = 0; i * granule < t.bytes; ++i)
      seen = mix(seen, tags[i]);
  }
  for (auto [index, t] : llvm::enumerate(item.outs)) {
    Tag *tags = world.at(t);
    if (!tags)
      return std::nullopt;
    for (int64_t i = 0; i * granule < t.bytes; ++i)
      tags[i] = mix(mix(seen, index), i);
  }
  return seen;
}

std::vector<Tag> persistentTags(const Model &model, World &world) {
  std::vector<Tag> result;
  for (const Tensor &t : model.persistent) {
    Tag *tags = world.at(t);
    for (int64_t i = 0; tags && i * granule < t.bytes; ++i)
      result.push_back(tags[i]);
  }
  return result;
}

/// One interleaving of the lanes.
class Run {
public:
  Run(const Model &model, const std::vector<Tag> &expected)
      : model(model), expected(expected), queues(model.lanes),
        at(model.lanes, 0), world(makeWorld(model, /*byRoot=*/false)) {
    for (auto [index, item] : llvm::enumerate(model.items))
      queues[item.lane].push_back(index);
  }

  bool done(int lane) const { return at[lane] == queues[lane].size(); }
  const Item &next(int lane) const {
    return model.items[queues[lane][at[lane]]];
  }
  bool blocked(int lane) const {
    return done(lane) ||
           (next(lane).kind == Item::wait && !recorded.count(next(lane).event));
  }
  void step(int lane) {
    const Item &item = next(lane);
    if (item.kind == Item::record)
      recorded.insert(item.event);
    if (item.kind == Item::call) {
      std::optional<Tag> seen = runCall(item, world);
      if (!seen)
        mistake = "a call touches bytes outside its arena";
      else if (*seen != expected[item.number])
        mistake = "call " + std::to_string(item.number) +
                  " reads something else than it should";
    }
    ++at[lane];
  }
  /// Runs only what must precede item `index`, then the item.
  void reach(size_t index) {
    int lane = model.items[index].lane;
    while (!done(lane) && queues[lane][at[lane]] <= index) {
      if (blocked(lane))
        for (auto [r, item] : llvm::enumerate(model.items))
          if (item.kind == Item::record && item.event == next(lane).event)
            reach(r);
      if (blocked(lane))
        return;
      step(lane);
    }
  }
  /// Runs lanes by `choose` until all are done or blocked; `except` rests until
  /// nothing else can run.
  void finish(std::function<unsigned()> choose, int except = -1) {
    while (true) {
      std::vector<int> able;
      for (int lane = 0; lane < model.lanes; ++lane)
        if (!blocked(lane) && lane != except)
          able.push_back(lane);
      if (able.empty() && except >= 0 && !blocked(except))
        able.push_back(except);
      if (able.empty())
        break;
      step(able[choose() % able.size()]);
    }
    for (int lane = 0; lane < model.lanes; ++lane)
      if (!done(lane))
        mistake = "lanes wait for ever";
  }

  const Model &model;
  const std::vector<Tag> &expected;
  std::vector<std::vector<size_t>> queues;
  std::vector<size_t> at;
  std::set<std::string> recorded;
  World world;
  std::string mistake;
};

} // namespace

std::string lwcc::test::findMistake(SequenceOp sequence, unsigned seed) {
  Model model = read(sequence);
  // A wait that is appended before its record waits for nothing on CUDA.
  std::set<std::string> recorded;
  for (const Item &item : model.items) {
    if (item.kind == Item::record)
      recorded.insert(item.event);
    if (item.kind == Item::wait && !recorded.count(item.event))
      return "waits before the record";
  }
  for (const Tensor &t : model.persistent)
    if (t.inArena < 0 || t.inArena + t.bytes > model.arenaBytes[t.device])
      return "a persistent buffer is outside its arena";

  World reference = makeWorld(model, /*byRoot=*/true);
  std::vector<Tag> expected(model.items.size());
  for (const Item &item : model.items)
    if (item.kind == Item::call) {
      std::optional<Tag> seen = runCall(item, reference);
      if (!seen)
        return "a view reaches outside its buffer";
      expected[item.number] = *seen;
    }
  std::vector<Tag> kept = persistentTags(model, reference);

  std::mt19937 random(seed);
  std::string mistake;
  auto attempt = [&](std::function<void(Run &)> strategy) {
    Run run(model, expected);
    strategy(run);
    if (run.mistake.empty() && persistentTags(model, run.world) != kept)
      run.mistake = "a persistent buffer ends with another value";
    mistake = run.mistake;
    return mistake.empty();
  };
  auto first = [] { return 0u; };
  for (auto [index, item] : llvm::enumerate(model.items)) {
    if (item.kind != Item::call)
      continue;
    if (!attempt([&](Run &run) { run.reach(index), run.finish(first); }) ||
        !attempt([&](Run &run) {
          // Everything else first, with the call's lane held back before it.
          while (run.queues[item.lane][run.at[item.lane]] < index &&
                 !run.blocked(item.lane))
            run.step(item.lane);
          run.finish(first, item.lane);
        }))
      return mistake;
  }
  for (int trial = 0; trial < 30; ++trial)
    if (!attempt([&](Run &run) { run.finish([&] { return random(); }); }))
      return mistake;
  return "";
}
