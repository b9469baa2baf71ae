//===- Profile.h - Measured times of runtime calls --------------*- C++ -*-===//
//
// Measured times, as `lwcc profile` writes them. For each call that was timed
// there is its key (../model/Call.h), how much work it is, the median of its
// times and how far these spread. A key that was not measured is answered by
// the nearest entry of the same kernel, in proportion to the work: of one that
// reads another device's memory as well or does not either, if there is one.
// What lanes lose between calls stands beside the calls, under keys of its own.
//
// Devices that are parts of one processor slow each other down. Their times
// belong to a *share*, the number of devices that the processor was divided
// into. The share is 1 where each device has its own processor.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_PASSES_PLAN_PRICE_PROFILE_H
#define LWCC_PASSES_PLAN_PRICE_PROFILE_H

#include "llvm/ADT/StringMap.h"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace lwcc::plan {

class Profile {
public:
  /// The key of the time between an event that a lane waits for and the lane's
  /// next call.
  static constexpr llvm::StringLiteral waking = "wait";
  /// The key of the time between the last call of a step and the first call of
  /// the next.
  static constexpr llvm::StringLiteral starting = "step";

  std::string target;    ///< "cuda" or "cpu"
  std::string device;    ///< what it was measured on, for people
  std::string precision; ///< of products
  struct Entry {
    double seconds = 0;
    double deviation = 0; ///< of seconds: a standard one
    double work = 0;      ///< Work::amount: operations of a product, else bytes
    int64_t samples = 0;
    /// The part of the device's processors that the call uses when it runs
    /// alone: what it leaves to other lanes. 0: not measured.
    double processors = 0;
  };

  void add(int64_t share, llvm::StringRef key, const Entry &entry);
  struct Answer {
    double seconds, deviation;
    bool measured;     ///< else interpolated
    double processors; ///< as in Entry
  };
  /// Nothing if no call of this kernel was measured.
  std::optional<Answer> find(int64_t share, llvm::StringRef key,
                             double work) const;
  bool knows(int64_t share) const { return shares.count(share); }
  bool isEmpty() const { return shares.empty(); }
  /// Of the shares that are known, the nearest by ratio. There is one.
  int64_t nearest(double share) const;
  /// Whether any entry says which part of the device its call uses.
  bool knowsProcessors() const;
  size_t size() const;

  std::string toJson() const;

private:
  struct Share {
    llvm::StringMap<Entry> entries; ///< by key
    /// For each kind of call its entries by work.
    llvm::StringMap<std::map<double, Entry>> kinds;
  };
  std::map<int64_t, Share> shares;
};

/// Adds a file's entries to `profile`. Returns a sentence for each mistake.
std::vector<std::string> profileFromJson(llvm::StringRef text,
                                         Profile &profile);
/// The same for a file that must be of this precision and, unless `target` is
/// empty, of this target.
std::vector<std::string> readProfile(llvm::StringRef path,
                                     llvm::StringRef precision,
                                     llvm::StringRef target, Profile &profile);

} // namespace lwcc::plan

#endif // LWCC_PASSES_PLAN_PRICE_PROFILE_H
