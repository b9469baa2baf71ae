//===- Tables.cpp - Strategies, decisions and layers as tables ------------===//
//
// Writes the strategies that were compared and what is left to win, what each
// decision of the plan saves, and the layers. The facts come from
// passes/plan/solve/Compare.h.
//
//===----------------------------------------------------------------------===//

#include "tools/report/Parts.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"

#include <algorithm>
#include <cmath>

using namespace lwcc;
using namespace lwcc::report;
using plan::Alternative;
using plan::Comparison;
using plan::Decision;
using plan::PricedStrategy;

static double secondsOf(plan::Ticks time) {
  return static_cast<double>(time) / plan::ticksPerSecond;
}

//===----------------------------------------------------------------------===//
// Strategies
//===----------------------------------------------------------------------===//

/// Bars from the left, one behind the other; each a class and a part of all.
static void
writeParts(Html &html, double width,
           llvm::ArrayRef<std::pair<llvm::StringRef, double>> parts) {
  html.element("svg",
               {{"class", "parts"},
                {"width", number(width)},
                {"height", "14"},
                {"aria-hidden", "true"}},
               [&] {
                 double x = 0;
                 for (auto [kind, part] : parts) {
                   html.element("rect", {{"class", kind.str()},
                                         {"x", number(x * width)},
                                         {"width", number(part * width)},
                                         {"height", "14"}});
                   x += part;
                 }
               });
}

/// What no plan can fall below, and where the rest of the step goes.
static void writeBound(Html &html, const PlanReport &report) {
  const Comparison &comparison = *report.comparison;
  html.element("h3", {}, "What is left to win");
  if (!comparison.bound) {
    html.element("p", {},
                 "Calls were measured, and may be quicker than the data sheet "
                 "has it: there is no lower bound to compare with.");
    return;
  }
  const double bound = comparison.bound->step, step = report.time.step;
  auto text = [&](double seconds) { return secondsText(seconds, step); };
  double busy = 0, lanes = 0;
  for (const plan::Program::Lane &lane : report.time.program.lanes)
    lanes += !lane.copies;
  for (const plan::ProgramTime::TimedCall &timed : report.time.calls)
    if (!report.time.program.lanes[timed.lane].copies)
      busy += timed.seconds;
  const double computing =
      std::clamp(lanes > 0 ? busy / lanes / step : 0, 0.0, 1.0);
  const double least = std::min(bound / step, computing);
  html.element(
      "p", {},
      llvm::formatv(
          "No plan takes less than {0}: every call at the rates of the data "
          "sheet, shared by {1} devices, with nothing exchanged (arithmetic "
          "alone {2}, memory alone {3}). This plan takes {4} that, so that at "
          "most {5} or {6} of its step are left to win.",
          text(bound), comparison.devices, text(comparison.bound->arithmetic),
          text(comparison.bound->memory), timesText(step / bound),
          text(std::max(0.0, step - bound)),
          percentText(std::max(0.0, 1 - bound / step)))
          .str());
  writeParts(html, 640,
             {{"least", least},
              {"computing", computing - least},
              {"waiting", 1 - computing}});
  html.element("p", {{"class", "key"}},
               llvm::formatv("Of the step, on the average of the lanes that "
                             "compute: {0} is the bound, {1} calls that take "
                             "longer than it, {2} waiting.",
                             percentText(least), percentText(computing - least),
                             percentText(1 - computing))
                   .str());
}

void report::writeStrategies(Html &html, const PlanReport &report) {
  if (!report.comparison) {
    html.element("p", {},
                 "One device: no layer is cut, and there is nothing to compare "
                 "with; --gpus=N plans for more.");
    return;
  }
  const Comparison &comparison = *report.comparison;
  html.element("p", {},
               llvm::formatv("By predicted step, the quickest first; the "
                             "marked row is this plan. Prices: {0}.",
                             comparison.costs)
                   .str());
  auto text = [&](double seconds) {
    return secondsText(seconds, report.time.step);
  };
  double slowest = 0;
  for (const PricedStrategy &row : comparison.strategies)
    if (std::isfinite(row.step))
      slowest = std::max(slowest, row.step);
  scrollable(html, "table", "Strategies compared", [&] {
    html.element("table", {{"id", "strategies"}}, [&] {
      heads(html,
            {"strategy", "#step", "", "#images/s", "#simulated",
             "#sum of costs", "#exchanged", "#memory of a device", "#search"});
      html.element("tbody", {}, [&] {
        for (const PricedStrategy &row : comparison.strategies)
          html.element("tr", {{"class", row.isChosen ? "chosen" : ""}}, [&] {
            html.element("th", {{"scope", "row"}},
                         row.isChosen && row.name != "this plan"
                             ? row.name + " (this plan)"
                             : row.name);
            const bool compiles = std::isfinite(row.step);
            numberCell(html, compiles ? text(row.step) : "cannot be compiled");
            html.element("td", {}, [&] {
              if (compiles)
                writeParts(html, 120, {{"step", row.step / slowest}});
            });
            numberCell(html, rateText(static_cast<double>(comparison.batch) /
                                      row.step));
            numberCell(html,
                       row.simulated ? text(secondsOf(*row.simulated)) : "-");
            numberCell(html, text(row.sum));
            numberCell(html, bytesText(row.bytes));
            numberCell(html, bytesText(row.memory) +
                                 (row.fits ? "" : ", does not fit"));
            numberCell(html,
                       row.searched > 0.0005 ? secondsText(row.searched) : "-");
          });
      });
    });
  });
  if (!comparison.leftOut.empty())
    html.element("p", {},
                 "Left out, since their programs are too large to be made "
                 "here: " +
                     comparison.leftOut + ".");
  if (!comparison.remark.empty())
    html.element("p", {}, comparison.remark);
  writeBound(html, report);
  if (!comparison.pipeline.empty()) {
    html.element("h3", {}, "The pipeline");
    scrollable(html, "text", "Stages and schedule", [&] {
      html.element("pre", {}, [&] {
        llvm::SmallVector<llvm::StringRef> lines;
        llvm::StringRef(comparison.pipeline).split(lines, '\n');
        for (llvm::StringRef line : lines) {
          html.text(line);
          html.lineBreak();
        }
      });
    });
  }
}

