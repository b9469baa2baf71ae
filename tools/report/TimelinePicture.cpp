//===- TimelinePicture.cpp - A predicted step as a picture ----------------===//
//
// Draws a row for each lane of each device, with the bars of Bars.h, and says
// in a table how busy each lane is.
//
// When calls run is decided by passes/plan/price/ProgramTime.h.
//
//===----------------------------------------------------------------------===//

#include "tools/report/Bars.h"
#include "tools/report/Parts.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/FormatVariadic.h"

#include <cmath>

using namespace lwcc;
using namespace lwcc::report;
using plan::Program;
using plan::ProgramTime;

namespace {
constexpr double width = 1100, axisHeight = 22, computeHeight = 20,
                 copyHeight = 11, deviceGap = 8;
/// The shortest bar can be seen in a picture that is so many times as wide.
constexpr double enlarged = 16;

/// The rows of the picture.
struct Row {
  double y, height;
  std::vector<Bar> bars;
  double busy = 0; ///< seconds
};
} // namespace

static std::string describe(const Bar &bar) {
  std::string what =
      bar.turns > 1 ? llvm::formatv("{0} and {1} further turns",
                                    shortened(bar.layer), bar.turns - 1)
                          .str()
      : bar.batch >= 0
          ? llvm::formatv("micro-batch {0}, {1}", bar.batch, bar.phase).str()
          : llvm::formatv("{0}, {1}", shortened(bar.layer), bar.phase).str();
  return llvm::formatv("{0}: {1} from {2}, {3} call{4}", what,
                       secondsText(bar.seconds()), secondsText(bar.begin),
                       bar.calls, bar.calls == 1 ? "" : "s");
}

/// One, two or five times a power of ten, of which some ten make the step.
static double tickOf(double step) {
  const double rough = step / 8,
               power = std::pow(10, std::floor(std::log10(rough)));
  for (double factor : {1, 2, 5})
    if (factor * power >= rough)
      return factor * power;
  return 10 * power;
}

static void writeAxis(Html &html, double step, double height) {
  const double tick = tickOf(step), unit = step >= 1e-3 ? 1e3 : 1e6;
  for (int i = 0; i * tick <= step; ++i) {
    const std::string x = number(i * tick / step * width);
    html.element("line", {{"class", "grid"},
                          {"x1", x},
                          {"x2", x},
                          {"y1", number(axisHeight - 6)},
                          {"y2", number(height)}});
    if (i * tick < 0.97 * step)
      html.element("text",
                   {{"x", x}, {"y", number(axisHeight - 9)}, {"dx", "2"}},
                   number(i * tick * unit) + (unit == 1e3 ? " ms" : " µs"));
  }
}

static void writeBar(Html &html, const Bar &bar, const Row &row, double step,
                     const llvm::StringMap<size_t> &numbers) {
  const double x = bar.begin / step * width,
               wide = bar.seconds() / step * width;
  auto known = numbers.find(bar.layer);
  const bool isOne = bar.turns == 1 && bar.batch < 0 && known != numbers.end();
  html.element(
      "g",
      {{"class",
        ("bar " + bar.phase + (bar.batch % 2 == 1 ? " odd" : "")).str()},
       {"data-layer", isOne ? std::to_string(known->second) : ""}},
      [&] {
        html.element("title", {}, describe(bar));
        html.element("rect", {{"x", llvm::formatv("{0:f3}", x)},
                              {"y", number(row.y)},
                              {"width", llvm::formatv("{0:f3}", wide)},
                              {"height", number(row.height)}});
        if (bar.batch >= 0 && bar.turns == 1 && wide > 14 &&
            row.height >= computeHeight)
          html.element("text",
                       {{"x", number(x + wide / 2)},
                        {"y", number(row.y + row.height - 6)},
                        {"text-anchor", "middle"}},
                       std::to_string(bar.batch));
      });
}

