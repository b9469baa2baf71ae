//===- Accesses.cpp - Who touches which bytes, and when -------------------===//
//
// A call is looked at three times: alone (which of its tensors may share
// bytes), then its reads, then its writes. Of each access the first mistake is
// reported.
//
//===----------------------------------------------------------------------===//

#include "passes/verify/Accesses.h"
#include "ir/train/Interfaces.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace lwcc;
using namespace lwcc::exec;
using namespace lwcc::proof;

Accesses::Accesses(ProgramOp program, const Layout &layout)
    : layout(layout), now(layout.devices()) {
  for (auto buffer : program.getBody().getOps<BufferOp>())
    if (!buffer.getViewOf() && buffer.isPersistent()) {
      const Extent &extent = layout.of(buffer.getSymNameAttr());
      now[extent.device].write(extent, {});
    }
}

LogicalResult Accesses::add(CallOp call, Stamp stamp,
                            const HappensBefore &order) {
  ok = true;
  checkSharing(call);
  int lane = stamp.lane;
  Event event{stamp, call};
  for (const Extent *from : present(call.getIns())) {
    Shadow &shadow = now[from->device];
    checkRead(call, *from, lane, order, shadow);
    for (auto &[start, piece] : shadow.inside(from->begin, from->end)) {
      llvm::erase_if(piece.reads,
                     [&](const Event &e) { return e.stamp.lane == lane; });
      piece.reads.push_back(event);
    }
  }
  for (const Extent *to : present(call.getOuts())) {
    Shadow &shadow = now[to->device];
    checkWrite(call, *to, lane, order, shadow);
    shadow.write(*to, event);
  }
  return success(ok);
}

/// E8: results overlap each other nowhere, and an operand only where the
/// kernel's `sharing` allows it.
void Accesses::checkSharing(CallOp call) {
  auto overlap = [](const Extent &a, const Extent &b) {
    return a.device == b.device && a.begin < b.end && b.begin < a.end;
  };
  const train::Kernel *kernel =
      train::findKernel(call.getContext(), call.getCallee());
  for (size_t r = 0; r < call.getOuts().size(); ++r) {
    const Extent *out = at(call.getOuts(), r);
    if (!out)
      continue;
    for (size_t o = 0; o < r; ++o)
      if (const Extent *other = at(call.getOuts(), o))
        if (overlap(*out, *other))
          error(call) << "writes two results, @" << other->buffer.getSymName()
                      << " and @" << out->buffer.getSymName()
                      << ", to the same bytes";
    for (size_t i = 0; i < call.getIns().size(); ++i) {
      const Extent *in = at(call.getIns(), i);
      if (!in)
        continue;
      bool same = out->device == in->device && out->begin == in->begin &&
                  out->buffer.getType() == in->buffer.getType();
      train::Sharing rule = kernel->sharing(r, i);
      if (rule == train::Sharing::required
              ? same
              : !overlap(*out, *in) ||
                    (same && rule == train::Sharing::allowed))
        continue;
      error(call) << "writes result @" << out->buffer.getSymName()
                  << (rule == train::Sharing::required
                          ? " elsewhere than its operand "
                          : " over its operand ")
                  << "@" << in->buffer.getSymName() << ", which '"
                  << call.getCallee() << "' does not allow";
    }
  }
}

/// E7 and half of E6: the bytes hold a value of the same root buffer, and its
/// write happens before the read.
void Accesses::checkRead(CallOp call, const Extent &from, int lane,
                         const HappensBefore &order, Shadow &shadow) {
  StringRef name = from.buffer.getSymName();
  int64_t hole = shadow.firstHole(from.begin, from.end);
  if (hole < from.end) {
    error(call) << "reads @" << name << " before it is written (byte "
                << hole - from.begin << ")";
    return;
  }
  for (auto &[start, piece] : shadow.inside(from.begin, from.end)) {
    if (piece.owner != from.root) {
      InFlightDiagnostic diagnostic = error(call);
      diagnostic << "reads @" << name << ", but its byte " << start - from.begin
                 << " holds a value of @" << piece.owner.getSymName();
      if (piece.write.call)
        diagnostic.attachNote(piece.write.call.getLoc()) << "written here";
      return;
    }
    if (!order.finished(piece.write.stamp, lane)) {
      error(call)
              .append("reads @", name, " on @", call.getLane(),
                      " while it may still be written")
              .attachNote(piece.write.call.getLoc())
          << "written here on @" << piece.write.call.getLane();
      return;
    }
  }
}

/// The other half of E6: every earlier access to the bytes happens before the
/// write.
void Accesses::checkWrite(CallOp call, const Extent &to, int lane,
                          const HappensBefore &order, Shadow &shadow) {
  StringRef name = to.buffer.getSymName();
  for (auto &[start, piece] : shadow.inside(to.begin, to.end)) {
    if (!order.finished(piece.write.stamp, lane)) {
      error(call)
              .append("writes @", name, " on @", call.getLane(), " while @",
                      piece.owner.getSymName(),
                      " may still be written in the same bytes")
              .attachNote(piece.write.call.getLoc())
          << "written here on @" << piece.write.call.getLane();
      return;
    }
    for (Event &read : piece.reads)
      if (!order.finished(read.stamp, lane)) {
        error(call)
                .append("writes @", name, " on @", call.getLane(), " while @",
                        piece.owner.getSymName(),
                        " may still be read from the same bytes")
                .attachNote(read.call.getLoc())
            << "read here on @" << read.call.getLane();
        return;
      }
  }
}

int64_t Accesses::written(BufferOp buffer) {
  const Extent &extent = layout.of(buffer.getSymNameAttr());
  int64_t bytes = 0;
  for (auto &[start, piece] :
       now[extent.device].inside(extent.begin, extent.end))
    if (piece.write.call)
      bytes += piece.end - start;
  return bytes;
}
