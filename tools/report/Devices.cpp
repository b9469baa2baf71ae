//===- Devices.cpp - Units, colours and tilings on a page -----------------===//

#include "tools/report/Parts.h"

#include "llvm/Support/FormatVariadic.h"

#include <cmath>

using namespace lwcc;
using namespace lwcc::report;

std::string report::secondsText(double seconds, double like) {
  const double size = std::abs(like == 0 ? seconds : like);
  if (size >= 1)
    return llvm::formatv("{0:f3} s", seconds);
  if (size >= 1e-3)
    return llvm::formatv("{0:f3} ms", seconds * 1e3);
  return llvm::formatv("{0:f1} µs", seconds * 1e6);
}

std::string report::bytesText(int64_t bytes) {
  if (bytes == 0)
    return "-";
  const auto size = static_cast<double>(bytes);
  if (bytes >= int64_t(1) << 30)
    return llvm::formatv("{0:f2} GiB", size / (1 << 30));
  if (bytes >= 1 << 20)
    return llvm::formatv("{0:f1} MiB", size / (1 << 20));
  if (bytes >= 1 << 10)
    return llvm::formatv("{0:f1} KiB", size / (1 << 10));
  return llvm::formatv("{0} B", bytes);
}

std::string report::rateText(double aSecond) {
  return std::isfinite(aSecond) && aSecond > 0
             ? llvm::formatv("{0:N}", std::llround(aSecond)).str()
             : "-";
}

std::string report::percentText(double part) {
  return llvm::formatv("{0:f0} %", part * 100);
}

std::string report::timesText(double factor) {
  return llvm::formatv("{0:f2}×", factor);
}

std::string report::colourOf(int64_t device, int64_t devices) {
  // Okabe and Ito's, which people see apart who do not see all colours.
  constexpr llvm::StringLiteral few[] = {"#0072b2", "#e69f00", "#009e73",
                                         "#cc79a7", "#56b4e9", "#d55e00",
                                         "#8c6bb1", "#b8a800"};
  if (devices <= static_cast<int64_t>(std::size(few)))
    return few[device].str();
  // Neighbours are a golden angle apart.
  const double hue = std::fmod(static_cast<double>(device) * 137.508, 360);
  return llvm::formatv("hsl({0:f0} 60% {1}%)", hue, 42 + device % 3 * 9);
}

void report::drawTiling(Html &html, const PlanReport &report,
                        const Tiling &tiling, double x, double y, double size) {
  const auto &[n, c, h, w, k] = tiling.degrees;
  const int64_t rows = n * h, columns = c * w * k;
  constexpr int64_t most = 16;
  const int64_t drawnRows = std::min(rows, most),
                drawnColumns = std::min(columns, most);
  auto deviceAt = [&](int64_t row, int64_t column) {
    // Tiles are counted over n c h w k.
    const int64_t ni = row / h, hi = row % h;
    const int64_t ci = column / (w * k), wk = column % (w * k);
    const int64_t tile = ((ni * c + ci) * h + hi) * w * k + wk;
    return report.machine.deviceOf(tiling.places[tile]);
  };
  const double height = size / static_cast<double>(drawnRows),
               width = size / static_cast<double>(drawnColumns);
  for (int64_t row = 0; row < drawnRows; ++row)
    for (int64_t column = 0; column < drawnColumns; ++column)
      html.element("rect",
                   {{"x", number(x + static_cast<double>(column) * width)},
                    {"y", number(y + static_cast<double>(row) * height)},
                    {"width", number(width)},
                    {"height", number(height)},
                    {"class", std::min(width, height) < 3 ? "thin" : "tile"},
                    {"fill", colourOf(deviceAt(row * rows / drawnRows,
                                               column * columns / drawnColumns),
                                      report.machine.devices())}});
}

void report::writeTiling(Html &html, const PlanReport &report,
                         const Tiling &tiling) {
  html.element("svg",
               {{"class", "tiling"},
                {"viewBox", "0 0 20 20"},
                {"width", "20"},
                {"height", "20"},
                {"aria-hidden", "true"}},
               [&] { drawTiling(html, report, tiling, 0, 0, 20); });
}

void report::writeDeviceLegend(Html &html, const PlanReport &report) {
  html.element("ul", {{"class", "legend"}}, [&] {
    for (const DeviceMemory &device : report.devices)
      html.element("li", {}, [&] {
        html.element(
            "svg", {{"width", "12"}, {"height", "12"}, {"aria-hidden", "true"}},
            [&] {
              html.element("rect",
                           {{"width", "12"},
                            {"height", "12"},
                            {"fill", colourOf(device.number,
                                              report.machine.devices())}});
            });
        html.text(" " + device.name);
      });
  });
}

std::string report::shortened(llvm::StringRef name, size_t mostLetters) {
  size_t letters = 0, from = name.size();
  while (from > 0 && letters < mostLetters) {
    --from;
    while (from > 0 && (name[from] & 0xc0) == 0x80) // within a letter of UTF-8
      --from;
    ++letters;
  }
  return from == 0 ? name.str() : ("…" + name.substr(from)).str();
}

std::string report::rowOf(size_t layer) {
  return "layer-" + std::to_string(layer);
}

void report::cell(Html &html, llvm::StringRef text) {
  html.element("td", {}, text);
}

void report::numberCell(Html &html, llvm::StringRef text) {
  html.element("td", {{"class", "number"}}, text);
}

void report::heads(Html &html, llvm::ArrayRef<llvm::StringRef> names) {
  html.element("thead", {}, [&] {
    html.element("tr", {}, [&] {
      for (llvm::StringRef name : names)
        if (name.consume_front("#"))
          html.element("th", {{"scope", "col"}, {"class", "number"}}, name);
        else
          html.element("th", {{"scope", "col"}}, name);
    });
  });
}

void report::scrollable(Html &html, llvm::StringRef kind, llvm::StringRef label,
                        Html::Content content) {
  html.element("div",
               {{"class", ("scroll " + kind).str()},
                {"role", "region"},
                {"tabindex", "0"},
                {"aria-label", label.str()}},
               content);
}
