//===- Team.cpp - What ranks agree on before they start -------------------===//

#include "runtime/train/ranks/Team.h"

#include "runtime/train/files/Text.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <thread>

#include <unistd.h>

namespace lwcc::rt::train {

namespace {
/// 64-bit FNV-1a (Fowler, Noll, Vo), of words rather than bytes: programs hold
/// their weights, which may be gigabytes.
class Hash {
public:
  void add(const void *data, size_t bytes) {
    const auto *at = static_cast<const char *>(data);
    for (; bytes > 0; at += sizeof(uint64_t)) {
      uint64_t word = 0;
      const size_t here = std::min(bytes, sizeof word);
      std::memcpy(&word, at, here);
      bytes -= here;
      value = (value ^ word) * 0x100000001b3;
      value ^= value >> 32; // products carry upwards only
    }
  }
  uint64_t value = 0xcbf29ce484222325;
};
} // namespace

/// Of the file, and of what lwcc-run makes of a model: the same file may plan
/// in another way where a search is ended by time.
static uint64_t hashOfProgram(const Program &program) {
  std::ifstream file("/proc/self/exe", std::ios::binary);
  Hash hash;
  std::vector<char> block(1 << 20);
  auto add = [&](const auto &value) { hash.add(&value, sizeof value); };
  auto addText = [&](const std::string &text) {
    hash.add(text.data(), text.size());
  };
  addText(program.modelHash);
  addText(program.plan);
  add(program.batch);
  add(program.machine.events);
  for (const DeviceSpec &device : program.machine.devices)
    add(device.arenaBytes);
  for (const LaneSpec &lane : program.machine.lanes)
    addText(lane.name);
  for (const StateTensor &state : program.state)
    for (const Shard &shard : state.tensor.shards) {
      add(shard.ref.device);
      add(shard.ref.offset);
    }
  while (file.read(block.data(), static_cast<std::streamsize>(block.size())) ||
         file.gcount() > 0)
    hash.add(block.data(), static_cast<size_t>(file.gcount()));
  return hash.value;
}

std::string Hello::packed() const {
  return PacketWriter()
      .text(secret)
      .number(rank)
      .number(count)
      .number(binary)
      .text(compiler)
      .text(model)
      .text(host)
      .text(kernel)
      .number(cores)
      .bytes;
}

Hello Hello::from(std::string_view bytes) {
  PacketReader reader(bytes);
  Hello hello;
  hello.secret = reader.text();
  hello.rank = reader.number<int32_t>();
  hello.count = reader.number<int32_t>();
  hello.binary = reader.number<uint64_t>();
  hello.compiler = reader.text();
  hello.model = reader.text();
  hello.host = reader.text();
  hello.kernel = reader.text();
  hello.cores = reader.number<int32_t>();
  return hello;
}

Hello describeRank(const Launch &launch, const Program &program) {
  Hello hello{
      launch.secret,    launch.rank,   launch.count, hashOfProgram(program),
      program.compiler, program.model, {},           {}};
  char name[256] = {};
  if (::gethostname(name, sizeof name - 1) == 0)
    hello.host = name;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> hello.kernel;
  if (hello.kernel.empty())
    hello.kernel = hello.host;
  const char *wanted = std::getenv("OMP_NUM_THREADS");
  hello.cores =
      wanted && std::atoi(wanted) > 0
          ? std::atoi(wanted)
          : static_cast<int>(std::max(std::thread::hardware_concurrency(), 1u));
  return hello;
}

std::string Welcome::packed() const {
  PacketWriter writer;
  writer.number(threads).number(static_cast<uint64_t>(flags.size()));
  for (const auto &[name, text] : flags)
    writer.text(name).text(text);
  return writer.bytes;
}

Welcome Welcome::from(std::string_view bytes) {
  PacketReader reader(bytes);
  Welcome welcome;
  welcome.threads = reader.number<int32_t>();
  for (auto left = reader.number<uint64_t>(); left > 0; --left) {
    std::string name = reader.text();
    welcome.flags.emplace_back(std::move(name), reader.text());
  }
  return welcome;
}

DataMark markOf(const Program &program, const DataSource &source) {
  constexpr int64_t most = 256;
  DataMark mark{source.size(), 0};
  if (!program.lossName.empty())
    return mark; // of numbers: reading them is reading the data
  Hash hash;
  const int64_t step = std::max<int64_t>(source.size() / most, 1);
  for (int64_t i = 0; i < source.size(); i += step) {
    const int32_t label = source.label(i);
    hash.add(&label, sizeof label);
  }
  mark.labels = hash.value;
  return mark;
}

std::vector<int> ranksOfDevices(const MachineSpec &machine, int count) {
  const auto devices = static_cast<int>(machine.devices.size());
  if (count > devices)
    throw Error(plural(count, "rank") + ": this program is for " +
                plural(devices, "device") + ", and a rank has at least one; " +
                "start fewer, or compile for more (lwcc --gpus)");
  std::vector<int> ranks(devices);
  for (int device = 0; device < devices; ++device)
    ranks[device] = static_cast<int>(int64_t(device) * count / devices);
  for (int rank = 0; rank < count; ++rank)
    if (std::none_of(
            machine.lanes.begin(), machine.lanes.end(),
            [&](const LaneSpec &lane) { return ranks[lane.device] == rank; }))
      throw Error("rank " + std::to_string(rank) +
                  " would have nothing to do: the plan leaves its devices "
                  "idle; start fewer ranks");
  return ranks;
}

std::string rankText(int rank, const std::string &host) {
  return "rank " + std::to_string(rank) + " (" + host + ")";
}

} // namespace lwcc::rt::train