//===----------------------------------------------------------------------===//
// Decisions
//===----------------------------------------------------------------------===//

/// The cut that a group would have instead, and how much longer the step would
/// be.
static void writeAlternative(Html &html, double step,
                             const std::optional<Alternative> &alternative,
                             llvm::StringRef same) {
  if (!alternative) {
    cell(html, same);
    numberCell(html, "-");
    return;
  }
  cell(html, alternative->tiling.cutsText() +
                 (alternative->fits ? "" : ", does not fit"));
  const plan::Ticks longer = alternative->longer;
  numberCell(html,
             (longer > 0 ? "+" : "") + secondsText(secondsOf(longer), step));
}

void report::writeSavings(Html &html, const PlanReport &report) {
  if (!report.comparison) {
    html.element("p", {}, "One device: nothing was decided.");
    return;
  }
  const Comparison &comparison = *report.comparison;
  if (!comparison.simulated) {
    html.element("p", {},
                 "This plan orders micro-batches. No layer of it can be cut "
                 "otherwise by itself, so that there is no such table.");
    return;
  }
  html.element(
      "p", {},
      llvm::formatv(
          "How much longer a step would be if one decision were another one: "
          "a layer, with those that are cut like it, as data parallelism cuts "
          "it, or on one device; all others stay as they are. The simulator "
          "answers, which the searches ask. It takes this plan for {0}; the "
          "program, which knows more, takes {1}. So a step may be shorter "
          "here than with what was chosen. The numbers do not add up.",
          secondsText(secondsOf(*comparison.simulated)),
          secondsText(report.time.step))
          .str());
  std::vector<const Decision *> decisions;
  for (const Decision &decision : comparison.savings.decisions)
    decisions.push_back(&decision);
  auto gain = [](const Decision *decision) {
    return std::max(decision->asData ? decision->asData->longer : 0,
                    decision->asSingle ? decision->asSingle->longer : 0);
  };
  llvm::stable_sort(decisions, [&](const Decision *a, const Decision *b) {
    return gain(a) > gain(b);
  });
  scrollable(html, "table", "What each decision saves", [&] {
    html.element("table", {{"id", "savings"}}, [&] {
      heads(html, {"layers", "cut", "as data parallelism", "#step longer by",
                   "on one device", "#step longer by"});
      html.element("tbody", {}, [&] {
        for (const Decision *decision : decisions)
          html.element("tr", {}, [&] {
            html.element("th", {{"scope", "row"}}, [&] {
              for (int layer : decision->layers) {
                if (layer != decision->layers.front())
                  html.text(", ");
                html.element("a",
                             {{"class", "name"},
                              {"href", "#" + rowOf(layer)},
                              {"data-layer", std::to_string(layer)}},
                             shortened(comparison.layers[layer]));
              }
            });
            cell(html, decision->tiling.cutsText());
            writeAlternative(html, report.time.step, decision->asData,
                             "is cut so");
            writeAlternative(html, report.time.step, decision->asSingle,
                             "runs so");
          });
      });
    });
  });
  if (comparison.savings.leftOut > 0)
    html.element("p", {{"class", "left-out"}},
                 llvm::formatv("Left out for lack of time: {0} groups of "
                               "layers, those that compute the least.",
                               comparison.savings.leftOut)
                     .str());
}

//===----------------------------------------------------------------------===//
// Layers
//===----------------------------------------------------------------------===//

void report::writeLayers(Html &html, const PlanReport &report) {
  html.element("p", {},
               "Layers are named by their ONNX nodes. Cuts are into so many "
               "parts along samples n, channels c, height h, width w, or the "
               "reduction k that sums run over. The last three columns are "
               "what devices read of each other for the layer in a step.");
  scrollable(html, "table", "Layers", [&] {
    html.element("table", {{"id", "layers"}}, [&] {
      heads(html, {"", "layer", "cut", "devices", "#parameters", "#activations",
                   "#read forward", "#backward", "#updates"});
      html.element("tbody", {}, [&] {
        for (size_t i = 0; i < report.graph.layers.size(); ++i) {
          const Tiling &tiling = report.tiling(i);
          const LayerBytes &bytes = report.layers[i];
          html.element(
              "tr", {{"id", rowOf(i)}, {"data-layer", std::to_string(i)}}, [&] {
                html.element("td", {},
                             [&] { writeTiling(html, report, tiling); });
                html.element("th", {{"scope", "row"}, {"class", "name"}},
                             report.graph.layers[i].name);
                cell(html, tiling.cutsText());
                cell(html, tiling.placesText());
                for (int64_t count :
                     {bytes.parameters, bytes.activations, bytes.forward,
                      bytes.backward, bytes.update})
                  numberCell(html, bytesText(count));
              });
        }
      });
    });
  });
}
