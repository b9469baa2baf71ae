//===- Page.h - A page about a plan -----------------------------*- C++ -*-===//
//
// Defines what a page about a plan is made of, and makes it: one HTML file
// that loads nothing, says everything without its script, and shows names as
// they are, whatever is in them.
//
// Computes no prices: those come from passes/plan, bytes from tools/driver.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_TOOLS_REPORT_PAGE_H
#define LWCC_TOOLS_REPORT_PAGE_H

#include "passes/plan/price/Assembly.h"
#include "passes/plan/price/ProgramTime.h"
#include "passes/plan/solve/Compare.h"

#include <string>
#include <vector>

namespace lwcc::report {

/// A device of the program.
struct DeviceMemory {
  std::string name;       ///< as in the program
  int64_t number = 0;     ///< as the machine counts its devices
  int64_t arena = 0;      ///< bytes, of them
  int64_t persistent = 0; ///< bytes that outlive a step
};

/// Bytes of a layer, on all devices together.
struct LayerBytes {
  int64_t parameters = 0, activations = 0;
  int64_t forward = 0, backward = 0, update = 0; ///< read on other devices
  int64_t moved() const { return forward + backward + update; }
};

struct PlanReport {
  const plan::LayerGraph &graph;
  const plan::Plan &plan; ///< its layers are the graph's, in the same order
  const plan::Machine &machine;
  const plan::ProgramTime &time;
  const std::optional<plan::Comparison> &comparison;
  std::string compiler;           ///< "lwcc 0.1.0"
  std::vector<LayerBytes> layers; ///< in the graph's order
  std::vector<DeviceMemory> devices;
  /// What devices read of each other in a step, of each pair at most one.
  std::vector<plan::Flow> flows;

  const Tiling &tiling(size_t layer) const { return plan.layers[layer].tiling; }
};

/// The page as text.
std::string pageOf(const PlanReport &report);

/// The files page.css and page.js.
extern const llvm::StringLiteral pageStyle, pageScript;

} // namespace lwcc::report

#endif // LWCC_TOOLS_REPORT_PAGE_H
