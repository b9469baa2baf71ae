//===- Emulation.h - CUDA on a machine without a GPU ------------*- C++ -*-===//
//
// What the emulated libraries (cuBLASLt, cuDNN) and the tests know of the
// emulation: how host code becomes work on a stream, how it says what memory it
// touches, and where findings go. CUDA's own functions (cuda_runtime_api.h) are
// defined beside this header; their callers need nothing from here.
//
// Work waits in its stream, or in the graph that is being captured, until a
// random scheduler runs it. While it runs, its accesses are checked: inside an
// allocation (and inside a tensor, where a test has put gaps between them),
// initialised before they are read, on a device that the stream's device has
// peer access to, and ordered before or after every other access to the same
// bytes, if one of the two writes.
//
// One host thread at a time calls CUDA. Everything depends on the seed alone.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_TEST_CUDAEMULATION_EMULATION_H
#define LWCC_TEST_CUDAEMULATION_EMULATION_H

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include <cuda_runtime_api.h>

namespace lwcc::emulation {

//===----------------------------------------------------------------------===//
// Work of a library
//===----------------------------------------------------------------------===//

/// A range of device memory that work reads or writes.
struct Access {
  const void *address;
  size_t bytes;
  bool writes;
};

/// Appends work of a library to a stream (null: the current device's default
/// stream), or to the graph that the stream captures; `run` may be called many
/// times, once for each launch of the graph. Each time the accesses come first:
/// all that read, then all that write, whose bytes count as initialised from
/// then on. Ranges of 0 bytes are ignored.
///
/// The answer is a launch's: an error where the stream is of another device
/// than the current one, or its capture has become invalid.
cudaError_t enqueue(cudaStream_t stream, const char *name,
                    std::vector<Access> accesses, std::function<void()> run);

// Inside `run`, for what a list of ranges cannot say: a strided result, memory
// that is read only where it matters. They check and note one access; they
// neither read nor write the bytes themselves. All return false where the
// access was refused, which has been reported: then the memory must not be
// touched.

bool read(const void *address, size_t bytes);
bool write(const void *address, size_t bytes);
/// Work writes what it likes to its workspace: checked as a write, then filled
/// with random bits that count as uninitialised.
bool scribble(void *address, size_t bytes);

//===----------------------------------------------------------------------===//
// What a library asks
//===----------------------------------------------------------------------===//

/// Whether work on this stream is captured rather than run.
bool isCapturing(cudaStream_t stream);
/// The device of a stream; of null, the current device.
int deviceOf(cudaStream_t stream);
/// The next number of the seed's sequence, for choices that a library is free
/// to make (which engine comes first, how large its workspace is).
uint32_t random();
/// LWCC_EMULATION_SEED, or what a test has set.
uint32_t seed();

//===----------------------------------------------------------------------===//
// Findings
//===----------------------------------------------------------------------===//

/// Reports a finding, "NAME: WHAT", once for each piece of work and line of its
/// code, and each text once. From then on
/// every call that waits for the device fails, as it does on a GPU after an
/// illegal access, and the process does not end with 0.
void fault(const std::string &what);

/// All findings so far, in order, each once; and to begin anew, in a test that
/// expects them.
const std::vector<std::string> &faults();
void clearFaults();

//===----------------------------------------------------------------------===//
// Tensors of a test
//===----------------------------------------------------------------------===//

/// From now on nothing may touch these bytes of device memory: a gap between
/// tensors. allow() ends that; what it allows is uninitialised.
void forbid(const void *address, size_t bytes);
void allow(const void *address, size_t bytes);

} // namespace lwcc::emulation

#endif // LWCC_TEST_CUDAEMULATION_EMULATION_H
