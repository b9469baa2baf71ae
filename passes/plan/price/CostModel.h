//===- CostModel.h - How long a kernel takes --------------------*- C++ -*-===//
//
// How long a kernel takes, by a roofline: it computes or it moves bytes,
// whichever takes longer, and takes at least as long as a launch. Libraries
// work in tiles of some tens of rows and columns. So small products reach less
// of the machine's rate than large ones, and how much depends on their shape.
//
// A profile (Profile.h) that knows the kernel answers instead, with measured
// times. The roofline answers for the rest.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_PASSES_PLAN_PRICE_COSTMODEL_H
#define LWCC_PASSES_PLAN_PRICE_COSTMODEL_H

#include "passes/plan/model/LayerGraph.h"
#include "passes/plan/price/Profile.h"

namespace lwcc::plan {

class CostModel {
public:
  /// `precision` is that of products, "fp32" or "tf32". A profile must outlive
  /// the model.
  CostModel(const Machine &machine, llvm::StringRef precision,
            const Profile *profile = nullptr);

  struct Answer {
    double seconds;
    enum { measured, interpolated, analytic } from;
    double deviation = 0; ///< of seconds: a standard one
    /// The parts of the device's processors and of its memory's bandwidth that
    /// the kernel uses when it runs alone (LaneSharing.h).
    double processors = 1, memory = 1;
  };
  Answer answer(const Work &work) const;
  /// The least that a call takes by the machine's data sheet, whatever its
  /// shape: for its arithmetic, and for the bytes that it reads and writes.
  struct Floor {
    double compute = 0, memory = 0; ///< seconds
  };
  Floor floor(const Work &work) const {
    return {work.flops / flops, work.bytes / bandwidth};
  }
  double seconds(const Work &work) const { return answer(work).seconds; }
  /// Seconds that a lane loses whenever it had to wait for another one, and
  /// seconds that every step loses. 0 where they were not measured.
  double waking() const { return measured(Profile::waking); }
  double starting() const { return measured(Profile::starting); }
  /// Whether there is a profile.
  bool isMeasured() const { return profile != nullptr; }
  /// Whether there is a profile, but without times for these devices.
  bool isUnmeasured() const { return profile && !profile->knows(share); }
  /// The same for a program that has only some of the machine's devices: those
  /// of one processor are then larger. Not where only all devices were
  /// measured, since a roofline does not compare with measured times.
  CostModel forDevices(int64_t devices) const;
  /// The same for a lane of a device that several compute lanes share. A lane
  /// of a CPU has this part of the device's threads. Where the profile does not
  /// know parts that large, the nearest ones are taken in proportion. Lanes of
  /// a GPU have all of it, and slow each other down (LaneSharing.h).
  CostModel forLane(double part) const;
  /// Whether lanes of one device have times that were measured: of parts of the
  /// processor, or how much of the GPU calls use.
  bool lanesAreMeasured(int64_t lanes) const;
  /// The part of the machine's rate that a product of this shape reaches.
  static double reached(double m, double n, double k);
  /// What the times come from, for people and for plan files.
  std::string source() const;

private:
  double measured(llvm::StringRef key) const;

  const Profile *profile;
  int64_t nodes;      ///< each with a processor of its own
  int64_t share;      ///< which times of the profile count (Profile.h)
  bool divides;       ///< whether lanes divide the device's threads
  double stretch = 1; ///< of the profile's times
  double flops, bandwidth, launch;
  int64_t processors; ///< of the device; 0: unknown
  std::string name;
};

} // namespace lwcc::plan

#endif // LWCC_PASSES_PLAN_PRICE_COSTMODEL_H
