//===- Team.h - What ranks agree on before they start -----------*- C++ -*-===//
//
// What every rank says of itself, what rank 0 tells all, and which devices each
// has. Rank 0 gathers (Leader.h), the others answer (Follower.h).
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_RUNTIME_TRAIN_RANKS_TEAM_H
#define LWCC_RUNTIME_TRAIN_RANKS_TEAM_H

#include "runtime/core/Program.h"
#include "runtime/train/data/DataSource.h"
#include "runtime/train/ranks/Launch.h"
#include "runtime/train/ranks/Packet.h"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace lwcc::rt::train {

/// The first message of a rank.
struct Hello {
  std::string secret;
  int32_t rank = 0, count = 0;
  uint64_t binary = 0;  ///< hash of the program
  std::string compiler; ///< "lwcc 0.1.0"
  std::string model;
  std::string host;   ///< its name
  std::string kernel; ///< equal where two ranks share a machine
  int32_t cores = 1;

  std::string packed() const;
  /// Throws Error.
  static Hello from(std::string_view bytes);
};

/// Of this process.
Hello describeRank(const Launch &launch, const Program &program);

/// The answer.
struct Welcome {
  int32_t threads = 0; ///< of all ranks
  /// Flags of the training, as a checkpoint remembers them.
  std::vector<std::pair<std::string, std::string>> flags;

  std::string packed() const;
  static Welcome from(std::string_view bytes);
};

/// What data a rank has found. Equal for equal data, and seldom for other.
struct DataMark {
  int64_t samples = 0;
  uint64_t labels = 0; ///< hash of some
  bool operator==(const DataMark &) const = default;
};
DataMark markOf(const Program &program, const DataSource &source);

/// The rank of each device: as many devices for each as for the others, or one
/// more, neighbours together, so that ranks are nodes where there are as many.
/// Throws Error: more ranks than devices, or one whose devices do nothing.
std::vector<int> ranksOfDevices(const MachineSpec &machine, int count);

/// "rank 2 (node7)"
std::string rankText(int rank, const std::string &host);

} // namespace lwcc::rt::train

#endif // LWCC_RUNTIME_TRAIN_RANKS_TEAM_H
