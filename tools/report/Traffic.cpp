//===- Traffic.cpp - Memory of devices and bytes on links -----------------===//
//
// Writes how full the memory of each device is, how many bytes cross each link
// in a step, and which device reads how much of which other one.
//
// What crosses which link is decided by passes/plan/machine/Links.h.
//
//===----------------------------------------------------------------------===//

#include "passes/plan/machine/Links.h"
#include "tools/report/Parts.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"

#include <cmath>
#include <map>

using namespace lwcc;
using namespace lwcc::report;
using plan::LinkLevel;
using plan::Traffic;

void report::writeMemory(Html &html, const PlanReport &report) {
  const int64_t capacity = report.machine.device.memory;
  html.element("p", {},
               llvm::formatv("What the program takes of the {0} of a device, "
                             "without the workspaces that libraries ask for "
                             "at start.",
                             bytesText(capacity))
                   .str());
  scrollable(html, "table", "Memory of devices", [&] {
    html.element("table", {{"id", "memory"}}, [&] {
      heads(html, {"device", "#memory", "of its memory",
                   "#parameters, optimizer state and inputs",
                   "#activations and the rest"});
      html.element("tbody", {}, [&] {
        for (const DeviceMemory &device : report.devices)
          html.element("tr", {}, [&] {
            const double part = static_cast<double>(device.arena) /
                                static_cast<double>(capacity);
            html.element("th", {{"scope", "row"}}, device.name);
            numberCell(html, bytesText(device.arena));
            html.element("td", {}, [&] {
              html.element(
                  "svg",
                  {{"class", "parts"},
                   {"width", "160"},
                   {"height", "14"},
                   {"aria-hidden", "true"}},
                  [&] {
                    html.element("rect", {{"class", "room"},
                                          {"width", "160"},
                                          {"height", "14"}});
                    html.element(
                        "rect", {{"width", number(160 * std::min(1.0, part))},
                                 {"height", "14"},
                                 {"fill", colourOf(device.number,
                                                   report.machine.devices())}});
                  });
              html.text(llvm::formatv(" {0:f1} %{1}", part * 100,
                                      part > 1 ? ", does not fit" : "")
                            .str());
            });
            numberCell(html, bytesText(device.persistent));
            numberCell(html, bytesText(device.arena - device.persistent));
          });
      });
    });
  });
}

/// What a link of a level belongs to.
static std::string nameOf(const PlanReport &report, const LinkLevel &level,
                          size_t group) {
  if (level.devices == 1) {
    auto device = llvm::find_if(report.devices, [&](const auto &each) {
      return each.number == static_cast<int64_t>(group);
    });
    return device != report.devices.end() ? device->name
                                          : "device " + std::to_string(group);
  }
  return (level.devices == report.machine.gpus ? "network of node "
                                               : "switch ") +
         std::to_string(group);
}

/// Each pair of devices. Of so many that nobody could read it there is none.
static void writePairs(Html &html, const PlanReport &report) {
  constexpr size_t most = 16;
  if (report.devices.size() > most) {
    html.element("p", {},
                 llvm::formatv("Single pairs of more than {0} devices are not "
                               "shown; --explain lists them.",
                               most)
                     .str());
    return;
  }
  std::map<std::pair<int64_t, int64_t>, double> bytes;
  double largest = 1;
  for (const plan::Flow &flow : report.flows) {
    bytes[{flow.from, flow.to}] = flow.bytes;
    largest = std::max(largest, flow.bytes);
  }
  scrollable(html, "table", "Bytes from device to device", [&] {
    html.element("table", {{"id", "pairs"}}, [&] {
      html.element("caption", {},
                   "From the device of a row to that of a column");
      html.element("thead", {}, [&] {
        html.element("tr", {}, [&] {
          html.element("td", {}, "");
          for (const DeviceMemory &to : report.devices)
            html.element("th", {{"scope", "col"}, {"class", "number"}},
                         to.name);
        });
      });
      html.element("tbody", {}, [&] {
        for (const DeviceMemory &from : report.devices)
          html.element("tr", {}, [&] {
            html.element("th", {{"scope", "row"}}, from.name);
            for (const DeviceMemory &to : report.devices) {
              const double count = bytes[{from.number, to.number}];
              html.element("td",
                           {{"class", "number heat"},
                            {"style", llvm::formatv("--heat:{0:f0}%",
                                                    count / largest * 45)}},
                           from.number == to.number
                               ? ""
                               : bytesText(std::llround(count)));
            }
          });
      });
    });
  });
}

void report::writeLinks(Html &html, const PlanReport &report) {
  if (report.flows.empty()) {
    html.element("p", {}, "No device reads anything of another one.");
    return;
  }
  Traffic traffic(report.machine);
  for (const plan::Flow &flow : report.flows)
    traffic.add(flow.from, flow.to, flow.bytes);
  html.element("p", {},
               llvm::formatv("In a step devices read {0} of each other. A "
                             "link\u2019s time is what its busier direction "
                             "takes at its full rate.",
                             bytesText(std::llround(traffic.bytes())))
                   .str());
  scrollable(html, "table", "Bytes on links", [&] {
    html.element("table", {{"id", "links"}}, [&] {
      heads(html, {"link of", "#sends", "#receives", "#rate", "#time",
                   "#of the step"});
      html.element("tbody", {}, [&] {
        for (const Traffic::Level &level : traffic.all())
          for (size_t group = 0; group < level.in.size(); ++group) {
            const double in = level.in[group], out = level.out[group];
            if (in == 0 && out == 0)
              continue;
            html.element("tr", {}, [&] {
              const double seconds =
                  std::max(in, out) / level.links.link.bandwidth;
              html.element("th", {{"scope", "row"}},
                           nameOf(report, level.links, group));
              numberCell(html, bytesText(std::llround(out)));
              numberCell(html, bytesText(std::llround(in)));
              numberCell(html, llvm::formatv("{0:f1} GB/s",
                                             level.links.link.bandwidth / 1e9)
                                   .str());
              numberCell(html, secondsText(seconds));
              numberCell(html, percentText(seconds / report.time.step));
            });
          }
      });
    });
  });
  writePairs(html, report);
}
