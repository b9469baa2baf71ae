//===- CostModel.h - How long a kernel takes --------------------*- C++ -*-===//
//
// A roofline: a kernel computes or it moves bytes, whichever takes longer, and
// starts no sooner than a launch allows. How much of the machine's rate a
// product reaches depends on its shape: libraries work in tiles of some tens of
// rows and columns, so that small tiles are not proportionally cheap.
//
// Or measured times, where a profile (Profile.h) knows the kernel; the roofline
// answers for the others.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_PASSES_PLAN_PRICE_COSTMODEL_H
#define LWCC_PASSES_PLAN_PRICE_COSTMODEL_H

#include "passes/plan/model/LayerGraph.h"
#include "passes/plan/price/Profile.h"

namespace lwcc::plan {

class CostModel {
public:
  /// For the products' `precision`, "fp32" or "tf32". A profile must live as
  /// long as the model.
  CostModel(const Machine &machine, llvm::StringRef precision,
            const Profile *profile = nullptr);

  struct Answer {
    double seconds;
    enum { measured, interpolated, analytic } from;
    double deviation = 0; ///< of seconds: a standard one
  };
  Answer answer(const Work &work) const;
  double seconds(const Work &work) const { return answer(work).seconds; }
  /// Seconds that are lost whenever a lane has to wait for another, and with
  /// each step; none where they were not measured.
  double waking() const { return measured(Profile::waking); }
  double starting() const { return measured(Profile::starting); }
  /// Whether there is a profile, but not of devices like these.
  bool isUnmeasured() const { return profile && !profile->knows(share); }
  /// How much of the machine's rate a product of this shape reaches.
  static double reached(double m, double n, double k);
  /// What it was made from, for people and for plans.
  std::string source() const;

private:
  double measured(llvm::StringRef key) const;

  const Profile *profile;
  int64_t share; ///< of a profile
  double flops, bandwidth, launch;
  std::string name;
};

} // namespace lwcc::plan

#endif // LWCC_PASSES_PLAN_PRICE_COSTMODEL_H
