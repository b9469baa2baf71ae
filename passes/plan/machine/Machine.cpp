//===- Machine.cpp - What a plan runs on ----------------------------------===//

#include "passes/plan/machine/Machine.h"
#include "ir/InputFile.h"
#include "ir/json/JsonFields.h"
#include "ir/json/JsonWriter.h"
#include "ir/json/ParseJson.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/raw_ostream.h"

using namespace lwcc;
using namespace lwcc::plan;

Place Machine::place(int64_t i) const {
  int64_t device = i % devices();
  return {device / gpus, device % gpus, 0};
}

std::vector<Place> Machine::placesInTurn(int64_t count) const {
  std::vector<Place> places;
  for (int64_t i = 0; i < count; ++i)
    places.push_back(place(i));
  return places;
}

std::vector<LinkLevel> Machine::links() const {
  std::vector<LinkLevel> levels = {{1, link}};
  if (uplink.devices > 0 && uplink.devices < devices())
    levels.push_back(uplink);
  if (nodes > 1)
    levels.push_back({gpus, network});
  return levels;
}

//===----------------------------------------------------------------------===//
// Built-in machines
//===----------------------------------------------------------------------===//

static constexpr double giga = 1e9, tera = 1e12;
static constexpr int64_t gibi = int64_t(1) << 30;

/// From the peak rates of a data sheet, of which libraries reach four fifths.
static Device gpuOf(double fp32, double tf32, double bandwidth, int64_t gibis,
                    double launch) {
  return {0.8 * fp32, 0.8 * tf32, 0.8 * bandwidth, gibis * gibi, launch};
}

static Machine nodesOf(llvm::StringRef name, int64_t nodes, int64_t gpus,
                       const Device &device, Link link, Link network = {}) {
  Machine machine;
  machine.name = name.str();
  machine.nodes = nodes;
  machine.gpus = gpus;
  machine.device = device;
  machine.link = link;
  machine.network = nodes > 1 ? network : Link{};
  // Miao et al. 2022 (Galvatron) measured 1.1 to 1.3 for both together.
  machine.transferSlowdown = 0.2;
  return machine;
}

const std::vector<Machine> &lwcc::plan::knownMachines() {
  // P100 and K80 have no tf32.
  static const std::vector<Machine> machines = [] {
    Device p100 = gpuOf(10.6 * tera, 10.6 * tera, 732 * giga, 16, 6e-6);
    Device k80 = gpuOf(2.8 * tera, 2.8 * tera, 240 * giga, 12, 8e-6);
    Device h200 = gpuOf(67 * tera, 494 * tera, 4.8 * tera, 139, 3e-6);
    p100.processors = 56;
    k80.processors = 13;
    h200.processors = 132;
    Link nvlink1{40 * giga, 10e-6}, nvlink4{450 * giga, 4e-6};
    Link pcie{10 * giga, 15e-6};
    Link edr{12.5 * giga, 20e-6}, fdr{7 * giga, 20e-6};
    Link ndr{400 * giga, 10e-6}; // eight adapters a node
    Machine cpu = nodesOf("cpu", 1, 64,
                          {160 * giga, 160 * giga, 24 * giga, 64 * gibi, 10e-6},
                          {10 * giga, 20e-6});
    cpu.oneProcessor = true;
    cpu.transferSlowdown = 1; // its cores copy
    // Adjacent ones have a switch, these a common one (FlexFlow, 8).
    Machine k80s = nodesOf("k80-16x4", 16, 4, k80, pcie, fdr);
    k80s.uplink = {2, pcie};
    return std::vector<Machine>{
        nodesOf("h200x1", 1, 1, h200, nvlink4),
        nodesOf("h200x4", 1, 4, h200, nvlink4),
        nodesOf("h200x8", 1, 8, h200, nvlink4),
        nodesOf("h200-8x8", 8, 8, h200, nvlink4, ndr),
        // The clusters of OptCNN and FlexFlow (Jia et al., 2018 and 2019).
        nodesOf("p100-4x4", 4, 4, p100, nvlink1, edr),
        k80s,
        cpu,
    };
  }();
  return machines;
}

const Machine *lwcc::plan::findMachine(llvm::StringRef name) {
  auto row = llvm::find_if(knownMachines(),
                           [&](const Machine &m) { return m.name == name; });
  return row == knownMachines().end() ? nullptr : &*row;
}

//===----------------------------------------------------------------------===//
// Files
//===----------------------------------------------------------------------===//

static void writeLink(JsonWriter &json, const Link &link) {
  json.numberMember("bandwidth", link.bandwidth);
  json.numberMember("latency", link.latency);
}

std::string lwcc::plan::toJson(const Machine &m) {
  std::string text;
  llvm::raw_string_ostream os(text);
  JsonWriter json(os);
  auto line = [&](llvm::StringRef name, JsonWriter::Content content) {
    json.objectMember(name, JsonWriter::oneLine, content);
  };
  json.object(JsonWriter::lines, [&] {
    json.member("version", 1);
    json.textMember("name", m.name);
    json.member("nodes", m.nodes);
    json.stayOnLine();
    json.member("gpus", m.gpus);
    line("device", [&] {
      json.numberMember("fp32", m.device.fp32);
      json.numberMember("tf32", m.device.tf32);
      json.numberMember("bandwidth", m.device.bandwidth);
      json.member("memory", m.device.memory);
      json.numberMember("launch", m.device.launch);
      if (m.device.processors > 0)
        json.member("processors", m.device.processors);
    });
    if (m.link.bandwidth > 0)
      line("link", [&] { writeLink(json, m.link); });
    if (m.uplink.devices > 0)
      line("switch", [&] {
        json.member("gpus", m.uplink.devices);
        writeLink(json, m.uplink.link);
      });
    if (m.network.bandwidth > 0)
      line("network", [&] { writeLink(json, m.network); });
    if (m.oneProcessor)
      json.member("one_processor", true);
    if (m.transferSlowdown > 0)
      json.numberMember("transfer_slowdown", m.transferSlowdown);
  });
  os << "\n";
  return text;
}

