//===- Devices.cpp - Which GPU serves which device of a program -----------===//
//
// What LWCC_DEVICES says, and what holds without it. How many GPUs there are,
// and what each is, is Gpu.cpp's.
//
//===----------------------------------------------------------------------===//

#include "runtime/core/Error.h"
#include "runtime/cuda/Gpu.h"

#include <cstdlib>

using namespace lwcc;
using namespace lwcc::rt;
using namespace lwcc::rt::cuda;

/// The numbers of LWCC_DEVICES, each below `present`.
static std::vector<int> listedDevices(const std::string &list, int present) {
  std::vector<int> devices;
  for (size_t at = 0; at <= list.size();) {
    size_t end = std::min(list.find(',', at), list.size());
    std::string item = list.substr(at, end - at);
    if (item.empty() || item.size() > 4 ||
        item.find_first_not_of("0123456789") != std::string::npos)
      throw Error("LWCC_DEVICES is \"" + list +
                  "\"; it must be GPU numbers with commas between, such as "
                  "0,1");
    int device = std::atoi(item.c_str());
    if (device >= present)
      throw Error("LWCC_DEVICES names GPU " + item + ", this machine has " +
                  std::to_string(present) + ", counted from 0");
    devices.push_back(device);
    at = end + 1;
  }
  return devices;
}

static std::string countOf(int number, const char *what) {
  return std::to_string(number) + " " + what + (number == 1 ? "" : "s");
}

static const char toShare[] =
    "; to share GPUs, say which GPU serves each device, as in "
    "LWCC_DEVICES=0,0,0,0, or ";

std::vector<int> cuda::physicalDevices(const char *text, int logical,
                                       int present) {
  const std::string needs =
      "the program was compiled for " + countOf(logical, "device");
  std::vector<int> devices;
  if (!text || !*text) {
    if (logical > present)
      throw Error(needs + ", this machine has " + countOf(present, "GPU") +
                  toShare + "compile with a smaller --gpus");
    for (int d = 0; d < logical; ++d)
      devices.push_back(d);
    return devices;
  }
  devices = listedDevices(text, present);
  if (static_cast<int>(devices.size()) < logical)
    throw Error(needs + ", LWCC_DEVICES names only " +
                std::to_string(devices.size()) +
                "; name one GPU for each device (repeats are allowed)");
  devices.resize(static_cast<size_t>(logical));
  return devices;
}

std::vector<int> cuda::physicalDevicesOfRank(const char *text,
                                             const Ranks &ranks, int present,
                                             const char *visible) {
  const auto all = static_cast<int>(ranks.ofDevice.size());
  auto isHere = [&](int rank) {
    return rank == ranks.rank || (!ranks.hosts.empty() &&
                                  ranks.hosts[rank] == ranks.hosts[ranks.rank]);
  };
  int own = 0, before = 0; // devices on this machine
  for (int rank : ranks.ofDevice) {
    own += rank == ranks.rank;
    before += rank < ranks.rank && isHere(rank);
  }
  std::vector<int> listed;
  if (text && *text) {
    listed = listedDevices(text, present);
    if (static_cast<int>(listed.size()) < own)
      throw Error("this rank has " + countOf(own, "device") +
                  " of the program's " + std::to_string(all) +
                  ", LWCC_DEVICES names only " + std::to_string(listed.size()) +
                  "; name one GPU for each of them, or for each of all "
                  "(repeats are allowed)");
  } else if (before + own > present && !(visible && own <= present)) {
    throw Error("this rank has " + countOf(own, "device") +
                " of the program's " + std::to_string(all) +
                ", ranks before it on this machine have " +
                std::to_string(before) + ", and the machine has " +
                countOf(present, "GPU") + toShare + "start fewer ranks on it");
  }
  // Whoever lists all devices of the program counts them like the program.
  const bool countsAll = static_cast<int>(listed.size()) >= all;
  // A launcher that shows each rank its own GPUs alone numbers them from 0.
  const int first = before + own <= present ? before : 0;
  std::vector<int> devices;
  for (int device = 0, number = 0; device < all; ++device) {
    if (!ranks.isLocal(device))
      devices.push_back(-1);
    else if (listed.empty())
      devices.push_back(first + number++);
    else
      devices.push_back(listed[countsAll ? device : number++]);
  }
  return devices;
}
