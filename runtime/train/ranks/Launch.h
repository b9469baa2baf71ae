//===- Launch.h - Which rank this process is --------------------*- C++ -*-===//
//
// Ranks are started by `--ranks=N` on this machine, or by whatever starts
// programs on many. Then the environment says which one a process is. The first
// row that is set is believed:
//
//   LWCC_RANK, LWCC_RANKS, LWCC_ADDRESS  by hand, and by --ranks
//   RANK, WORLD_SIZE, MASTER_ADDR/PORT   torchrun
//   OMPI_COMM_WORLD_RANK, ..._SIZE       OpenMPI's mpirun
//   PMI_RANK, PMI_SIZE                   MPICH's mpiexec
//   SLURM_PROCID, SLURM_NTASKS           srun
//
// Where the environment does not say where rank 0 is, LWCC_ADDRESS=HOST:PORT
// does. All ranks need the same LWCC_SECRET: what reaches the port without it
// is turned away. It is no encryption: the network between ranks must be
// private.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_RUNTIME_TRAIN_RANKS_LAUNCH_H
#define LWCC_RUNTIME_TRAIN_RANKS_LAUNCH_H

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace lwcc::rt::train {

struct Launch {
  int rank = 0;
  int count = 1;
  std::string host; ///< of rank 0
  int port = 0;     ///< 0: any, and rank 0 starts the others
  std::string secret;
  std::string by; ///< who says so, for people
};

using Environment = std::function<const char *(const char *name)>;

/// None: one process runs all devices. `ranks` is --ranks, 0 where it was not
/// given. Throws Error: what is missing, or contradicts itself.
std::optional<Launch> findLaunch(int64_t ranks, const Environment &environment);

/// A text that nobody guesses.
std::string drawSecret();

/// How long ranks wait for each other at the start: LWCC_START_SECONDS, or 60
/// s.
std::chrono::seconds startPatience();

} // namespace lwcc::rt::train

#endif // LWCC_RUNTIME_TRAIN_RANKS_LAUNCH_H
