//===- MachineCommand.cpp - lwcc machine ----------------------------------===//
//
// The command line that shows the machines plans can be priced for, and
// describes the one that it runs on.
//
//===----------------------------------------------------------------------===//

#include "tools/driver/Driver.h"
#include "tools/driver/Output.h"
#include "tools/lwcc/Probe.h"
#include "tools/lwcc/Subcommands.h"
#include "tools/lwcc/ThisMachine.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

using namespace lwcc;
namespace cl = llvm::cl;

namespace {
struct MachineFlags : private ForgetLibraryOptions {
  cl::OptionCategory category{"Options"};
  cl::opt<std::string> name{cl::Positional, cl::desc("<machine>"),
                            cl::cat(category)};
  cl::opt<bool> list{"list", cl::desc("Print the built-in machines"),
                     cl::cat(category)};
  cl::opt<bool> probe{
      "probe",
      cl::desc("Measure the machine that this runs on: takes some seconds on "
               "a CPU, with GPUs some minutes"),
      cl::cat(category)};
  cl::opt<std::string> target{
      "target", cl::value_desc("cuda|cpu"),
      cl::desc("With --probe: what to measure (default: cuda, or cpu where "
               "there is neither nvcc nor a GPU)"),
      cl::cat(category)};
  cl::opt<int64_t> gpus{"gpus", cl::init(0), cl::value_desc("N"),
                        cl::desc("With --probe: as if there were so many "
                                 "devices (default: the GPUs, or the cores)"),
                        cl::cat(category)};
  cl::opt<bool> ranks{"ranks",
                      cl::desc("With --probe --target=cpu: measure what two "
                               "processes take to exchange, as the network"),
                      cl::cat(category)};
  cl::opt<std::string> network{
      "network", cl::value_desc("LOG"),
      cl::desc("With --probe: the network is as a program measured it between "
               "machines (./trainer --benchmark=N --log=LOG, started on all)"),
      cl::cat(category)};
  cl::opt<std::string> output{
      "o", cl::value_desc("FILE"),
      cl::desc("With --probe: where to write, - for the standard output "
               "(default: where lwcc looks if it is given no --machine)"),
      cl::cat(category)};
};
} // namespace

static void printList() {
  llvm::outs() << "machine     devices   fp32, Tflop/s   tf32   memory, GB/s   "
                  "GiB   launch, us   link, GB/s   us   network, GB/s   us\n";
  auto link = [](const plan::Link &link) -> std::string {
    return link.bandwidth > 0
               ? llvm::formatv("{0,12:f1}{1,5:f0}", link.bandwidth / 1e9,
                               link.latency * 1e6)
                     .str()
               : "           -    -";
  };
  for (const plan::Machine &m : plan::knownMachines()) {
    const plan::Device &d = m.device;
    std::string devices =
        m.nodes > 1 ? llvm::formatv("{0} x {1}", m.nodes, m.gpus).str()
                    : std::to_string(m.gpus);
    llvm::outs() << llvm::formatv(
        "{0,-12}{1,7}{2,16:f2}{3,7:f2}{4,15:f0}{5,6}{6,13:f1} {7}    {8}\n",
        m.name, devices, d.fp32 / 1e12, d.tf32 / 1e12, d.bandwidth / 1e9,
        d.memory >> 30, d.launch * 1e6, link(m.link), link(m.network));
  }
  llvm::outs() << "rates as libraries reach them; the devices of 'cpu' share "
                  "one processor\n";
}

static int writeProbed(const MachineFlags &flags, Target target) {
  std::string file = flags.output.getValue();
  if (file.empty())
    file = probedFile(target);
  if (file.empty())
    return complain("no home folder is known; add -o FILE");
  const bool toFile = file != "-";
  if (flags.output.empty())
    if (std::error_code code = llvm::sys::fs::create_directories(
            llvm::sys::path::parent_path(file)))
      return complain("cannot write " + file + ": " + code.message());
  if (toFile)
    if (llvm::Error error = checkOutput(file))
      return complain(std::move(error));
  plan::Link network;
  if (!flags.network.empty()) {
    llvm::Expected<plan::Link> logged = networkFromLog(flags.network);
    if (!logged)
      return complain(logged.takeError());
    network = *logged;
  }
  llvm::Expected<plan::Machine> machine =
      probe(target, flags.gpus, flags.ranks);
  if (!machine)
    return complain(machine.takeError());
  if (network.bandwidth > 0)
    machine->network = network;
  std::string text = plan::toJson(*machine);
  if (!toFile) {
    llvm::outs() << text;
    return 0;
  }
  if (llvm::Error error = writeFile(file, text))
    return complain(std::move(error));
  llvm::outs() << file << "\n";
  return 0;
}

int lwcc::machineMain(int argc, char **argv) {
  MachineFlags flags;
  std::vector<std::string> mistakes = parseFlags(
      argc, argv,
      "lwcc machine: what plans are priced for. NAME prints a built-in "
      "machine as a file\nfor --machine, to start from.\n",
      flags.category);
  for (const std::string &mistake : mistakes)
    complain(mistake);
  if (!mistakes.empty())
    return 1;
  if (!flags.name.empty() + flags.list + flags.probe != 1)
    return complain("lwcc machine: expected one of NAME, --list and --probe");
  if (flags.list) {
    printList();
    return 0;
  }
  if (flags.probe) {
    std::optional<Target> target = targetOf(flags.target, "measuring the CPU");
    if (!target)
      return 1;
    if (flags.gpus.getNumOccurrences() && (flags.gpus < 1 || flags.gpus > 64))
      return complain("--gpus=" + llvm::Twine(flags.gpus) +
                      ": expected 1 to 64");
    return writeProbed(flags, *target);
  }
  const plan::Machine *known = plan::findMachine(flags.name);
  if (!known)
    return complain("no machine '" + flags.name +
                    "' is built in; lwcc machine --list prints those that are");
  llvm::outs() << plan::toJson(*known);
  return 0;
}
