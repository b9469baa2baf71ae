//===- Page.cpp - A page about a plan -------------------------------------===//
//
// Puts the sections of Parts.h in order, and says what a browser may do with
// the page: load nothing, and run no script but the page's own, whatever names
// a model has.
//
//===----------------------------------------------------------------------===//

#include "tools/report/Page.h"
#include "tools/report/Parts.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/Base64.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/SHA256.h"

#include <cmath>

using namespace lwcc;
using namespace lwcc::report;
using plan::PricedStrategy;

namespace {
struct Section {
  llvm::StringRef id, title;
  void (*write)(Html &html, const PlanReport &report);
};
} // namespace

static const Section sections[] = {
    {"the-network", "The network", writeNetwork},
    {"the-step", "A step", writeTimeline},
    {"the-strategies", "Strategies compared", writeStrategies},
    {"the-decisions", "What each decision saves", writeSavings},
    {"the-memory", "Memory of devices", writeMemory},
    {"the-links", "Bytes on links", writeLinks},
    {"the-layers", "Layers", writeLayers},
};

static std::string policy() {
  const auto *bytes = reinterpret_cast<const uint8_t *>(pageScript.data());
  return "default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-" +
         llvm::encodeBase64(
             llvm::SHA256::hash(llvm::ArrayRef(bytes, pageScript.size()))) +
         "'";
}

static void writeFigure(Html &html, llvm::StringRef name, llvm::StringRef value,
                        llvm::StringRef more) {
  html.element("div", {}, [&] {
    html.element("dt", {}, name);
    html.element("dd", {}, [&] {
      html.element("strong", {}, value);
      html.element("span", {}, more);
    });
  });
}

/// How the step compares with that of a strategy, if that was priced.
static std::string against(const PlanReport &report, llvm::StringRef strategy,
                           llvm::StringRef words) {
  if (!report.comparison)
    return "";
  const auto &rows = report.comparison->strategies;
  auto row = llvm::find_if(rows, [&](const PricedStrategy &each) {
    return each.name == strategy && !each.isChosen && std::isfinite(each.step);
  });
  if (row == rows.end())
    return "";
  return timesText(row->step / report.time.step) + " the speed of " +
         words.str();
}

static void writeFigures(Html &html, const PlanReport &report) {
  const double step = report.time.step;
  double moved = 0;
  int64_t fullest = 0;
  for (const plan::Flow &flow : report.flows)
    moved += flow.bytes;
  for (const DeviceMemory &device : report.devices)
    fullest = std::max(fullest, device.arena);
  html.element("dl", {{"class", "figures"}}, [&] {
    writeFigure(html, "predicted step", secondsText(step),
                against(report, "single", "one device"));
    writeFigure(html, "images per second",
                rateText(static_cast<double>(report.graph.batch) / step),
                against(report, "data", "data parallelism"));
    if (report.comparison && report.comparison->bound)
      writeFigure(
          html, "no plan below", secondsText(report.comparison->bound->step),
          "this plan takes " +
              timesText(step / report.comparison->bound->step) + " that");
    writeFigure(html, "exchanged in a step", bytesText(std::llround(moved)),
                llvm::formatv("by {0} device{1}", report.devices.size(),
                              report.devices.size() == 1 ? "" : "s")
                    .str());
    writeFigure(html, "fullest device", bytesText(fullest),
                "of " + bytesText(report.machine.device.memory));
  });
}

static void writeHeader(Html &html, const PlanReport &report) {
  const std::string &planner = report.time.program.plan,
                    &strategy = report.plan.strategy;
  html.element("header", {}, [&] {
    html.element("h1", {}, [&] {
      html.element("span", {{"class", "name"}}, report.graph.model);
      html.text(llvm::formatv(" on {0} device{1}", report.devices.size(),
                              report.devices.size() == 1 ? "" : "s")
                    .str());
    });
    html.element(
        "p", {{"class", "facts"}},
        llvm::formatv("Plan: {0}{1}. Batch {2}, {3} layers. Machine: {4}. "
                      "All times are predicted ({5}). Made by {6}.",
                      planner,
                      llvm::StringRef(planner).starts_with(strategy)
                          ? ""
                          : " (" + strategy + ")",
                      report.graph.batch, report.graph.layers.size(),
                      report.machine.name.empty() ? "unnamed"
                                                  : report.machine.name,
                      report.time.source, report.compiler)
            .str());
    writeFigures(html, report);
    html.element("nav", {{"aria-label", "Sections"}}, [&] {
      for (const Section &section : sections)
        html.element("a", {{"href", "#" + section.id.str()}}, section.title);
    });
  });
}

std::string report::pageOf(const PlanReport &report) {
  std::string text;
  llvm::raw_string_ostream os(text);
  Html html(os);
  os << "<!DOCTYPE html>\n";
  html.element("html", {{"lang", "en"}}, [&] {
    html.element("head", {}, [&] {
      html.element("meta", {{"charset", "utf-8"}});
      html.element("meta", {{"http-equiv", "Content-Security-Policy"},
                            {"content", policy()}});
      html.element("meta",
                   {{"name", "viewport"}, {"content", "width=device-width"}});
      html.element("title", {}, report.graph.model + " - plan");
      html.raw("style", pageStyle);
    });
    html.element("body", {}, [&] {
      writeHeader(html, report);
      html.element("main", {}, [&] {
        for (const Section &section : sections)
          html.element("section", {{"id", section.id.str()}}, [&] {
            html.element("h2", {}, section.title);
            section.write(html, report);
          });
      });
      html.raw("script", pageScript);
    });
  });
  return text;
}