/// A bandwidth must be something; a latency may be nothing.
static void readLink(JsonFields &fields, Link &link) {
  link.bandwidth = fields.positive("bandwidth");
  link.latency = fields.notNegative("latency", 0);
  fields.finish();
}

static void readMachine(JsonFields &fields, Machine &machine,
                        std::vector<std::string> &mistakes) {
  fields.expectVersion(1);
  machine.name = fields.text("name");
  machine.nodes = fields.count("nodes", 1);
  machine.gpus = fields.count("gpus", 1);
  machine.oneProcessor = fields.flag("one_processor");
  machine.transferSlowdown = fields.notNegative("transfer_slowdown", 0);
  if (auto device = fields.object("device", /*needed=*/true)) {
    machine.device.fp32 = device->positive("fp32");
    machine.device.tf32 = device->positiveOr("tf32", machine.device.fp32);
    machine.device.bandwidth = device->positive("bandwidth");
    machine.device.memory = static_cast<int64_t>(
        std::min(device->positive("memory"), 1e18)); // more is as good as none
    machine.device.launch = device->notNegative("launch", 0);
    machine.device.processors = device->count("processors", 0, /*least=*/0);
    device->finish();
  }
  // Devices that no link joins could exchange nothing.
  if (auto network = fields.object("network", machine.nodes > 1))
    readLink(*network, machine.network);
  // A node's only device has its network to itself.
  machine.link = machine.network;
  if (auto link = fields.object("link", machine.gpus > 1))
    readLink(*link, machine.link);
  if (auto uplink = fields.object("switch", /*needed=*/false)) {
    machine.uplink.devices = uplink->count("gpus", 1);
    readLink(*uplink, machine.uplink.link);
    if (machine.gpus % machine.uplink.devices)
      mistakes.push_back(llvm::formatv(
          "\"switch.gpus\" is {0}, which does not divide the {1} of a node",
          machine.uplink.devices, machine.gpus));
  }
  fields.finish();
}

std::vector<std::string> lwcc::plan::machineFromJson(llvm::StringRef text,
                                                     Machine &machine) {
  return readFields(
      text, [&](JsonFields &fields, std::vector<std::string> &mistakes) {
        readMachine(fields, machine, mistakes);
      });
}

/// So many devices on each of so many nodes. Returns why not, or "".
static std::string spreadOver(int64_t nodes, int64_t gpus,
                              llvm::StringRef nameOrFile, Machine &machine) {
  constexpr Link ethernet{1.25 * giga, 50e-6};
  const bool isDefault = nameOrFile.empty();
  if (gpus % nodes != 0)
    return llvm::formatv(
        "--gpus={0} are not equally many on each of --nodes={1}", gpus, nodes);
  if (!isDefault && gpus / nodes > machine.gpus)
    return llvm::formatv("a node of machine '{0}' has {1} devices, fewer than "
                         "--gpus={2} on --nodes={3} need",
                         nameOrFile, machine.gpus, gpus, nodes);
  // Of a machine that is one node, there may be more.
  if (machine.nodes > 1 && nodes > machine.nodes)
    return llvm::formatv("machine '{0}' has {1} nodes, fewer than --nodes={2}",
                         nameOrFile, machine.nodes, nodes);
  if (machine.network.bandwidth == 0)
    machine.network = ethernet;
  machine.nodes = nodes;
  machine.gpus = gpus / nodes;
  if (machine.gpus == 1 && nodes > 1)
    machine.link = machine.network; // it has that to itself
  return "";
}

std::vector<std::string> lwcc::plan::findDevices(llvm::StringRef nameOrFile,
                                                 int64_t gpus, Machine &machine,
                                                 int64_t nodes) {
  bool isDefault = nameOrFile.empty();
  if (const Machine *known = findMachine(isDefault ? "h200x8" : nameOrFile)) {
    machine = *known;
  } else if (auto buffer = readInput(nameOrFile, mostJsonBytes)) {
    std::vector<std::string> mistakes =
        machineFromJson((*buffer)->getBuffer(), machine);
    for (std::string &mistake : mistakes)
      mistake = llvm::formatv("machine '{0}': {1}", nameOrFile, mistake);
    if (!mistakes.empty())
      return mistakes;
  } else {
    std::string text =
        llvm::formatv("no machine '{0}': {1}; built in:", nameOrFile,
                      llvm::toString(buffer.takeError()));
    for (const Machine &row : knownMachines())
      text += " " + row.name;
    return {text};
  }
  if (nodes > 0) {
    if (std::string mistake = spreadOver(nodes, gpus, nameOrFile, machine);
        !mistake.empty())
      return {mistake};
  } else if (!isDefault && gpus > machine.devices()) {
    return {
        llvm::formatv("machine '{0}' has {1} devices, fewer than --gpus={2}",
                      nameOrFile, machine.devices(), gpus)};
  } else if (isDefault || gpus <= machine.gpus) {
    machine.nodes = 1;
    machine.gpus = gpus;
  } else if (gpus % machine.gpus == 0) {
    machine.nodes = gpus / machine.gpus;
  } else {
    return {llvm::formatv("--gpus={0} is no number of whole nodes of machine "
                          "'{1}', which have {2}",
                          gpus, nameOrFile, machine.gpus)};
  }
  if (machine.oneProcessor)
    machine.device.memory /= machine.gpus;
  return {};
}
