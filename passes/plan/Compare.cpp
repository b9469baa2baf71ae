//===- Compare.cpp - What each strategy would cost ------------------------===//

#include "passes/plan/Compare.h"
#include "passes/plan/Price.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

using namespace lwcc::plan;

std::string lwcc::plan::compareStrategies(const Problem &problem,
                                          const Plan &plan,
                                          llvm::StringRef name) {
  const auto &[graph, machine, costs] = problem;
  struct Row {
    llvm::StringRef name;
    Seconds seconds;
  };
  std::vector<Row> rows;
  auto add = [&](llvm::StringRef name, const Plan &plan) {
    Row row{name, {}};
    for (const Seconds &layer : priceOf(graph, plan, machine, costs))
      row.seconds += layer;
    rows.push_back(row);
  };
  add(name, plan);
  for (const Solver &solver : solvers())
    if (!solver.searches && solver.name != name)
      add(solver.name, solver.solve(problem));
  llvm::stable_sort(rows, [](const Row &a, const Row &b) {
    return a.seconds.total() < b.seconds.total();
  });

  std::string text;
  llvm::raw_string_ostream os(text);
  os << "strategies by predicted milliseconds of a step without overlap ("
     << costs.source() << ", " << machine.devices() << " devices):\n"
     << "  strategy     compute  transfer  update     total  images/s  "
        "exchanged MiB\n";
  for (const Row &row : rows) {
    const Seconds &s = row.seconds;
    os << "  " << llvm::left_justify(row.name, 10)
       << llvm::format("%10.3f%10.3f%8.3f%10.3f%10.0f%15.1f\n", s.compute * 1e3,
                       s.transfer * 1e3, s.sync * 1e3, s.total() * 1e3,
                       static_cast<double>(graph.batch) / s.total(),
                       s.bytes / (1 << 20));
  }
  return text;
}
