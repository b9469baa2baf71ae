//===- Launch.cpp - Which rank this process is ----------------------------===//

#include "runtime/train/ranks/Launch.h"

#include "runtime/core/Error.h"

#include <cctype>
#include <charconv>
#include <cstdlib>

#include <sys/random.h>

namespace lwcc::rt::train {

namespace {
/// How a launcher says which rank a process is.
struct Launcher {
  const char *name, *rank, *count;
};
constexpr Launcher launchers[] = {
    {"LWCC_RANK", "LWCC_RANK", "LWCC_RANKS"},
    {"torchrun", "RANK", "WORLD_SIZE"},
    {"mpirun", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
    {"mpiexec", "PMI_RANK", "PMI_SIZE"},
    {"srun", "SLURM_PROCID", "SLURM_NTASKS"},
};
constexpr int mostRanks = 65536, mostPorts = 65535;
} // namespace

static std::string valueOf(const Environment &environment, const char *name) {
  const char *value = environment(name);
  return value ? value : "";
}

/// The whole text as a number from 0 to `most`, or -1.
static int numberOf(const std::string &text, int most) {
  int value = -1;
  auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() &&
                 value <= most
             ? value
             : -1;
}

static int numberIn(const Environment &environment, const char *name,
                    int most) {
  const std::string text = valueOf(environment, name);
  const int value = numberOf(text, most);
  if (value < 0)
    throw Error(std::string(name) + "=" + text +
                ": expected a number from 0 to " + std::to_string(most));
  return value;
}

/// The first of Slurm's list: of "node[03-07,9],gpu1" it is node03.
static std::string firstNode(const std::string &list) {
  const size_t bracket = list.find('['), comma = list.find(',');
  if (bracket == std::string::npos || comma < bracket)
    return list.substr(0, comma);
  size_t end = bracket + 1;
  while (end < list.size() &&
         std::isdigit(static_cast<unsigned char>(list[end])))
    ++end;
  return list.substr(0, bracket) + list.substr(bracket + 1, end - bracket - 1);
}

/// Fills in where rank 0 is.
static void findAddress(Launch &launch, const Environment &environment) {
  if (std::string given = valueOf(environment, "LWCC_ADDRESS");
      !given.empty()) {
    const size_t colon = given.rfind(':');
    launch.host = given.substr(0, colon);
    launch.port = colon == std::string::npos
                      ? -1
                      : numberOf(given.substr(colon + 1), mostPorts);
    if (launch.host.starts_with('[') && launch.host.ends_with(']'))
      launch.host = launch.host.substr(1, launch.host.size() - 2); // IPv6
    if (launch.host.empty() || launch.port < 1)
      throw Error("LWCC_ADDRESS=" + given + ": expected HOST:PORT of rank 0");
    return;
  }
  if (std::string master = valueOf(environment, "MASTER_ADDR");
      launch.by == "torchrun" && !master.empty()) {
    launch.host = master;
    // At the port itself torchrun's agent may listen.
    launch.port = numberIn(environment, "MASTER_PORT", mostPorts - 1) + 1;
    return;
  }
  if (std::string nodes = valueOf(environment, "SLURM_STEP_NODELIST");
      launch.by == "srun" && !nodes.empty()) {
    launch.host = firstNode(nodes);
    launch.port =
        20000 + std::atoi(valueOf(environment, "SLURM_JOB_ID").c_str()) % 10000;
    return;
  }
  throw Error(launch.by + " does not say where rank 0 is: set LWCC_ADDRESS to "
                          "HOST:PORT of it, the same for all ranks");
}

std::optional<Launch> findLaunch(int64_t ranks,
                                 const Environment &environment) {
  for (const Launcher &launcher : launchers) {
    if (!environment(launcher.rank) || !environment(launcher.count))
      continue;
    Launch launch;
    launch.by = launcher.name;
    launch.count = numberIn(environment, launcher.count, mostRanks);
    launch.rank = numberIn(environment, launcher.rank, mostRanks);
    if (launch.rank >= launch.count)
      throw Error(std::string(launcher.rank) + "=" +
                  std::to_string(launch.rank) + ", but " + launcher.count +
                  "=" + std::to_string(launch.count) +
                  ": ranks are counted from 0");
    if (ranks > 0 && ranks != launch.count)
      throw Error("--ranks=" + std::to_string(ranks) + ": " + launch.by +
                  " has started " + std::to_string(launch.count) +
                  "; leave the flag out");
    if (launch.count == 1)
      return std::nullopt;
    findAddress(launch, environment);
    launch.secret = valueOf(environment, "LWCC_SECRET");
    if (launch.secret.empty())
      throw Error("LWCC_SECRET is not set: give all ranks the same text that "
                  "nobody else knows (openssl rand -hex 16)");
    return launch;
  }
  if (ranks <= 1)
    return std::nullopt;
  Launch launch;
  launch.count = static_cast<int>(ranks);
  launch.host = "127.0.0.1";
  launch.secret = drawSecret();
  launch.by = "--ranks";
  return launch;
}

std::string drawSecret() {
  unsigned char bytes[16];
  if (::getrandom(bytes, sizeof bytes, 0) != sizeof bytes)
    throw Error("the system draws no random numbers");
  std::string text;
  for (unsigned char byte : bytes) {
    text += "0123456789abcdef"[byte >> 4];
    text += "0123456789abcdef"[byte & 15];
  }
  return text;
}

std::chrono::seconds startPatience() {
  const char *text = std::getenv("LWCC_START_SECONDS");
  const int seconds = text ? std::atoi(text) : 0;
  return std::chrono::seconds(seconds > 0 ? seconds : 60);
}

} // namespace lwcc::rt::train