/// What each lane does, as a table.
static void writeLanes(Html &html, const PlanReport &report,
                       const std::vector<Row> &rows) {
  const ProgramTime &time = report.time;
  html.element("details", {}, [&] {
    html.element("summary", {}, "How busy each lane is");
    html.element("table", {}, [&] {
      heads(html, {"lane", "device", "for", "#busy", "#of the step"});
      html.element("tbody", {}, [&] {
        for (auto [lane, row] : llvm::zip_equal(time.program.lanes, rows))
          html.element("tr", {}, [&] {
            cell(html, lane.name);
            cell(html, lane.device);
            cell(html,
                 lane.copies ? "exchange with other devices" : "computing");
            numberCell(html, secondsText(row.busy));
            numberCell(html, percentText(row.busy / time.step));
          });
      });
    });
  });
}

static void writeLegend(Html &html) {
  html.element("ul", {{"class", "legend"}}, [&] {
    for (auto [phase, words] :
         {std::pair("forward", "forward"), std::pair("backward", "backward"),
          std::pair("weight", "gradients of parameters"),
          std::pair("update", "update of parameters")})
      html.element("li", {}, [&] {
        html.element(
            "svg",
            {{"width", "12"},
             {"height", "12"},
             {"aria-hidden", "true"},
             {"class", std::string("bar ") + phase}},
            [&] { html.element("rect", {{"width", "12"}, {"height", "12"}}); });
        html.text(std::string(" ") + words);
      });
  });
}

void report::writeTimeline(Html &html, const PlanReport &report) {
  const ProgramTime &time = report.time;
  const std::vector<Program::Lane> &lanes = time.program.lanes;
  if (time.step <= 0) {
    html.element("p", {}, "The step takes no time.");
    return;
  }
  const bool inMicroBatches = !report.plan.order.empty();
  auto all = barsOf(time, inMicroBatches, time.step / (width * enlarged));
  llvm::StringMap<int64_t> deviceOf;
  for (const DeviceMemory &device : report.devices)
    deviceOf[device.name] = device.number;
  llvm::StringMap<size_t> numbers;
  for (auto [i, layer] : llvm::enumerate(report.graph.layers))
    numbers[layer.name] = i;
  std::vector<Row> rows;
  double y = axisHeight;
  for (size_t i = 0; i < lanes.size(); ++i) {
    if (i > 0 && lanes[i].device != lanes[i - 1].device)
      y += deviceGap;
    const double height = lanes[i].copies ? copyHeight : computeHeight;
    rows.push_back({y, height, std::move(all[i])});
    y += height + 2;
  }
  for (const ProgramTime::TimedCall &timed : time.calls)
    rows[timed.lane].busy += timed.seconds;
  html.element(
      "p", {},
      llvm::formatv("A row is a lane, an in-order queue of a device; thin ones "
                    "exchange with other devices. The step ends "
                    "at {0}.{1}",
                    secondsText(time.step),
                    inMicroBatches ? " A bar is a turn of a micro-batch, whose "
                                     "number stands in it."
                                   : "")
          .str());
  writeLegend(html);
  html.element("div", {{"class", "timeline"}}, [&] {
    html.element(
        "svg",
        {{"class", "lanes"},
         {"width", "120"},
         {"height", number(y)},
         {"aria-hidden", "true"}},
        [&] {
          for (auto [lane, row] : llvm::zip_equal(lanes, rows)) {
            html.element("rect",
                         {{"x", "112"},
                          {"y", number(row.y)},
                          {"width", "5"},
                          {"height", number(row.height)},
                          {"fill", colourOf(deviceOf.lookup(lane.device),
                                            report.machine.devices())}});
            html.element("text",
                         {{"x", "106"},
                          {"y", number(row.y + row.height / 2 + 4)},
                          {"text-anchor", "end"},
                          {"class", lane.copies ? "copies" : "computes"}},
                         lane.name);
          }
        });
    scrollable(html, "bars", "The timeline of a step", [&] {
      html.element(
          "svg",
          {{"id", "timeline"},
           {"role", "img"},
           {"aria-label",
            llvm::formatv("What {0} lanes do in a step of {1}; the table below "
                          "says how busy each is",
                          lanes.size(), secondsText(time.step))},
           {"viewBox", "0 0 " + number(width) + " " + number(y)},
           {"preserveAspectRatio", "none"},
           {"width", number(width)},
           {"height", number(y)}},
          [&] {
            writeAxis(html, time.step, y);
            for (const Row &row : rows)
              for (const Bar &bar : row.bars)
                writeBar(html, bar, row, time.step, numbers);
          });
    });
  });
  writeLanes(html, report, rows);
}
