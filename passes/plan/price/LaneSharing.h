//===- LaneSharing.h - Calls that run at once on one device -----*- C++ -*-===//
//
// How quick calls are that several lanes of a device run at once. Each call has
// a time that it takes alone, and the parts of the device's processors and of
// its memory's bandwidth that it then uses. As long as no sum of these parts
// exceeds 1, calls do not feel each other. Else all calls of the device are
// slower by that sum: processor sharing.
//
// ProgramTime.h plays programs by this, and solve/Lanes.h chooses lanes by it.
// Lanes of a CPU have threads of their own and use no common part.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_PASSES_PLAN_PRICE_LANESHARING_H
#define LWCC_PASSES_PLAN_PRICE_LANESHARING_H

#include <optional>
#include <utility>
#include <vector>

namespace lwcc::plan {

/// The parts of a device that a call uses when it runs alone, 0 to 1.
struct DeviceUse {
  double processors = 0, memory = 0;
};

class LaneSharing {
public:
  /// `deviceOf`: the device of each lane, a small number.
  explicit LaneSharing(std::vector<int> deviceOf);

  /// A call starts now on a lane that runs none. Alone it takes `seconds`.
  void start(int lane, double seconds, DeviceUse use);
  /// The lane whose call ends first, and when, if no other call starts before.
  std::optional<std::pair<int, double>> nextEnd() const;
  /// Goes on to a time that is not behind the next end.
  void advance(double to);
  /// Removes the call of a lane, which has ended now.
  void finish(int lane);
  bool isRunning(int lane) const { return calls[lane].isRunning; }
  double now() const { return time; }

private:
  struct Call {
    bool isRunning = false;
    double left = 0; ///< seconds that it would still take alone
    DeviceUse use;
  };
  void setSlowdown(int device);

  double time = 0;
  std::vector<int> deviceOf;
  std::vector<Call> calls;      ///< by lane
  std::vector<double> slowdown; ///< by device, at least 1
};

} // namespace lwcc::plan

#endif // LWCC_PASSES_PLAN_PRICE_LANESHARING_H
