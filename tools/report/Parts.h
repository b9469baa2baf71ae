//===- Parts.h - The parts of a page about a plan ---------------*- C++ -*-===//
//
// The sections of the page, each a function that writes it, and what they
// share: units, colours and the picture of a tiling.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_TOOLS_REPORT_PARTS_H
#define LWCC_TOOLS_REPORT_PARTS_H

#include "tools/report/Html.h"
#include "tools/report/Page.h"

namespace lwcc::report {

//===----------------------------------------------------------------------===//
// What sections share (Devices.cpp)
//===----------------------------------------------------------------------===//

/// "1.234 ms", "12.3 µs": in the unit that suits `like`, by default the number
/// itself. Numbers that are compared have one unit.
std::string secondsText(double seconds, double like = 0);
std::string bytesText(int64_t bytes); ///< "3.2 MiB", "-" for none
std::string rateText(double aSecond); ///< "54,321", "-" for none
std::string percentText(double part); ///< "12 %" of 0.12
std::string timesText(double factor); ///< "1.25×"

/// The colour of a device: one of eight that are easy to tell apart, and
/// further hues where there are more devices.
std::string colourOf(int64_t device, int64_t devices);

/// A picture of a layer's work in a square: cut along samples and height from
/// top to bottom, along channels, width and reduction from left to right; each
/// tile in the colour of its device. Of very many tiles some are drawn.
void drawTiling(Html &html, const PlanReport &report, const Tiling &tiling,
                double x, double y, double size);
/// The same as an SVG element of its own.
void writeTiling(Html &html, const PlanReport &report, const Tiling &tiling);

/// The colours of devices with their names.
void writeDeviceLegend(Html &html, const PlanReport &report);

/// The end of a name that is too long: that is where names of layers differ.
std::string shortened(llvm::StringRef name, size_t mostLetters = 120);

/// "layer-12", the id of the row of a layer in the table of layers.
std::string rowOf(size_t layer);

/// A cell of a table: a number is set to the right.
void cell(Html &html, llvm::StringRef text);
void numberCell(Html &html, llvm::StringRef text);
/// The heads of a table's columns; of numbers if they begin with '#', which is
/// not shown.
void heads(Html &html, llvm::ArrayRef<llvm::StringRef> names);
/// A part that can be scrolled, by keyboard too.
void scrollable(Html &html, llvm::StringRef kind, llvm::StringRef label,
                Html::Content content);

//===----------------------------------------------------------------------===//
// Sections
//===----------------------------------------------------------------------===//

void writeNetwork(Html &html, const PlanReport &report);  // Network.cpp
void writeTimeline(Html &html, const PlanReport &report); // TimelinePicture.cpp
void writeStrategies(Html &html, const PlanReport &report); // Tables.cpp
void writeSavings(Html &html, const PlanReport &report);    // Tables.cpp
void writeMemory(Html &html, const PlanReport &report);     // Traffic.cpp
void writeLinks(Html &html, const PlanReport &report);      // Traffic.cpp
void writeLayers(Html &html, const PlanReport &report);     // Tables.cpp

} // namespace lwcc::report

#endif // LWCC_TOOLS_REPORT_PARTS_H
