//===- Layout.cpp - Where the buffers of a program lie --------------------===//
//
// What each buffer may take is checked one by one; of persistent buffers, in
// the order of their first bytes, that nothing else reaches into them.
//
//===----------------------------------------------------------------------===//

#include "passes/verify/Layout.h"
#include "ir/Size.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace lwcc;
using namespace lwcc::exec;
using namespace lwcc::proof;

Layout::Layout(ProgramOp program) : program(program), symbols(program) {
  for (auto device : program.getBody().getOps<DeviceOp>()) {
    numbers[device.getSymNameAttr()] = deviceOps.size();
    deviceOps.push_back(device);
  }
}

LogicalResult Layout::find() {
  bool ok = true;
  auto error = [&](Operation *op) {
    ok = false;
    return op->emitOpError();
  };
  // The verifiers of the exec dialect bound the sizes of buffers, and this the
  // arenas: no sum below overflows.
  for (DeviceOp device : deviceOps)
    if (static_cast<int64_t>(device.getArena()) < 0 ||
        static_cast<int64_t>(device.getArena()) > maxBytes)
      error(device) << "has an arena of "
                    << static_cast<int64_t>(device.getArena())
                    << " bytes; expected 0 to " << maxBytes;
  std::vector<llvm::SmallVector<Extent>> roots(deviceOps.size());
  for (auto buffer : program.getBody().getOps<BufferOp>()) {
    auto [root, distance] = rootOf(buffer, symbols);
    int device = numbers.lookup(buffer.getDeviceAttr().getAttr());
    int64_t begin = static_cast<int64_t>(root.getOffset()) + distance;
    int64_t span = spanOf(buffer, symbols);
    Extent extent{buffer, root, device, begin, begin + span};
    extents[buffer.getSymNameAttr()] = extent;

    if (begin % arenaAlignment && !buffer.getWindow())
      error(buffer) << "starts at byte " << begin
                    << ", which is not a multiple of " << arenaAlignment;
    if (buffer != root) {
      if (distance < 0 || distance + span > root.getBytes())
        error(buffer) << "takes bytes " << distance << " to " << distance + span
                      << " of @" << root.getSymName() << ", which has "
                      << root.getBytes();
      continue;
    }
    int64_t arena = deviceOps[device].getArena();
    if (static_cast<int64_t>(buffer.getOffset()) < 0)
      error(buffer) << "has no place in memory yet";
    else if (extent.end > arena)
      error(buffer) << "ends at byte " << extent.end << " of @"
                    << deviceOps[device].getSymName() << ", whose arena has "
                    << arena;
    roots[device].push_back(extent);
  }
  return success(succeeded(checkPersistent(roots)) && ok);
}

/// E4: persistent bytes belong to one buffer, since the next run reads them.
LogicalResult Layout::checkPersistent(
    MutableArrayRef<llvm::SmallVector<Extent>> rootsOfDevices) {
  bool ok = true;
  for (auto &list : rootsOfDevices) {
    llvm::stable_sort(list, [](const Extent &a, const Extent &b) {
      return a.begin < b.begin;
    });
    const Extent *all = nullptr, *persistent = nullptr; // reaching furthest
    for (const Extent &next : list) {
      if (next.begin == next.end)
        continue;
      const Extent *other = next.buffer.isPersistent() ? all : persistent;
      if (other && other->end > next.begin) {
        ok = false;
        next.buffer.emitOpError()
                .append("shares bytes with @", other->buffer.getSymName(),
                        ", and one of them keeps its value between runs")
                .attachNote(other->buffer->getLoc())
            << "the other buffer";
      }
      if (!all || next.end > all->end)
        all = &next;
      if (next.buffer.isPersistent() &&
          (!persistent || next.end > persistent->end))
        persistent = &next;
    }
  }
  return success(ok);
}
